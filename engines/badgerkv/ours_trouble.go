package badgerkv

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/assaydb/assay/kv/driver"
)

// trouble stands between Badger and its callers, and knows what Badger only writes to its log
// although it should end the work. Of a sync of its value log that failed it acknowledges the
// commit; a table that cannot be written out it tries again for ever, and commits, snapshots and
// Close wait. Badger logs before it goes on, so that the driver knows in time.
type trouble struct {
	driver.Failure
	*room
	synced bool // commits are
	to     *slog.Logger
	seen   chan struct{} // closed at the first
}

func newTrouble(c driver.Config, o badger.Options) *trouble {
	return &trouble{room: newRoom(c.Path, o), to: c.Logger, seen: make(chan struct{}), synced: o.SyncWrites}
}

// begin starts a transaction, which may have to wait until Badger has written out a table.
func (t *trouble) begin(ctx context.Context, db *badger.DB, update bool) (*badger.Txn, error) {
	if err := t.Err(); update && err != nil {
		return nil, err
	}
	if !t.tight.Load() {
		return db.NewTransaction(update), nil
	}
	return bounded(ctx, t, func() *badger.Txn { return db.NewTransaction(update) }, (*badger.Txn).Discard)
}

// commit commits tx, which writes so many bytes. After an error of the disk Badger would go on
// behind the hole that it leaves in the log, and recovery ends at the hole: no later commit is
// taken.
func (t *trouble) commit(tx *badger.Txn, size int64) (err error) {
	if err := t.take(size); err != nil {
		return driver.NotDone(err)
	}
	if t.tight.Load() {
		err = t.wait(tx.Commit)
	} else {
		err = tx.Commit()
	}
	if err = classify(err); driver.IsInDoubt(err) {
		t.stop(err)
	}
	if why := t.Err(); err == nil && why != nil && t.synced {
		return &driver.Error{Kind: driver.InDoubt, Err: why} // the sync that failed may have been this commit's
	}
	return err
}

// patience is how long anything may take after the first trouble.
var patience = 10 * time.Second

// bad are the beginnings of messages after which nothing more is to be committed.
var bad = []string{
	"Error while curlf sync", "error flushing memtable to disk", "While running doCompact", "writeRequests"}

// harmless is what Badger says of a compaction that finds another one at its tables: Flatten starts
// several.
const harmless = "Unable to fill tables"

// stop keeps the first failure.
func (t *trouble) stop(err error) {
	if t.Stop(err) {
		close(t.seen)
	}
}

// Errorf is part of badger.Logger, as are the methods that follow.
func (t *trouble) Errorf(format string, args ...any) { t.log(slog.LevelError, format, args) }

func (t *trouble) Warningf(format string, args ...any) { t.log(slog.LevelWarn, format, args) }

// Infof tells each step of opening and closing: it is a detail for a program that uses the store.
func (t *trouble) Infof(format string, args ...any) { t.log(slog.LevelDebug, format, args) }

// Debugf is called for every commit, so nothing is formatted that nobody wants.
func (t *trouble) Debugf(format string, args ...any) { t.log(slog.LevelDebug, format, args) }

func (t *trouble) log(level slog.Level, format string, args []any) {
	for _, text := range bad {
		said := level >= slog.LevelWarn && strings.HasPrefix(format, text)
		if said && !strings.Contains(fmt.Sprint(args...), harmless) {
			t.stop(classify(fmt.Errorf("badger: "+strings.TrimSpace(format), args...)))
			level = slog.LevelError
		}
	}
	if ctx := context.Background(); t.to.Enabled(ctx, level) {
		t.to.Log(ctx, level, "badger: "+strings.TrimSpace(fmt.Sprintf(format, args...)))
	}
}

// wait returns what call does, unless the disk has failed and Badger does not come back.
func (t *trouble) wait(call func() error) error {
	return errors.Join(bounded(context.Background(), t, call, func(error) {}))
}

// upkeep runs a call that Close waits for, even if its caller does no more: beside its Close Badger
// panics in compactions, and reads files that are no longer mapped.
func (s *store) upkeep(call func() error) error {
	s.running.Add(1)
	return s.trouble.wait(func() error { defer s.running.Done(); return call() })
}

// bounded returns what call does. It gives up when ctx ends, and when the disk has failed and
// Badger does not come back; late then gets what call returned, if it ever does.
func bounded[T any](ctx context.Context, t *trouble, call func() T, late func(T)) (value T, err error) {
	done := make(chan T, 1)
	go func() { done <- call() }()
	var limit <-chan time.Time
	for seen := t.seen; ; {
		select {
		case value = <-done:
			return value, nil
		case <-seen:
			seen, limit = nil, time.After(patience)
			continue
		case <-ctx.Done():
			err = ctx.Err()
		case <-limit:
			err = &driver.Error{Kind: driver.InDoubt, Err: fmt.Errorf("badger hangs: %w", t.Err()),
				Hint: "end the program: until then the folder may stay locked"}
		}
		go func() { late(<-done) }()
		return value, err
	}
}
