// Package margaret keeps a feed in the log format "offset2" of the library Margaret, which Secure
// Scuttlebutt programs keep their logs in: it reads and writes their files, and theirs read its
// own.
//
//	log, err := margaret.Open(ctx, "feed", nil)
//	first, err := log.Append(ctx, kv.Synced, messages...)
//	message, err := log.Get(ctx, first)
//
// A [*Log] is a [*feed.Feed] that can also erase a message.
//
// # Files
//
// A log is a folder. All numbers are 8 bytes, big-endian, with a sign.
//
//	data  for each message its length, then its bytes; of an erased one the length is negated and the bytes are zero
//	ofst  for each message where it begins in data
//	jrnl  the sequence of the last message; an empty file is an empty log
//
// Two are this package's own, and Margaret passes over them:
//
//	lock      locked by the process that has the log open
//	unsynced  the first message that may not be on the disk; an empty file is none
//
// # Order of writing
//
// An append writes data, then ofst, then jrnl, each at once for all its messages. The journal
// decides: what lies behind the message that it names was not acknowledged. Its 8 bytes lie at the
// start of a sector, so that they are the old ones or the new ones; the first journal is written
// beside the empty one and renamed. For [kv.Synced] data and ofst are synced before jrnl is
// written, and jrnl before the append returns: whatever of an append a power loss leaves, a journal
// that names a message finds it whole.
//
//	killed or cut off while writing   what is found                        what Open does
//	data                              bytes behind the last message        cuts them off
//	ofst                              the same, and some offsets           cuts both off
//	jrnl                              all of it, and the old journal       cuts both off
//	after jrnl                        the append                           nothing
//
// For [kv.Flushed] nothing is synced: the kernel keeps the order, so that a kill of the process is
// like the above. A power loss may leave any of it, in any order: the log may then not open, or
// hold zeros where a message was. [kv.Buffered] is Flushed.
//
// A sync that fails may lose what was appended before as Flushed, although it can still be read. A
// Synced append that follows, by whoever opens the log next, writes that once more: it knows from
// unsynced what to write, and then syncs both. After a Flushed writer that was killed, the first
// Synced append or Close therefore writes all that was never synced.
//
// Margaret itself writes jrnl first, then length, bytes and offset, and syncs none of it. A kill in
// between leaves a journal that names a message which is not there, or has no offset. Open writes
// the offset if the message is whole; otherwise it sets the journal back.
//
// # Damage
//
// The format has no checksums. Offsets and lengths vouch for each other, so a change in ofst or in
// a length is found when the message is read, and is kv.Corrupt. A changed jrnl cannot be told from
// a torn append: the log is then shorter. A change in the bytes of a message cannot be seen at all;
// messages that carry a hash or a signature should be checked by it.
package margaret

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/stores/eventlog/feed"
)

// Promises tells what an append of each class survives.
var Promises = [3]kv.Promise{
	kv.Synced:   {Supported: true, Class: kv.Synced, Intact: true, KillAtomic: true, PowerAtomic: true},
	kv.Flushed:  {Supported: true, Class: kv.Flushed, KillAtomic: true},
	kv.Buffered: {Supported: true, Class: kv.Flushed, KillAtomic: true},
}

// Options is how a log is opened. A nil *Options is the zero Options.
type Options struct {
	// Wait is how long to wait for another process to close the log; 0 is 10 s, NoWait is not at
	// all. A context may end it earlier.
	Wait time.Duration

	// ReadOnly opens a log that is there, to be read, and changes nothing in its folder: to append
	// is NotWritable. What a crash left at its end is not shown. If the crash left messages without
	// offsets, Open is NotWritable: they are there once the log was opened for writing. Several
	// processes may read.
	ReadOnly bool
}

// NoWait as Options.Wait tries once.
const NoWait = -1

// Log is an open log. Its methods may be called concurrently. Close syncs what was appended.
type Log struct {
	*feed.Feed
	b *backend
}

// Open opens the log in the folder dir, creating it and its missing parents, and repairs what a
// crash left at its end: [Log.Repaired] tells what it did. A log that is damaged otherwise is
// Corrupt and left as it is; one that another process has open, Busy.
func Open(ctx context.Context, dir string, opts *Options) (*Log, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	wait := max(cmp.Or(o.Wait, kv.DefaultWait), 0)
	if dir == "" {
		return nil, &kv.Error{Op: "open log", Engine: engine, Kind: kv.Invalid, Err: errors.New("no path"),
			Hint: "name a folder"}
	}
	b, err := open(ctx, dir, wait, o.ReadOnly)
	if err != nil {
		return nil, wrap("open log", dir, err)
	}
	return &Log{Feed: feed.NewFeed(b), b: b}, nil
}

func open(ctx context.Context, dir string, wait time.Duration, readOnly bool) (*backend, error) {
	b := &backend{dir: dir, lock: flock.New(filepath.Join(dir, "lock")), readOnly: readOnly}
	if readOnly {
		b.lock = flock.New(b.lock.Path(), flock.SetFlag(os.O_RDONLY))
		b.broken = &kv.Error{Kind: kv.NotWritable, Err: errors.New("the log was opened to be read"),
			Hint: "open it without Options.ReadOnly"}
	} else if err := driver.MakeDirs(dir); err != nil {
		return nil, err
	}
	b.replace = b.replaceJournal
	err := b.acquire(ctx, wait)
	if err == nil {
		err = b.openFiles()
	}
	if err == nil {
		err = b.recover()
	}
	if err != nil {
		return nil, errors.Join(err, b.release())
	}
	return b, nil
}

// acquire takes the lock of the folder, shared by those who read. Margaret itself has none, and who
// reads makes none.
func (b *backend) acquire(ctx context.Context, wait time.Duration) error {
	if err := ctx.Err(); err != nil {
		return &kv.Error{Kind: kv.Canceled, Err: err}
	}
	try, tryUntil := b.lock.TryLock, b.lock.TryLockContext
	if b.readOnly {
		try, tryUntil = b.lock.TryRLock, b.lock.TryRLockContext
	}
	if locked, err := try(); locked || b.readOnly && errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	locked, err := tryUntil(limited, 5*time.Millisecond)
	switch {
	case locked:
		return nil
	case ctx.Err() != nil:
		return &kv.Error{Kind: kv.Canceled, Err: ctx.Err()}
	case err != nil && limited.Err() == nil:
		return err
	}
	return &kv.Error{Kind: kv.Busy, Err: errors.New("another process has the log open"),
		Hint: "end it, or set Options.Wait higher"}
}

// openFiles opens the files, or creates them all. Some without the others are no log.
func (b *backend) openFiles() error {
	names := []string{"data", "ofst", "jrnl"}
	missing := 0
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(b.dir, name)); errors.Is(err, fs.ErrNotExist) {
			missing++
		}
	}
	flags := os.O_RDWR
	switch {
	case b.readOnly && missing == len(names):
		return &kv.Error{Kind: kv.NoStore, Err: errors.New("a log has the files data, ofst and jrnl"),
			Hint: "name a folder of Margaret's files"}
	case b.readOnly && missing > 0:
		return corrupt(errors.New("there is one of the files data, ofst and jrnl, and one of the others is missing"))
	case b.readOnly:
		flags = os.O_RDONLY
	case missing > 0:
		if err := b.create(names); err != nil {
			return err
		}
	}
	for i, f := range []*file{&b.data, &b.offsets, &b.journal} {
		opened, err := os.OpenFile(filepath.Join(b.dir, names[i]), flags, 0)
		if err != nil {
			return err
		}
		*f = opened
	}
	if !b.readOnly {
		opened, err := os.OpenFile(filepath.Join(b.dir, "unsynced"), flags|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		b.unsynced = opened
	}
	info, err := b.journal.Stat()
	if err == nil && info.Size() == 0 && !b.readOnly {
		err = driver.SyncDir(b.dir) // nothing was appended yet: the sync of who made the files may have failed
	}
	return err
}

// create creates the files that are missing. The others must be empty, as a crash while they were
// being created leaves them.
func (b *backend) create(names []string) error {
	for _, name := range names {
		f, err := os.OpenFile(filepath.Join(b.dir, name), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		info, err := f.Stat()
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
		if info.Size() > 0 {
			return corrupt(fmt.Errorf("there is a file %s, and one of the others is missing", name))
		}
	}
	return nil
}

// Repaired tells what Open did to the end of the log.
func (l *Log) Repaired() Repair { return l.b.repaired }

// Size returns the space that the log takes on disk.
func (l *Log) Size() (kv.Size, error) {
	size, err := kv.SizeOf(l.b.dir)
	return size, wrap("size", l.b.dir, err)
}

const engine = "margaret"

// wrap makes err an error of kv.
func wrap(op, dir string, err error) error {
	if err == nil {
		return nil
	}
	wrapped := kv.Error{Kind: kv.KindOf(err), Err: err}
	var e *kv.Error
	if errors.As(err, &e) {
		wrapped = *e
	}
	wrapped.Op, wrapped.Engine, wrapped.Path = op, engine, dir
	if wrapped.Kind == kv.Full && wrapped.Hint == "" {
		wrapped.Hint = "free some space, or use another folder"
	}
	return &wrapped
}

func corrupt(err error) error {
	return &kv.Error{Kind: kv.Corrupt, Err: err, Hint: "restore the folder from a copy"}
}
