package badgerkv

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/assaydb/assay/kv/driver"
)

// trouble is ours: what Badger only writes to its log although it should end the work. Of a sync of
// its value log that failed it acknowledges the commit; a table that cannot be written out it tries
// again for ever, and commits, snapshots and Close wait. Badger logs before it goes on, so that the
// driver knows in time.
type trouble struct {
	driver.Failure
	to   *slog.Logger
	seen chan struct{} // closed at the first
}

var _ badger.Logger = (*trouble)(nil)

// patience is how long anything may take after that.
const patience = 10 * time.Second

// bad are the beginnings of messages after which nothing more is to be committed.
var bad = []string{
	"Error while curlf sync", "error flushing memtable to disk", "While running doCompact", "writeRequests"}

// stop keeps the first failure.
func (t *trouble) stop(err error) {
	if t.Stop(err) {
		close(t.seen)
	}
}

// Errorf is part of badger.Logger, as are the methods that follow.
func (t *trouble) Errorf(format string, args ...any) {
	for _, text := range bad {
		if strings.HasPrefix(format, text) {
			t.stop(classify(fmt.Errorf("badger: "+strings.TrimSpace(format), args...)))
		}
	}
	t.log(slog.LevelError, format, args)
}

func (t *trouble) Warningf(format string, args ...any) {
	if strings.HasPrefix(format, "While running doCompact") {
		t.Errorf(format, args...)
		return
	}
	t.log(slog.LevelWarn, format, args)
}

// Infof tells each step of opening and closing: it is a detail for a program that uses the store.
func (t *trouble) Infof(format string, args ...any) { t.log(slog.LevelDebug, format, args) }

// Debugf is called for every commit, so nothing is formatted that nobody wants.
func (t *trouble) Debugf(format string, args ...any) { t.log(slog.LevelDebug, format, args) }

func (t *trouble) log(level slog.Level, format string, args []any) {
	if ctx := context.Background(); t.to.Enabled(ctx, level) {
		t.to.Log(ctx, level, "badger: "+strings.TrimSpace(fmt.Sprintf(format, args...)))
	}
}

// bounded returns what call does. It gives up when ctx ends, and when the disk has failed and
// Badger does not come back; late then gets what call returned, if it ever does.
func bounded[T any](ctx context.Context, t *trouble, call func() T, late func(T)) (value T, err error) {
	done := make(chan T, 1)
	go func() { done <- call() }()
	select {
	case value = <-done:
		return value, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-t.seen:
		limit := time.NewTimer(patience)
		defer limit.Stop()
		select {
		case value = <-done:
			return value, nil
		case <-ctx.Done():
			err = ctx.Err()
		case <-limit.C:
			err = &driver.Error{Kind: driver.InDoubt, Err: fmt.Errorf("badger hangs: %w", t.Err()),
				Hint: "end the program: until then the folder may stay locked"}
		}
	}
	go func() { late(<-done) }()
	return value, err
}
