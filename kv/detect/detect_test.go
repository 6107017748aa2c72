package detect_test

import (
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/detect"

	_ "github.com/assaydb/assay/engines/badgerkv"
	_ "github.com/assaydb/assay/engines/bboltkv"
	_ "github.com/assaydb/assay/engines/buntkv"
	_ "github.com/assaydb/assay/engines/levelkv"
	_ "github.com/assaydb/assay/engines/pebblekv"
	_ "github.com/assaydb/assay/engines/sqlitekv"
	_ "github.com/assaydb/assay/engines/sqlitewasmkv"
)

func create(t *testing.T, rawURL string, class kv.Durability) *kv.DB {
	t.Helper()
	db, err := kv.Open(t.Context(), rawURL)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Put(t.Context(), class, []byte("key"), []byte("value")); err != nil {
		t.Fatal(err)
	}
	return db
}

func TestEveryEngine(t *testing.T) {
	for _, c := range []struct{ engine, options, is, format string }{
		{"bbolt", "", "bbolt", "2"}, {"pebble", "", "pebble", "24"}, {"badger", "", "badger", "8"},
		{"leveldb", "", "leveldb", ""},
		{"bunt", "", "bunt", ""}, {"bunt", "?Frames=false", "bunt", ""},
		{"sqlite", "", "sqlite", ""}, {"sqlite", "?journal_mode=DELETE", "sqlite", ""},
		{"sqlite-wasm", "", "sqlite", ""},
	} {
		t.Run(c.engine+c.options, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "store")
			db := create(t, c.engine+":"+path+c.options, kv.Flushed)
			if runtime.GOOS == "linux" && c.engine != "bunt" {
				if found, err := detect.Path(copyOf(t, path)); err != nil || found.Engine != c.is || found.Locked {
					t.Errorf("a copy of the open store is %v, %v", found, err)
				}
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			found, err := detect.Path(path)
			if err != nil || found.Engine != c.is || found.Locked || found.State == detect.Damaged {
				t.Errorf("found %v, %v", found, err)
			}
			t.Log(found)
			if c.format != "" && found.Format != c.format {
				t.Errorf("format %q, want %q", found.Format, c.format)
			}
		})
	}
}

// copyOf copies a file or folder.
func copyOf(t *testing.T, path string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	if out, err := exec.Command("cp", "-a", path, to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return to
}

func TestStates(t *testing.T) {
	dir := t.TempDir()
	bolt := filepath.Join(dir, "bolt")
	if err := create(t, "bbolt:"+bolt, kv.Synced).Close(); err != nil {
		t.Fatal(err)
	}
	spoil := func(page int64) {
		f, err := os.OpenFile(bolt, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteAt(binary.LittleEndian.AppendUint64(nil, 12345), page*int64(os.Getpagesize())+16+48)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []detect.State{detect.Recovery, detect.Damaged} {
		spoil(map[detect.State]int64{detect.Recovery: 1, detect.Damaged: 0}[want])
		if found, err := detect.Path(bolt); err != nil || found.Engine != "bbolt" || found.State != want {
			t.Errorf("found %v, %v; want %v", found, err, want)
		}
	}

	lite := filepath.Join(dir, "lite")
	db := create(t, "sqlite:"+lite, kv.Synced)
	for _, suffix := range []string{"", "-wal"} { // as a kill leaves them; a file that is open must not be closed here
		if out, err := exec.Command("cp", lite+suffix, filepath.Join(dir, "killed")+
			suffix).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	if found, err := detect.Path(filepath.Join(dir, "killed")); err != nil || found.State != detect.Recovery {
		t.Errorf("found %v, %v; want recovery", found, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if found, err := detect.Path(lite); err != nil || found.State != detect.Clean {
		t.Errorf("found %v, %v; want clean", found, err)
	}
}

func TestLockedByAnother(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells")
	}
	path := filepath.Join(t.TempDir(), "bolt")
	odd := filepath.Join(t.TempDir(), "a[b") // no pattern
	folder := create(t, "pebble:"+odd, kv.Synced)
	if found, err := detect.Path(odd); err != nil || !found.Locked {
		t.Errorf("found %v, %v; want locked", found, err)
	}
	if err := folder.Close(); err != nil {
		t.Fatal(err)
	}
	db := create(t, "bbolt:"+path, kv.Synced)
	if found, err := detect.Path(path); err != nil || !found.Locked {
		t.Errorf("found %v, %v; want locked", found, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if found, err := detect.Path(path); err != nil || found.Locked {
		t.Errorf("found %v, %v; want not locked", found, err)
	}
}

func TestUnknown(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	empty := filepath.Join(dir, "empty")
	if err := errors.Join(os.WriteFile(text, []byte("*2 is not Redis\r\n"), 0o600),
		os.WriteFile(empty, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, text, empty} {
		if found, err := detect.Path(path); !errors.Is(err, detect.ErrUnknown) {
			t.Errorf("%s is %v, %v", path, found, err)
		}
	}
	if _, err := detect.Path(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what does not exist: %v", err)
	}
}
