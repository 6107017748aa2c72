package eventlog

import (
	"context"
	"sync"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/internal/groupcommit"
)

// ack is one acknowledgement that waits for its turn.
type ack struct {
	Mark
	call groupcommit.Call[Mark]
}

var acks = sync.Pool{New: func() any {
	a := &ack{}
	a.call.Work = &a.Mark
	return a
}}

// newAcks returns what commits acknowledgements that meet together, as appends are.
func (l *Log) newAcks() *groupcommit.Committer[Mark] {
	return groupcommit.New(groupcommit.Rules[Mark]{
		Name:     "the log",
		Commit:   l.backend.SetBookmarks,
		Fail:     func(m *Mark, err error) { m.Err = err },
		Op:       func(*Mark) string { return "ack" },
		MayWait:  l.mayWait(),
		MaxCalls: groupAppends,
	})
}

// acknowledge raises the position of a subscription.
func (l *Log) acknowledge(ctx context.Context, d kv.Durability, m Mark) error {
	a := acks.Get().(*ack)
	defer acks.Put(a)
	a.Mark = m
	l.acks.Do(ctx, d, &a.call)
	return a.Err
}
