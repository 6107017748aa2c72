// Package capture records what a running program does with its store, so that assay replay can do
// the same on every engine:
//
//	db, err := kv.Open(ctx, url)
//	...
//	db, c, err := capture.Start(ctx, db, "day.assay", nil)
//	...
//	defer db.Close() // ends the recording, too
//
// The recording holds the store as it was at the start, and every transaction since: what was read,
// with which result, what was written, at which class, when, and what went on beside it. Keys and
// values are hashed, or kept by choice. docs/formats.md has the format, docs/replay.md the use.
package capture

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

// Choice says what a recording holds of keys, or of values. The zero value tells the least.
type Choice uint8

const (
	Hashed Choice = iota // others of the same length; keys stay in their order
	Kept                 // as the program has them
)

var choiceNames = []string{"hashed", "kept"}

func (c Choice) String() string {
	if int(c) < len(choiceNames) {
		return choiceNames[c]
	}
	return fmt.Sprintf("choice(%d)", uint8(c))
}

// MarshalText returns the word for c.
func (c Choice) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText sets c to the choice with the word in text.
func (c *Choice) UnmarshalText(text []byte) error {
	for i, name := range choiceNames {
		if name == string(text) {
			*c = Choice(i)
			return nil
		}
	}
	return &kv.Error{Op: "recording", Kind: kv.Corrupt, Err: fmt.Errorf("unknown choice %q", text)}
}

// Options say what a recording holds. The zero value is ready to use.
type Options struct {
	// Values that are hashed have the length of those of the program and nothing else of them:
	// equal values are equal in the recording.
	Values Choice

	// Keys that are hashed have the length and the order of those of the program, and share as
	// much of their beginnings. That can be made only when all keys are known: until the recording
	// ends, they stand as they are in a file beside it, NAME.part, which the user alone may read.
	// Stop and the store's Close then take about five seconds for a million transactions.
	Keys Choice

	// Most is how long the file may become, in bytes; the recording then ends. 0 is 1 GiB.
	Most int64
}

// most is Options.Most without one.
const most = 1 << 30

// Capture is a recording that a program makes.
type Capture struct {
	log  *log
	file string
	keys Choice
	once sync.Once
	err  error // of Stop
}

// Start records what db, which is a whole store and no namespace, is used for from now on, in a new
// file. It returns the DB that records: use it in place of db, which its Close closes. Options of
// kv.Open that concern the handle, as kv.WithTracer, are given again.
//
// Start copies what is in the store into the recording, about a million pairs in a second; nobody
// may write meanwhile. From then on the program waits for nothing: what the disk does not take in
// time ends the recording, and not the program. Err tells why a recording has ended early. What
// other processes write to the store is not recorded.
func Start(ctx context.Context, db *kv.DB, file string, o *Options, options ...kv.Option) (*kv.DB, *Capture, error) {
	if o == nil {
		o = new(Options)
	}
	d, ok := driver.Lookup(db.Engine())
	if !ok {
		return nil, nil, wrap(file, &kv.Error{Kind: kv.Invalid, Err: fmt.Errorf("no engine is called %s", db.Engine())})
	}
	c := &Capture{file: file, keys: o.Keys}
	for _, name := range []string{file, c.part()} {
		if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, wrap(file, &kv.Error{Kind: kv.Invalid, Err: fmt.Errorf("%s exists", name),
				Hint: "name a new file, or remove it"})
		}
	}
	info := Info{Version: version, Engine: db.Engine(), Started: time.Now().UTC(), Keys: Kept, Values: o.Values}
	l, err := newLog(c.part(), info, o.Most)
	if err != nil {
		return nil, nil, wrap(file, err)
	}
	c.log = l
	if err := c.load(ctx, db); err != nil {
		return nil, nil, errors.Join(wrap(file, err), l.finish(), os.Remove(c.part()))
	}
	own := driver.Wrapped{Driver: d, Path: db.Path(), Store: func(driver.Config) driver.Store {
		return record(db.Driver(), l, func() error {
			_ = c.Stop() // of the recording: Err tells it
			return db.Close()
		})
	}}
	config := driver.Config{Path: db.Path(), Mode: db.Mode()}
	recorded, err := kv.OpenDriver(ctx, own, config, append([]kv.Option{kv.WithWait(db.Wait())}, options...)...)
	if err != nil {
		return nil, nil, errors.Join(wrap(file, err), l.finish(), os.Remove(c.part()))
	}
	return recorded, c, nil
}

// part is the file that is written while the program runs.
func (c *Capture) part() string {
	if c.keys == Kept {
		return c.file
	}
	return c.file + ".part"
}

// load records what is in the store.
func (c *Capture) load(ctx context.Context, db *kv.DB) error {
	return db.View(ctx, func(s *kv.Snapshot) error {
		return s.Each(kv.Range{}, func(k, v []byte) error {
			c.log.roomFor(len(k) + len(v))
			c.log.pair(k, v)
			return c.log.ended()
		})
	})
}

// Stop ends the recording; the program goes on. What ended it early is its error. Stopping again
// does nothing.
func (c *Capture) Stop() error {
	c.once.Do(func() {
		err := c.log.finish()
		if c.keys == Hashed {
			err = errors.Join(err, c.hash())
		}
		if err != nil {
			c.err = wrap(c.file, err)
		}
	})
	return c.err
}

// hash makes the recording of that with the keys as they are.
func (c *Capture) hash() error {
	if err := HashKeys(c.part(), c.file); err != nil {
		return err
	}
	return os.Remove(c.part())
}

// Err returns why the recording ended before it was stopped: the disk is full or too slow, the file
// is as long as it may be, a commit is in doubt. It is nil while it goes on.
func (c *Capture) Err() error {
	if err := c.log.ended(); err != nil {
		return wrap(c.file, err)
	}
	return nil
}

func wrap(file string, err error) error {
	return &kv.Error{Op: "capture", Path: file, Kind: kv.KindOf(err), Err: err, Hint: kv.HintOf(err)}
}
