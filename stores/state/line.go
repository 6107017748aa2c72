package state

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"github.com/assaydb/assay/kv"
)

// Hundreds of processes may want one file at the same moment. Were each to try the engine's lock
// again and again, they would spend the machine on trying, and who comes late might win every time.
// So whoever does not get it at once stands in line: in the kernel's queue for the lock of a file
// of its own, which costs a process nothing while it waits. Readers that may have the store open
// together share that lock.
//
// Whoever has come to the head of the line and finds the store open, by one who got it at once or
// by another program, puts up a sign until it has opened it itself. Who sees the sign does not try,
// but goes to the end of the line: otherwise readers, one after the other, could keep a writer out
// for ever.
//
// SQLite lets every process open the store, and only writers wait for one another: they open it,
// and then stand in line.

// The file of the line's lock and that of the sign are named so, with the kind behind. The first is
// never removed: that would let two processes in.
const (
	linePrefix = lockName + "-"
	signPrefix = ".sign-"
)

// opening is how a file is opened.
type opening struct {
	patient, hasty []kv.Option // hasty waits for nobody
	together       bool        // with others that open it so, but with nobody else
}

func newOpening(wait time.Duration, options ...kv.Option) opening {
	return opening{patient: append(options, kv.WithWait(wait)), hasty: append(slices.Clone(options), kv.WithWait(0))}
}

// place is a place in the line. The zero place is one beside it.
type place struct {
	lock     *flock.Flock // nil if beside the line
	sign     string       // the sign that this process has put up
	deadline time.Time    // of waiting
}

// open opens the file, waiting for other processes. The caller leaves the place once it has closed
// the store. Who is alone has the lock of the folder, and stands in no line.
func (f *file) open(ctx context.Context, try attempt, how opening) (db *kv.DB, p place, err error) {
	shared := f.engine.Caps.Supports(kv.Shared)
	if try == alone || shared && how.together {
		db, err = openWhole(ctx, f.url, how.patient)
		return db, p, f.waited(ctx, err)
	}
	p.deadline = time.Now().Add(f.store.options.Wait)
	if shared {
		db, err = f.openBefore(ctx, &p, how)
	} else if !f.signed() {
		if db, err = f.openURL(ctx, how.hasty); kv.KindOf(err) != kv.Busy {
			return db, p, f.waited(ctx, err)
		}
		err = nil
	}
	if err == nil && db == nil {
		db, err = p.open(ctx, f, how)
	}
	if err == nil {
		return db, p, nil
	}
	if db != nil {
		err = errors.Join(err, db.Close())
	}
	return nil, place{}, errors.Join(f.waited(ctx, err), p.leave())
}

// openBefore opens a store that several processes may have open, and then enters the line: opening
// takes longer than a change, and is done side by side. It returns none if the file was replaced
// meanwhile.
func (f *file) openBefore(ctx context.Context, p *place, how opening) (*kv.DB, error) {
	before, err := os.Stat(f.path)
	if err != nil {
		return nil, err
	}
	db, err := openWhole(ctx, f.url, how.patient)
	if err != nil {
		return nil, err
	}
	if err := p.enter(ctx, f, how.together); err != nil {
		return db, err
	}
	if now, err := os.Stat(f.path); err != nil || !os.SameFile(before, now) {
		return nil, db.Close()
	}
	return db, nil
}

func (f *file) signed() bool {
	_, err := os.Lstat(f.sign)
	return err == nil
}

// enter waits for the head of the line.
func (p *place) enter(ctx context.Context, f *file, together bool) error {
	lock := flock.New(f.line, flock.SetPermissions(0o600))
	err := take(ctx, lock, together, f.store.options.Wait)
	switch {
	case err == nil:
		p.lock = lock
	case errors.Is(err, fs.ErrPermission): // a folder of others, from which this process reads
		return nil
	}
	return err
}

// open opens f at the head of the line.
func (p *place) open(ctx context.Context, f *file, how opening) (*kv.DB, error) {
	if p.lock == nil {
		if err := p.enter(ctx, f, how.together); err != nil {
			return nil, err
		}
	}
	left := append(slices.Clip(how.patient), kv.WithWait(max(0, time.Until(p.deadline))))
	if f.engine.Caps.Supports(kv.Shared) || p.lock == nil {
		return f.openURL(ctx, left)
	}
	db, err := f.openURL(ctx, how.hasty)
	if kv.KindOf(err) != kv.Busy {
		p.sign = f.sign // of one that was killed, if it is there
		return db, errors.Join(err, p.lower())
	}
	sign, err := os.OpenFile(f.sign, os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	p.sign = f.sign
	if err := sign.Close(); err != nil {
		return nil, err
	}
	db, err = f.openURL(ctx, left)
	return db, errors.Join(err, p.lower())
}

// lower takes the sign down.
func (p *place) lower() error {
	if p.sign == "" {
		return nil
	}
	err := removed(p.sign)
	p.sign = ""
	return err
}

// leave gives the place up.
func (p *place) leave() error {
	if p.lock == nil {
		return nil
	}
	return errors.Join(p.lower(), p.lock.Unlock())
}

// removed removes a file that may be gone.
func removed(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// take takes a lock, in the kernel's queue. After limit it is Busy.
func take(ctx context.Context, lock *flock.Flock, shared bool, limit time.Duration) error {
	try, block := lock.TryLock, lock.Lock
	if shared {
		try, block = lock.TryRLock, lock.RLock
	}
	if taken, err := try(); taken || err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() {
		err := block()
		for errors.Is(err, syscall.EINTR) {
			err = block()
		}
		done <- err
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	var err error
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		err = ctx.Err()
	case <-timer.C:
		err = kv.Busy
	}
	go func() { // no call takes a process out of the queue: its turn passes at once
		if <-done == nil {
			_ = lock.Unlock()
		}
	}()
	return err
}
