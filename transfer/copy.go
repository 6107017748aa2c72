package transfer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/transfer/internal/place"
)

// Report is what Copy did.
type Report struct {
	Summary
	Resumed int64         `json:"resumed"` // pairs that an earlier copy had left, which was killed or interrupted
	Took    time.Duration `json:"took_ns"`
}

// Copy copies the pairs of the store that the URL from names to a new store at the URL to. Source
// and destination must be different paths; the source must exist, the destination must not.
//
// The source is opened read-only where its engine can. Where several processes may work on it they
// go on meanwhile, and the copy is of the state when it began. A source that another process holds
// alone is Busy.
//
// If Copy fails, or its process ends, there is nothing at the destination. What it wrote stays
// beside it, in a folder .NAME.transfer, and the next Copy to the same URL goes on from there, if
// it is still the beginning of what it would write; otherwise, also to the same path by another
// engine or with other options, and with Options.Restart, it begins anew. Pairs that the
// destination cannot hold are an error of type [*Misfit]. Where the next Copy would fail as well,
// since a pair is refused or the source is damaged, nothing stays.
func Copy(ctx context.Context, from, to string, o *Options) (Report, error) {
	began := time.Now()
	report, err := copyAll(ctx, from, to, o.or())
	report.Took = time.Since(began)
	if err != nil {
		return report, failed("copy", from, to, err)
	}
	return report, nil
}

func copyAll(ctx context.Context, from, to string, o Options) (report Report, err error) {
	if err := place.Apart(from, to); err != nil {
		return report, err
	}
	p, err := newPartial(to)
	if err != nil {
		return report, err
	}
	source, err := OpenExisting(ctx, from, Look)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	return copyTo(ctx, source, p, o)
}

// sound has the engine check a store of Badger, whose iterators end at what is damaged without an
// error: a copy of it would lack what comes after it, and a copy that went on behind it would hide
// the damage under newer pairs.
func sound(ctx context.Context, db *kv.DB) error {
	if db.Engine() != "badger" {
		return nil
	}
	return db.Check(ctx)
}

// copyTo copies source to the place of p.
func copyTo(ctx context.Context, source *kv.DB, p *partial, o Options) (report Report, err error) {
	if err := p.enter(o.Restart); err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, p.leave()) }()
	if report, err = build(ctx, source, p, o); err != nil {
		return report, err
	}
	if err := forget(p.to); err != nil {
		return report, err
	}
	return report, p.publish()
}

// build makes the copy of source, which is sound, in p, which is this process's own, whole, durable
// and verified. Whether the source is sound is found out beside the copy; of one that is not,
// nothing stays.
func build(ctx context.Context, source *kv.DB, p *partial, o Options) (report Report, err error) {
	both, ctx := errgroup.WithContext(ctx)
	var unsound error
	both.Go(func() error {
		unsound = sound(ctx, source)
		return unsound
	})
	both.Go(func() (err error) {
		report, err = fillAndVerify(ctx, source, p, o)
		return err
	})
	err = both.Wait()
	if errors.Is(unsound, kv.Corrupt) {
		p.keep = false
	}
	return report, err
}

// fillAndVerify is build of a source that is sound. What an earlier copy left may be of another
// state, or damaged where only a reader or a writer finds it: then it begins anew, once.
func fillAndVerify(ctx context.Context, source *kv.DB, p *partial, o Options) (report Report, err error) {
	for range 2 {
		c := copier{source: source, partial: p, o: o}
		if err = c.run(ctx); err == nil {
			report = Report{Summary: c.read.summary(), Resumed: c.resumed}
			err = c.verify(ctx, report.Summary)
		}
		if errors.Is(err, kv.Unsupported) {
			p.keep = false // the next copy cannot go on with it either
		}
		if !errors.As(err, new(unfit)) {
			return report, err
		}
		if cerr := p.clear(); cerr != nil {
			return report, cerr
		}
	}
	return report, err
}

// unfit is the error of what lies in the place of the copy.
type unfit struct{ error }

func (e unfit) Unwrap() error { return e.error }

// ofCopy returns err, which is of the copy's store: unfit if that is damaged.
func ofCopy(err error) error {
	if errors.Is(err, kv.Corrupt) {
		return unfit{err}
	}
	return err
}

var errOther = unfit{errors.New("what an earlier copy left is of another state")}

// batchBytes is how much a transaction of a copy holds; of larger pairs, one. Two wait while one is
// committed. perPair is what a pair counts beside its bytes: a batch and an engine keep about as
// much for each, and Badger's transactions hold so many pairs only.
const (
	batchBytes = 1 << 20
	perPair    = 96
)

// full reports whether a batch has no room for another pair.
func full(b *kv.Batch, k, v []byte) bool {
	return b.Size()+len(k)+len(v)+(b.Len()+1)*perPair > batchBytes
}

// copier fills a partial store.
type copier struct {
	source  *kv.DB
	partial *partial
	o       Options
	read    *digest // of what the destination shall hold
	resumed int64
}

// run fills the partial store and closes it.
func (c *copier) run(ctx context.Context) error {
	begun := c.partial.begun()
	db, err := c.partial.open(ctx)
	if err != nil {
		return err
	}
	if begun { // by an earlier copy: what it left is compared, but see sound
		err = ofCopy(sound(ctx, db))
	}
	if err == nil {
		err = c.fits(ctx, db.Caps())
	}
	if err == nil {
		err = c.fill(ctx, db)
	}
	if refused(err) {
		c.partial.keep = false
	}
	return errors.Join(err, ofCopy(db.Close()))
}

// refused reports whether err, of reading a source or of writing its pairs, is one that the next
// copy would meet again: it could not go on with what was copied.
func refused(err error) bool {
	for _, kind := range []kv.Kind{kv.Invalid, kv.Unsupported, kv.TooLarge, kv.Corrupt} {
		if errors.Is(err, kind) {
			return !errors.As(err, new(unfit))
		}
	}
	return false
}

// fill reads the source in one goroutine and commits to db in another.
func (c *copier) fill(ctx context.Context, db *kv.DB) error {
	group, ctx := errgroup.WithContext(ctx)
	filled, empty := make(chan *kv.Batch, 1), make(chan *kv.Batch, 3)
	for range cap(empty) {
		empty <- new(kv.Batch)
	}
	group.Go(func() error {
		defer close(filled)
		return c.readAll(ctx, db, filled, empty)
	})
	group.Go(func() error {
		class := db.Caps().Cheapest()
		for b := range filled {
			if err := db.Write(ctx, class, b); err != nil {
				return ofCopy(err)
			}
			b.Reset()
			empty <- b
		}
		return nil
	})
	return group.Wait()
}

// readAll reads the source, passes over what db holds already, and hands on the rest.
func (c *copier) readAll(ctx context.Context, db *kv.DB, filled chan<- *kv.Batch, empty <-chan *kv.Batch) error {
	c.read, c.resumed = newDigest(), 0
	held := db.Iter(ctx, kv.Range{})
	defer func() { _ = held.Close() }() // what goes wrong in it is told by Err
	limit := c.o.limiter()
	b := <-empty
	send := func() error {
		if b.Len() == 0 {
			return nil
		}
		c.o.Progress(Progress{Phase: "copy", Pairs: c.read.pairs, Bytes: c.read.bytes})
		if err := await(ctx, limit, b.Size()); err != nil {
			return err
		}
		select {
		case filled <- b:
		case <-ctx.Done():
			return ctx.Err()
		}
		select {
		case b = <-empty:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	resuming := true
	err := c.o.each(ctx, c.source, func(k, v []byte) error {
		c.read.add(k, v)
		if resuming {
			switch {
			case held.Next():
				if !bytes.Equal(held.Key(), k) || !bytes.Equal(held.Value(), v) {
					return errOther
				}
				c.resumed++
				return nil
			case held.Err() != nil:
				return ofCopy(held.Err())
			}
			resuming = false
			if err := held.Close(); err != nil { // before the first write: some engines' readers keep writers waiting
				return err
			}
		}
		if full(b, k, v) {
			if err := send(); err != nil {
				return err
			}
		}
		b.Put(k, v)
		return nil
	})
	if err != nil {
		return err
	}
	if resuming {
		if held.Next() {
			return errOther
		}
		if err := errors.Join(held.Err(), held.Close()); err != nil {
			return ofCopy(err)
		}
	}
	return send()
}

// verify reads the copy again, compares it with what was read from the source, and makes it
// durable. The disk writes while the copy is read: most of it is durable then.
func (c *copier) verify(ctx context.Context, want Summary) error {
	both, reading := errgroup.WithContext(ctx)
	both.Go(c.partial.syncOpen)
	var got Summary
	both.Go(func() (err error) {
		got, err = c.readAgain(reading, want.Pairs)
		return err
	})
	if err := both.Wait(); err != nil {
		return err
	}
	if got != want {
		return unfit{&kv.Error{Kind: kv.Corrupt,
			Hint: "nothing was put at the destination; look whether the disk or the engine is at fault",
			Err: fmt.Errorf("the copy holds %d pairs of %d bytes, digest %.12s, and %d of %d, %.12s, were read",
				got.Pairs, got.Bytes, got.Digest, want.Pairs, want.Bytes, want.Digest)}}
	}
	return c.partial.sync()
}

// readAgain returns what the copy holds, which should be so many pairs.
func (c *copier) readAgain(ctx context.Context, of int64) (Summary, error) {
	db, err := c.partial.openAgain(ctx)
	if err != nil {
		return Summary{}, ofCopy(err)
	}
	o := c.o
	o.Range, o.Change = kv.Range{}, nil
	got, err := summarise(ctx, db, o, of)
	return got, ofCopy(errors.Join(err, db.Close()))
}

// summarise reads db within the bounds of o.
func summarise(ctx context.Context, db *kv.DB, o Options, of int64) (Summary, error) {
	d := newDigest()
	said := int64(0)
	err := o.each(ctx, db, func(k, v []byte) error {
		d.add(k, v)
		if d.bytes-said >= batchBytes {
			said = d.bytes
			o.Progress(Progress{Phase: "verify", Pairs: d.pairs, Bytes: d.bytes, Of: of})
		}
		return nil
	})
	return d.summary(), err
}

// each gives the pairs of a snapshot of db to do, as Range and Change have them, in ascending
// order.
func (o *Options) each(ctx context.Context, db *kv.DB, do func(k, v []byte) error) error {
	return db.View(ctx, func(s *kv.Snapshot) error {
		var last []byte
		return s.Each(o.Range, func(k, v []byte) error {
			if o.Change != nil {
				var keep bool
				if k, v, keep = o.Change(k, v); !keep {
					return nil
				}
				if bytes.Compare(k, last) <= 0 {
					return &kv.Error{Kind: kv.Invalid, Hint: "a change must keep the order of keys, and give each its own",
						Err: fmt.Errorf("the change made key %q, which does not come after %q", k, last)}
				}
				last = append(last[:0], k...)
			}
			return do(k, v)
		})
	})
}

// Plan tells what Copy would read, and fails as Copy would before it copies anything: the
// destination exists, pairs do not fit. It leaves nothing behind and changes nothing.
func Plan(ctx context.Context, from, to string, o *Options) (Summary, error) {
	summary, err := plan(ctx, from, to, o.or())
	if err != nil {
		return summary, failed("plan to copy", from, to, err)
	}
	return summary, nil
}

func plan(ctx context.Context, from, to string, o Options) (summary Summary, err error) {
	if err := place.Apart(from, to); err != nil {
		return summary, err
	}
	p, err := newPartial(to)
	if err != nil {
		return summary, err
	}
	source, err := OpenExisting(ctx, from, Look)
	if err != nil {
		return summary, err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	if err := p.enter(false); err != nil {
		return summary, err
	}
	defer func() { err = errors.Join(err, p.endTrial(), p.leave()) }()
	db, err := p.trial(ctx)
	if err != nil {
		return summary, err
	}
	c := copier{source: source, partial: p, o: o}
	if err = db.View(ctx, func(*kv.Snapshot) error { return nil }); err == nil { // a log of messages has no keys
		err = c.fits(ctx, db.Caps())
	}
	if err := errors.Join(err, db.Close()); err != nil {
		return summary, err
	}
	return summarise(ctx, source, o, 0)
}
