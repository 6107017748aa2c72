package levelkv

import (
	"testing"

	"github.com/syndtr/goleveldb/leveldb/storage"
)

// TestNothingIsWrittenAfterAFailedSync lets a sync of one journal fail and then works again, as a
// disk may.
func TestNothingIsWrittenAfterAFailedSync(t *testing.T) {
	w := &watched{Storage: storage.NewMemStorage()}
	f := &files{Storage: w}
	var journals [2]storage.Writer
	for i := range journals {
		var err error
		if journals[i], err = f.Create(storage.FileDesc{Type: storage.TypeJournal, Num: int64(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := journals[0].Write([]byte("a")); err != nil {
		t.Fatal(err)
	}
	w.failSync.Store(true)
	if err := journals[0].Sync(); err == nil {
		t.Fatal("the failed sync is no error")
	}
	w.failSync.Store(false)
	writes, syncs := w.writes.Load(), w.syncs.Load()
	for i, j := range journals {
		if _, err := j.Write([]byte("b")); err == nil || j.Sync() == nil {
			t.Errorf("journal %d was written after the failure", i)
		}
	}
	if w.writes.Load() != writes || w.syncs.Load() != syncs {
		t.Error("the disk was touched after the failure")
	}
	// goleveldb gives up a manifest that CURRENT names when the sync of the folder fails behind the
	// renaming.
	if err := f.Remove(storage.FileDesc{Type: storage.TypeJournal}); err == nil {
		t.Error("a file was removed after the failure")
	}
	if list, err := w.List(storage.TypeJournal); err != nil || len(list) != 2 {
		t.Errorf("%v are left, %v", list, err)
	}
}
