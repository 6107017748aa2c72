package eventlog

import (
	"context"
	"fmt"
	"maps"

	"github.com/assaydb/assay/kv"
)

// kvJoined is a log within a transaction of the program's. It plans from what is stored, as nobody
// else writes until the transaction ends. An append that was planned before, and waits for that,
// then is planned anew: see learn.
type kvJoined struct {
	b     *kvBackend
	tx    *kv.Tx
	plan  plan
	begun bool // plan knows where the log ends
	told  bool // the one who commits groups is told of what is appended
	meta  meta
}

var _ Joined = (*kvJoined)(nil)

// join returns the log within tx: always the same one, for readers must see all that it appended at
// once.
func (b *kvBackend) join(tx *kv.Tx) (*kvJoined, error) {
	joined, err := b.db.Join(tx)
	if err != nil {
		return nil, err
	}
	return joined.Local(b, func() any {
		return &kvJoined{b: b, tx: joined, plan: plan{b: b, tx: joined, versions: map[string]uint64{}}}
	}).(*kvJoined), nil
}

// Append implements Joined.
func (j *kvJoined) Append(parts []*Pending) (refill uint64, err error) {
	p, d := &j.plan, j.tx.Durability()
	if !j.begun {
		if j.meta, p.last, err = readState(j.tx, j.b.streams); err != nil {
			return 0, err
		}
		j.begun, p.assigned = true, max(p.last, j.meta.Floor, j.b.floor.Load())
	}
	before := p.last
	p.repeated = false
	if err := p.append(context.Background(), parts); err != nil || p.last == before {
		if err == nil && p.repeated {
			err = j.tx.Put(metaKey, j.meta.again().encode())
		}
		return 0, err
	}
	weak := j.b.mustReserve(d)
	if weak && p.assigned > j.meta.Reserved {
		return 0, NotReserved(d)
	}
	if j.meta.Format != format {
		j.meta.Format = format
		if err := j.tx.Put(metaKey, j.meta.encode()); err != nil {
			return 0, err
		}
	}
	if j.b.inMemory && !j.told {
		j.told = true
		j.tx.OnCommit(func() { j.b.tell(p.assigned, p.versions) })
	}
	if weak && j.meta.Reserved-p.assigned < j.b.first {
		refill = 4 * j.b.first
	}
	return refill, nil
}

// NotReserved is the error of an append in a transaction of class d that needs more positions than
// are reserved. It is for backends.
func NotReserved(d kv.Durability) error {
	return invalid("append", fmt.Errorf("too few positions are reserved for a transaction of class %v", d),
		"call Log.Reserve before the transaction, or commit it with kv.Synced")
}

// Ack implements Joined.
func (j *kvJoined) Ack(name string, position uint64) error {
	last, err := lastEvent(j.tx.Snapshot)
	if err == nil && position > last {
		err = AboveLast(position, last)
	}
	if err == nil {
		err = raiseBookmark(j.tx, bookmarkKey(name), position)
	}
	if err == nil {
		j.b.marksChanged(j.tx)
	}
	return err
}

// Bookmark implements Joined.
func (j *kvJoined) Bookmark(name string) (uint64, error) {
	return readBookmark(j.tx.Snapshot, bookmarkKey(name))
}

// OnCommit implements Joined.
func (j *kvJoined) OnCommit(fn func()) { j.tx.OnCommit(fn) }

// Fail implements Joined.
func (j *kvJoined) Fail(err error) { j.tx.Fail(err) }

// told is what transactions appended that the one who commits groups does not know yet.
type told struct {
	assigned uint64
	versions map[string]uint64
}

// tell is called when a transaction with appends is committed, before the next writer's turn.
func (b *kvBackend) tell(assigned uint64, versions map[string]uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.told.assigned = assigned
	if b.told.versions == nil {
		b.told.versions = versions
	} else {
		maps.Copy(b.told.versions, versions)
	}
	b.epoch.Add(1)
	raise(&b.visible, assigned)
}

// learn takes over what was told.
func (b *kvBackend) learn() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen = b.epoch.Load()
	b.stored = true
	b.assigned = max(b.assigned, b.told.assigned)
	maps.Copy(b.plan.versions, b.told.versions)
	b.told = told{}
}

// current stops a batch that was planned before a transaction appended. It is called in the batch's
// turn.
func (b *kvBackend) current() error {
	if b.epoch.Load() != b.seen {
		return errJoined
	}
	return nil
}
