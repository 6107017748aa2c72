package state

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

// fresh is a new file that is made beside its place. It gets its name when it is whole and synced:
// so a file with its name is whole, whenever the process is killed or the power fails.
type fresh struct {
	f       *file
	db      *kv.DB // nil once it is whole
	batch   kv.Batch
	written time.Time // of all entries
}

// begin begins a new file, which has the mark, so that no file is empty: one that is was cut.
func (f *file) begin(ctx context.Context) (*fresh, error) {
	if err := removeAll(f.fresh); err != nil {
		return nil, err
	}
	db, err := openWhole(ctx, f.freshURL, f.writing.patient)
	if err != nil {
		return nil, errors.Join(err, removeAll(f.fresh))
	}
	n := &fresh{f: f, db: db, written: f.now()}
	n.add(markKey, markValue)
	return n, nil
}

func (n *fresh) add(key, value []byte) {
	n.batch.Put(key, appendEntry(nil, key, value, n.written))
}

// batchSize is how many entries one commit of a migration holds.
const batchSize = 1000

// put puts the entry of a bucket.
func (n *fresh) put(ctx context.Context, b *bucket, key, value []byte) error {
	n.add(append(append([]byte(nil), b.prefix...), key...), value)
	if n.batch.Len() < batchSize {
		return nil
	}
	return n.flush(ctx)
}

// flush commits what was put. The class is the cheapest: the file is synced as a whole.
func (n *fresh) flush(ctx context.Context) error {
	err := n.db.Write(ctx, n.db.Caps().Cheapest(), &n.batch)
	n.batch.Reset()
	return err
}

// finish makes the file whole and durable.
func (n *fresh) finish(ctx context.Context) error {
	err := n.flush(ctx)
	err = errors.Join(err, n.db.Close())
	n.db = nil
	if err == nil {
		err = syncTree(n.f.fresh)
	}
	return err
}

// place gives the file, which is whole, its name.
func (n *fresh) place() error {
	if err := os.Rename(n.f.fresh, n.f.path); err != nil {
		return err
	}
	return driver.SyncDir(filepath.Dir(n.f.path))
}

// drop removes what was not placed.
func (n *fresh) drop() error {
	var err error
	if n.db != nil {
		err = n.db.Close()
	}
	return errors.Join(err, removeAll(n.f.fresh))
}

// build makes an empty file. prepare, which may be nil, makes room for it.
func (f *file) build(ctx context.Context, prepare func() error) (err error) {
	n, err := f.begin(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.drop()) }()
	if err := n.finish(ctx); err != nil {
		return err
	}
	if prepare != nil {
		if err := prepare(); err != nil {
			return err
		}
	}
	return n.place()
}
