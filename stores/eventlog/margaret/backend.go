package margaret

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/gofrs/flock"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/stores/eventlog/feed"
)

// file is what is needed of an *os.File.
type file interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Stat() (fs.FileInfo, error)
	Truncate(size int64) error
	Sync() error
}

// backend keeps the messages. What changes the files holds writing; readers see the part of the
// files that n and end name, which only Null changes.
type backend struct {
	dir      string
	lock     *flock.Flock
	data     file
	offsets  file
	journal  file
	unsynced file                               // not of a log that is only read
	replace  func(content []byte) (file, error) // jrnl by a new one that is durable
	repaired Repair
	readOnly bool

	writing sync.Mutex
	broken  error  // why nothing more can be appended
	dirty   bool   // something is not synced
	marked  bool   // unsynced says so
	suspect bool   // and an earlier process wrote it: from message first on, a sync of it may have failed
	first   uint64 // if suspect
	records []byte
	index   []byte

	mu  sync.RWMutex // held for writing by Null while it changes bytes
	n   uint64       // messages
	end int64        // of their bytes in data
}

var _ feed.Backend = (*backend)(nil)

// Append implements feed.Backend.
func (b *backend) Append(_ context.Context, d kv.Durability, messages [][]byte) (first uint64, err error) {
	return b.append(d, messages, false)
}

// append is Append. If erased is set, a message that is nil is one that was erased.
func (b *backend) append(d kv.Durability, messages [][]byte, erased bool) (first uint64, err error) {
	b.writing.Lock()
	defer b.writing.Unlock()
	if int(d) >= len(Promises) {
		return 0, wrap("append", b.dir, &kv.Error{Kind: kv.Invalid, Err: errors.New("unknown class of durability")})
	}
	if b.broken != nil {
		return 0, wrap("append", b.dir, b.broken)
	}
	end := b.lay(messages, erased)
	if err := b.commit(d, b.n+uint64(len(messages))); err != nil {
		return 0, wrap("append", b.dir, err)
	}
	first = b.n
	b.mu.Lock()
	b.n, b.end = b.n+uint64(len(messages)), end
	b.mu.Unlock()
	if cap(b.records) > 8<<20 {
		b.records, b.index = nil, nil // of an unusually large append
	}
	return first, nil
}

// lay puts what is to be written to data and ofst into memory, and returns where data will end.
func (b *backend) lay(messages [][]byte, erased bool) (end int64) {
	b.records, b.index, end = b.records[:0], b.index[:0], b.end
	for _, m := range messages {
		b.index = binary.BigEndian.AppendUint64(b.index, uint64(end))
		length := uint64(len(m))
		if m == nil && erased {
			m, length = []byte{0}, ^uint64(0) // -1: of no bytes it would be an empty one
		}
		b.records = binary.BigEndian.AppendUint64(b.records, length)
		b.records = append(b.records, m...)
		end += headerSize + int64(len(m))
	}
	return end
}

// commit writes what was laid out; the log will have n messages.
func (b *backend) commit(d kv.Durability, n uint64) error {
	before := b.mark
	if d == kv.Synced {
		before = b.rewrite
	}
	if err := before(); err != nil {
		return err
	}
	_, err := b.data.WriteAt(b.records, b.end)
	if err == nil {
		_, err = b.offsets.WriteAt(b.index, int64(b.n)*offsetSize)
	}
	if err != nil {
		return b.undo(err)
	}
	b.dirty = true
	if d == kv.Synced {
		if err := errors.Join(b.data.Sync(), b.offsets.Sync()); err != nil {
			return b.stop(err)
		}
	}
	if d == kv.Synced && b.n == 0 {
		if err := b.begin(n); err != nil {
			return b.stop(err)
		}
		b.synced()
		return nil
	}
	if err := b.writeJournal(n); err != nil {
		return b.stop(err)
	}
	if d == kv.Synced {
		if err := b.journal.Sync(); err != nil {
			return b.stop(err)
		}
		b.synced()
	}
	return nil
}

func (b *backend) writeJournal(n uint64) error {
	_, err := b.journal.WriteAt(binary.BigEndian.AppendUint64(nil, n-1), 0)
	return err
}

// begin puts the first journal in place of the empty one, whole and durable. To write it into the
// empty one would not do: a power loss may keep the size and not the bytes, and 8 zeros name a
// message.
func (b *backend) begin(n uint64) error {
	journal, err := b.replace(binary.BigEndian.AppendUint64(nil, n-1))
	if err == nil {
		b.journal = journal
	}
	return err
}

// replaceJournal is what b.replace is on a disk. Windows renames nothing over an open file, so the
// old one is closed first.
func (b *backend) replaceJournal(content []byte) (file, error) {
	path := filepath.Join(b.dir, "jrnl")
	f, err := os.OpenFile(path+".new", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = f.WriteAt(content, 0)
	if err = errors.Join(err, f.Sync(), f.Close(), b.journal.Close()); err != nil {
		return nil, err
	}
	b.journal = nil
	if err := os.Rename(path+".new", path); err != nil {
		return nil, err
	}
	if err := driver.SyncDir(b.dir); err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_RDWR, 0)
}

// undo cuts off what an append wrote that failed because of err, before the journal named it.
func (b *backend) undo(err error) error {
	if cut := errors.Join(b.offsets.Truncate(int64(b.n)*offsetSize), b.data.Truncate(b.end)); cut != nil {
		return b.stop(errors.Join(err, cut))
	}
	return err
}

// stop refuses all further appends: what the files hold after err is known only when they are
// opened again. After a sync that failed the kernel may have dropped what was to be synced, and a
// second one would succeed without it.
func (b *backend) stop(err error) error {
	b.broken = &kv.Error{Kind: kv.KindOf(err), Err: err, Hint: "close the log and open it again"}
	return b.broken
}

// Close syncs what is not synced yet and gives up the lock.
func (b *backend) Close() error {
	b.writing.Lock()
	defer b.writing.Unlock()
	var err error
	if b.dirty && b.broken == nil {
		if err = b.rewrite(); err == nil {
			err = errors.Join(b.data.Sync(), b.offsets.Sync(), b.journal.Sync())
		}
		if err == nil {
			b.synced()
		}
	}
	b.broken = &kv.Error{Kind: kv.Closed, Err: errors.New("the log is closed")}
	return wrap("close log", b.dir, errors.Join(err, b.release()))
}

// release closes what was opened. The lock file stays: to remove it would let two processes in.
func (b *backend) release() error {
	var err error
	for _, f := range []file{b.data, b.offsets, b.journal, b.unsynced} {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	return errors.Join(err, b.lock.Unlock())
}
