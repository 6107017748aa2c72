package eventlog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/internal/keyspace"
)

// Open returns the log kept in db. It uses the keys that begin with one of "beilmps" and nothing
// else; to keep it beside other data, give it a [kv.DB.Namespace]. Close the log before db.
//
// In a store opened in Exclusive mode positions are counted in memory: a second Log over the same
// keys is Invalid until the first is closed. In Shared mode, and in a store of a server, every
// append reads the last position in its transaction.
func Open(ctx context.Context, db *kv.DB, opts *Options) (*Log, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if err := o.Check(); err != nil {
		return nil, err
	}
	db, err := db.RequireAtomic()
	if err != nil {
		return nil, err
	}
	b := &kvBackend{db: db, streams: o.Streams, strongest: db.Caps().Strongest()}
	// A store that is Remote goes on after a transaction in doubt, of which nobody tells the log.
	b.inMemory = db.Mode() == kv.Exclusive && !db.Caps().Remote
	if db.Caps().Persistent {
		b.block = FirstBlock(o.Reserve)
		b.first = b.block
	}
	for d := range b.weak {
		caps := db.Caps()
		b.weak[d] = b.block > 0 && caps.Promise(kv.Durability(d)).Class > caps.Promise(b.strongest).Class
	}
	if b.inMemory {
		b.plan = plan{b: b, batch: &b.batch, versions: map[string]uint64{}}
		b.marks = map[string]uint64{}
		b.isCurrent, b.marksAreCurrent = b.current, b.currentMarks
	}
	if b.leave, err = keyspace.Enter(db, "log", "beilmps", b.inMemory); err != nil {
		return nil, err
	}
	if err := b.start(ctx); err != nil {
		b.leave()
		return nil, err
	}
	return NewLog(b), nil
}

// kvBackend keeps a log in a key-value store.
type kvBackend struct {
	db        *kv.DB
	streams   bool
	strongest kv.Durability
	inMemory  bool    // the state below is all there is: nobody else appends
	leave     func()  // of keyspace.Enter
	weak      [3]bool // by class: a crash can lose commits that strongest would keep, so positions must be reserved

	// visible is the last position that readers may see: everything up to it is committed as it was
	// asked. A store may show a commit to readers before it is durable, so they are held back to
	// it. Not used unless inMemory.
	visible atomic.Uint64

	first     uint64        // positions that are reserved first, 0 for none
	floor     atomic.Uint64 // positions up to it are given up, whatever is stored; 0 unless inMemory
	forgotten atomic.Uint64 // ids of generations below it are known to be deleted

	epoch atomic.Uint64 // counts the appends in transactions, if inMemory
	mu    sync.Mutex
	told  told // guarded by mu

	// What follows is used by Commit and Close alone.
	block     uint64 // positions to reserve next, 0 for none
	meta      meta   // as stored, or to be stored with the first event
	stored    bool   // meta is stored
	assigned  uint64 // the last position given out or given up
	seen      uint64 // the epoch that all this is of
	plan      plan
	batch     kv.Batch
	isCurrent func() error // current

	// The rest is used by SetBookmarks alone.
	marksEpoch      atomic.Uint64     // but for this: counts the changes that others made to bookmarks
	marksSeen       uint64            // the epoch that marks are of
	marks           map[string]uint64 // bookmarks as stored, of those acknowledged lately; nil unless inMemory
	markBatch       kv.Batch
	markKey         []byte
	marksAreCurrent func() error // currentMarks
}

var _ Backend = (*kvBackend)(nil)

func (b *kvBackend) Traits() Traits { return Traits{Streams: b.streams, Shared: !b.inMemory} }

// start reads where the log ends. Positions that were reserved and not given back may be those of
// events that are lost, so the log goes on above them, and above what a subscription acknowledged,
// which would not see an event below.
func (b *kvBackend) start(ctx context.Context) error {
	var last, acknowledged uint64
	err := b.db.View(ctx, func(s *kv.Snapshot) (err error) {
		if b.meta, err = readMeta(s, b.streams); err == nil {
			last, err = lastEvent(s)
		}
		if err == nil {
			acknowledged, err = highestBookmark(s)
		}
		return err
	})
	if err != nil {
		return err
	}
	if last > 0 && b.meta.Format == 0 {
		return corrupt(errors.New("there are events and no meta"))
	}
	if b.inMemory {
		b.stored = b.meta.Format == format
		b.assigned = max(last, b.meta.Floor, b.meta.Reserved, acknowledged)
		b.floor.Store(b.assigned)
		b.visible.Store(last)
		return nil
	}
	if b.db.Mode() == kv.ReadOnly || max(b.meta.Reserved, acknowledged) <= max(last, b.meta.Floor) {
		return nil
	}
	return b.skipReserved(ctx, acknowledged)
}

// Close gives back the positions that are reserved and not used. The commit for it makes all
// earlier ones as durable.
func (b *kvBackend) Close() error {
	defer b.leave()
	switch {
	case b.db.Mode() == kv.ReadOnly:
		return nil
	case !b.inMemory:
		return b.giveBack(context.Background())
	}
	if b.begin(); b.meta.Reserved <= b.assigned {
		return nil
	}
	return b.storeMeta(context.Background(), b.assigned)
}

// storeMeta commits the meta of a log that has given out all positions up to assigned and reserved
// those up to reserved.
func (b *kvBackend) storeMeta(ctx context.Context, reserved uint64) error {
	m := meta{Format: format, Streams: b.streams, Floor: b.assigned, Reserved: reserved}
	var batch kv.Batch
	batch.Put(metaKey, m.encode())
	if err := b.db.Write(ctx, b.strongest, &batch); err != nil {
		return err
	}
	b.meta, b.stored = m, true
	return nil
}

// lastEvent returns the position of the last event in s, 0 if there is none.
func lastEvent(s *kv.Snapshot) (uint64, error) {
	last := allEvents
	last.Reverse = true
	for key := range s.Scan(last) {
		position, ok := kv.LastUint64(key)
		if !ok || len(key) != 9 {
			return 0, corrupt(fmt.Errorf("key %q is not that of an event", key))
		}
		return position, nil
	}
	return 0, s.Err()
}
