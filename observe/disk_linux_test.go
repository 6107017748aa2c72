package observe

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	_ "github.com/assaydb/assay/engines/bboltkv"
	"github.com/assaydb/assay/kv"
)

func TestFlushesAreThoseOfTheWholeDisk(t *testing.T) {
	const counted = "9 0 9 9 9 9 9 9 0 9 9 0 0 0 0 1684752 73005\n"
	sys := t.TempDir()
	for name, text := range map[string]string{
		"devices/vda/stat": counted, "devices/vda/vda1/stat": "9 0 9 9 9 9 9 9 0 9 9 0 0 0 0 0 0\n",
		"devices/vda/vda1/partition": "1\n",
		"devices/sda/stat":           "9 0 9 9 9 9 9 9 0 9 9 0 0 0 0 0 0\n", // it has no cache to flush
		"devices/sdb/stat":           "9 0 9 9 9 9 9 9 0 9 9\n",             // before Linux 5.5
		"devices/sdc/stat":           "9 0 9 9 9 9 9 9 0 9 9 0 0 0 0 many 0\n",
		"devices/sdd/none":           "",
	} {
		path := filepath.Join(sys, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for number, dir := range map[string]string{"254:0": "vda", "254:1": "vda/vda1", "8:0": "sda", "8:16": "sdb",
		"8:32": "sdc", "8:48": "sdd"} {
		if err := os.Symlink(filepath.Join("devices", dir), filepath.Join(sys, number)); err != nil {
			t.Fatal(err)
		}
	}
	want := Disk{Name: "vda", Flushes: 1_684_752, FlushTime: 73_005 * time.Millisecond}
	for _, number := range []string{"254:0", "254:1"} {
		if d := diskIn(sys, number); d == nil || *d != want {
			t.Errorf("%s: got %+v, want %+v", number, d, want)
		}
	}
	for _, number := range []string{"8:0", "8:16", "8:32", "8:48", "0:35"} {
		if d := diskIn(sys, number); d != nil {
			t.Errorf("%s: got %+v, want nothing", number, d)
		}
	}
}

// TestASyncedCommitFlushesTheDisk looks at the disk of the test's own store.
func TestASyncedCommitFlushesTheDisk(t *testing.T) {
	o := New(nil)
	defer o.Close()
	db, err := kv.Open(t.Context(), "bbolt:"+filepath.Join(t.TempDir(), "app.db"), kv.WithTracer(o))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	put := func() {
		if err := db.Put(t.Context(), kv.Synced, []byte("a"), []byte("b")); err != nil {
			t.Fatal(err)
		}
	}
	put()
	before := o.Figures()
	if before.Store.Disk == nil {
		t.Skip("NOT TESTED: the disk of the tests counts no flushes")
	}
	put()
	now := o.Figures()
	outside, _, _, err := Outside(db.Path())
	if err != nil || outside.Disk == nil || outside.Disk.Flushes < now.Store.Disk.Flushes {
		t.Errorf("from outside: %+v, %v, after %+v", outside.Disk, err, now.Store.Disk)
	}
	d := now.Since(before).Store.Disk
	switch {
	case d == nil || d.Name != before.Store.Disk.Name || d.Flushes < 0:
		t.Errorf("since then: %+v", d)
	case d.Flushes == 0:
		t.Skip("NOT TESTED: a sync does not flush this disk")
	}
}
