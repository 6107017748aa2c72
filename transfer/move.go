package transfer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/detect"
	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/transfer/internal/place"
)

// Old says what becomes of the old store when the new one is there.
type Old uint8

// What becomes of the old store.
const (
	Keep   Old = iota // it stays where it is, so that the older program can be started again
	Remove            // it is removed, unless another process has it open
)

// Meanwhile says what Open does while another process moves the store.
type Meanwhile uint8

// What Open does meanwhile.
const (
	Wait    Meanwhile = iota
	ReadOld           // it opens the old store ReadOnly where that can be shared, and waits where it cannot
)

// DefaultMoveWait is how long is waited for other processes when MoveOptions say nothing.
const DefaultMoveWait = 30 * time.Second

// MoveOptions says how a store is moved. A nil *MoveOptions is the zero MoveOptions.
type MoveOptions struct {
	Options

	// Old is what becomes of the old store.
	Old Old

	// Wait is how long is waited for another process that moves the store, or has one of the two
	// open. 0 is DefaultMoveWait. The context may end it earlier.
	Wait time.Duration

	// Meanwhile is what Open does while another process moves the store. Migrate waits.
	Meanwhile Meanwhile
}

// Outcome is what became of a store that was to be moved.
type Outcome string

// The outcomes.
const (
	Moved  Outcome = "moved"  // the old store was copied to the new one
	Caught Outcome = "caught" // the new one was there, and got what was changed in the old one since
	Stayed Outcome = "stayed" // there was nothing to do
)

// Migration is what Migrate did.
type Migration struct {
	Report
	Outcome Outcome `json:"outcome"`
	Kept    bool    `json:"kept"` // the old store is still there
}

// Migrate moves the store at the URL from to a new one at the URL to: as [Copy], and nobody can
// change the old store meanwhile. One process at a time does it; another one waits, and finds it
// done.
//
// Whatever happens, there is the old store alone, or the whole new one. The next call goes on.
//
// The old store stays, unless MoveOptions.Old says Remove: then its engine checks it first, and one
// that is damaged stays as it is, and is not moved. While it is there, a call finds out
// whether an older program has changed it since it was moved, by its files' sizes and times, and by
// its digest where these differ. If the new store has not been changed, it gets what was changed in
// the old one, in one transaction, which is held in memory. If both have been changed, that is a
// Conflict, and nothing is done: somebody must say what holds.
//
// A file beside the new store, .NAME.moved, keeps what the old one held. If it is missing, both
// stores must be equal.
func Migrate(ctx context.Context, from, to string, o *MoveOptions) (Migration, error) {
	began := time.Now()
	var done Migration
	m, err := newMove([]string{from}, to, o)
	if err == nil {
		m.o.Meanwhile = Wait
		if err = m.known(); err == nil {
			done, err = m.run(ctx)
		}
	}
	done.Took = time.Since(began)
	if err != nil {
		return done, failed("migrate", from, to, err)
	}
	return done, nil
}

// Open opens the store at the URL to, for a program that kept it elsewhere before. from names these
// places, the latest first: the first one where there is a store is moved as [Migrate] does; those
// behind it are not looked at, then or later. If there is none, the store at to is opened as
// [kv.Open] does, and made if it is not there.
//
// Any number of processes may call it at once: one moves the store, the others wait for it, at most
// MoveOptions.Wait, or get the old one ReadOnly; [kv.DB.Mode] tells. A call that finds nothing to
// do looks at the names, sizes and times of the files, no more.
//
// The options are those of the opening of the new store, and of the old one if that is what is
// returned.
func Open(ctx context.Context, to string, from []string, o *MoveOptions, options ...kv.Option) (*kv.DB, error) {
	m, err := newMove(from, to, o)
	if err != nil {
		return nil, failed("open", fmt.Sprint(from), to, err)
	}
	m.reading = options
	if _, err = m.run(ctx); err != nil {
		return nil, failed("open", fmt.Sprint(from), to, err)
	}
	if m.old != nil {
		return m.old, nil
	}
	return kv.Open(ctx, to, options...)
}

// move is one call of Migrate or Open.
type move struct {
	from    []string // URLs
	to      string
	place   *partial
	o       MoveOptions
	ends    time.Time   // of waiting
	reading []kv.Option // of the old store, if that may be returned
	old     *kv.DB      // which is returned
}

func newMove(from []string, to string, o *MoveOptions) (*move, error) {
	m := &move{from: from, to: to}
	if o != nil {
		m.o = *o
	}
	m.o.Options = m.o.Options.or()
	if m.o.Wait == 0 {
		m.o.Wait = DefaultMoveWait
	}
	m.ends = time.Now().Add(m.o.Wait)
	var err error
	if m.place, err = placeOf(to); err != nil {
		return nil, err
	}
	for _, f := range from {
		if err := place.Apart(f, to); err != nil {
			return nil, err
		}
		if err := refuse(place.Remote(f), "copy it by transfer.Copy, or assay copy, while no program writes to it",
			"%s is not on this machine", f); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// errMoving says that another process is moving the store.
var errMoving = &kv.Error{Kind: kv.Busy, Err: errors.New("another process is moving the store"),
	Hint: "wait for it, or end it: the next one goes on"}

// run moves what is to be moved, or waits until another process has.
func (m *move) run(ctx context.Context) (done Migration, err error) {
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		done, err = m.try(ctx)
		if err != errMoving || !time.Now().Before(m.ends) {
			return done, err
		}
		if m.o.Meanwhile == ReadOld && m.readOld(ctx) {
			return done, nil
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return done, ctx.Err()
		}
	}
}

// readOld opens the old store, if it is still the one that holds and lets itself be read.
func (m *move) readOld(ctx context.Context) bool {
	from, path, err := m.first()
	if err != nil || from == "" || exists(m.place.to) {
		return false
	}
	d, err := lookup(from)
	if err != nil || !d.Info().Caps.SharedReading {
		return false
	}
	options := append(slices.Clone(m.reading), kv.WithMode(kv.ReadOnly), kv.WithWait(0))
	m.old, err = OpenExisting(ctx, from, Look, options...)
	if err != nil || exists(path) {
		return err == nil
	}
	return m.old.Close() != nil // it was removed meanwhile
}

// first returns the URL and the path of the first old store that is there. Those behind the one
// that was moved already were moved to that before.
func (m *move) first() (from, path string, err error) {
	var r *record
	if exists(m.place.to) {
		if r, err = readRecord(m.place.to); err != nil {
			return "", "", err
		}
	}
	for _, from := range m.from {
		path, err := kv.PathOf(from)
		if err == nil {
			path, err = filepath.Abs(path)
		}
		if err != nil || exists(path) || exists(removedPath(path)) {
			return from, path, err
		}
		if r != nil && r.From == m.place.relative(path) {
			break
		}
	}
	return "", "", nil
}

// known refuses to move a store that is not there, unless it was moved before, and removed.
func (m *move) known() error {
	if from, _, err := m.first(); err != nil || from != "" {
		return err
	}
	if r, err := readRecord(m.place.to); err != nil || r != nil && exists(m.place.to) {
		return err
	}
	return &kv.Error{Kind: kv.NoStore, Err: errors.New("there is nothing to move"), Hint: "name a store that exists"}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// removedPath is what an old store is called that is being removed.
func removedPath(path string) string { return beside(path, ".removed") }

// try does what is to be done, if no other process is at it.
func (m *move) try(ctx context.Context) (done Migration, err error) {
	done = Migration{Outcome: Stayed}
	if exists(m.place.to) && exists(m.place.dir) {
		if err := m.place.sweep(); err != nil {
			return done, err
		}
	}
	from, path, err := m.first()
	if err != nil || from == "" {
		return done, err
	}
	if done.Kept, err = m.settled(path); err != nil || done.Kept {
		return done, err
	}
	if err := m.place.enter(m.o.Restart); errors.Is(err, kv.Busy) {
		return done, errMoving
	} else if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, m.place.leave()) }()
	m.place.keep = !exists(m.place.to)
	if done.Kept, err = m.settled(path); err != nil || done.Kept {
		return done, err
	}
	if err := sweepOld(path); err != nil || !exists(path) {
		return done, err
	}
	return m.settle(ctx, from, path)
}

// settled reports whether the new store is there, and the old one is to be kept and was not changed
// since it was moved.
func (m *move) settled(path string) (bool, error) {
	if m.o.Old != Keep || !exists(m.place.to) || exists(removedPath(path)) {
		return false, nil
	}
	r, err := readRecord(m.place.to)
	if err != nil || r == nil || r.Mark == "" || r.From != m.place.relative(path) {
		return false, err
	}
	mark, err := markOf(path)
	return mark == r.Mark, err
}

// settle moves the old store, or what was changed in it, while nobody can change it.
func (m *move) settle(ctx context.Context, from, path string) (done Migration, err error) {
	before, err := markOf(path)
	if err != nil {
		return done, err
	}
	var r *record
	removed := false
	err = m.quietly(ctx, from, path, func(source *kv.DB, alone bool) (gone bool, err error) {
		if done, r, err = m.bring(ctx, source, path); err != nil || m.o.Old != Remove || !alone {
			return false, err
		}
		removed = true
		return true, retire(path)
	})
	if err != nil {
		return done, err
	}
	if removed {
		return done, sweepOld(path)
	}
	done.Kept = true
	after, err := markOf(path)
	if err == nil && after == before && after != r.Mark { // else the next call finds out by the digest
		r.Mark = after
		err = r.write(m.place)
	}
	return done, err
}

// bring has the new store hold what source does, and keeps that in the record.
func (m *move) bring(ctx context.Context, source *kv.DB, path string) (done Migration, r *record, err error) {
	if exists(m.place.to) {
		if err := sound(ctx, source); err != nil {
			return done, nil, err
		}
		return m.catchUp(ctx, source, path)
	}
	done.Outcome = Moved
	if done.Report, err = build(ctx, source, m.place, m.o.Options); err != nil {
		return done, nil, err
	}
	r = &record{From: m.place.relative(path), Summary: done.Summary}
	if err := r.write(m.place); err != nil {
		return done, nil, err
	}
	return done, r, m.place.publish()
}

// quietly opens the old store so that nobody changes it until do has returned. alone says that no
// other process has it open. do returns whether it took the store's name away.
func (m *move) quietly(ctx context.Context, from, path string,
	do func(source *kv.DB, alone bool) (gone bool, err error),
) (err error) {
	d, err := lookup(from)
	if err != nil {
		return err
	}
	shared := d.Info().Caps.Supports(kv.Shared)
	alone := true
	access := Look // where processes do not share a store, who reads it keeps writers out
	if shared {
		access = Change
		found, err := detect.Path(path) // before the store is opened here: see its comment
		alone = err == nil && !found.Locked
	}
	patience := kv.WithWait(max(0, time.Until(m.ends)))
	source, err := OpenExisting(ctx, from, access, patience)
	// Who may write mends what a process left that was killed.
	if k := kv.KindOf(err); k == kv.NotWritable || k == kv.Permission {
		if source, err = OpenExisting(ctx, from, Change, patience); err == nil {
			err = source.Close()
		}
		if err == nil {
			source, err = OpenExisting(ctx, from, Look, patience)
		}
	}
	if err != nil {
		return err
	}
	gone := false
	defer func() {
		if cerr := source.Close(); !gone { // Badger: looks for its folder
			err = errors.Join(err, cerr)
		}
	}()
	if m.o.Old == Remove {
		if err := source.Check(ctx); err != nil {
			return err
		}
	}
	if shared {
		tx, err := source.Begin(ctx, source.Caps().Strongest()) // which writes nothing, and keeps writers out
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, tx.Rollback()) }()
	}
	gone, err = do(source, alone)
	return err
}

// retire takes its name from the old store.
func retire(path string) error {
	if err := os.Rename(path, removedPath(path)); err != nil {
		return err
	}
	return driver.SyncDir(filepath.Dir(path))
}

// sweepOld removes what is left of an old store that has lost its name.
func sweepOld(path string) error {
	if !exists(removedPath(path)) {
		return nil
	}
	if !exists(path) { // otherwise an older program has made another one
		for _, suffix := range companions {
			if err := os.RemoveAll(path + suffix); err != nil {
				return err
			}
		}
	}
	if err := os.RemoveAll(removedPath(path)); err != nil {
		return err
	}
	return driver.SyncDir(filepath.Dir(path))
}
