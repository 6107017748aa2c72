package detect_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/detect"
)

// filled makes a store of 2 MB whose pairs lie in files, not in logs, and returns its path.
func filled(t *testing.T, engine, options string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store")
	db, err := kv.Open(t.Context(), engine+":"+path+options)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.NewChaCha8([32]byte{1})
	for i := range 20 {
		var b kv.Batch
		for j := range 100 {
			value := make([]byte, 1000)
			_, _ = rng.Read(value) // never fails
			b.Put(fmt.Appendf(nil, "key/%02d/%02d", i, j), value)
		}
		err = errors.Join(err, db.Write(t.Context(), db.Caps().Strongest(), &b))
	}
	if db.Caps().Compacts && db.Caps().Folder {
		err = errors.Join(err, db.Compact(t.Context()))
	}
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	if found, err := detect.Path(path); err != nil || found.State == detect.Damaged {
		t.Fatalf("before it was cut: %v, %v", found, err)
	}
	return path
}

// cut leaves the first bytes of a file, looks, and puts it back.
func cut(t *testing.T, store, name string, size int) (detect.Found, error) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(name, data[:size], 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	found, failed := detect.Path(store)
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return found, failed
}

// TestAFileThatWasCutIsDamaged: its header tells how long it must be.
func TestAFileThatWasCutIsDamaged(t *testing.T) {
	for _, c := range []struct{ engine, options string }{
		{"bbolt", ""}, {"bbolt", "?PageSize=16384"}, {"sqlite", ""}, {"sqlite", "?journal_mode=DELETE&page_size=1024"},
		{"sqlite", "?page_size=65536"},
	} {
		t.Run(c.engine+c.options, func(t *testing.T) {
			path := filled(t, c.engine, c.options)
			// bbolt's file is longer than its pages
			for _, size := range []int{20, 99, 100, 512, 4096, 5000, 16384, 65536, 1 << 20, 1<<20 + 1, 2_000_000} {
				found, err := cut(t, path, path, size)
				if err != nil || found.Engine != c.engine || found.State != detect.Damaged || found.Detail == "" {
					t.Errorf("cut to %d bytes: %v, %v", size, found, err)
				}
			}
			size := int(sizeOf(t, path))
			if found, err := cut(t, path, path, size-1); err != nil || found.State == detect.Clean {
				t.Errorf("cut by a byte: %v, %v", found, err)
			}
			if c.engine == "sqlite" {
				for _, less := range []int{1, 100, 1024, 4096} {
					if found, err := cut(t, path, path, size-less); err != nil || found.State != detect.Damaged {
						t.Errorf("cut by %d bytes: %v, %v", less, found, err)
					}
				}
			}
		})
	}
}

func sizeOf(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// TestPagesInTheLogAreNotMissing: as long as SQLite has not copied its log, the file may lack what
// is in there, and not more.
func TestPagesInTheLogAreNotMissing(t *testing.T) {
	dir := t.TempDir()
	path := filled(t, "sqlite", "")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const page, frame = 4096, 4096 + 24
	for _, c := range []struct {
		missing, logged int
		want            detect.State
	}{{10, 10, detect.Recovery}, {10, 12, detect.Recovery}, {10, 9, detect.Damaged}, {0, 1, detect.Recovery}} {
		name := filepath.Join(dir, "cut")
		err := errors.Join(os.WriteFile(name, data[:len(data)-c.missing*page], 0o600),
			os.WriteFile(name+"-wal", make([]byte, 32+c.logged*frame), 0o600))
		if err != nil {
			t.Fatal(err)
		}
		if found, err := detect.Path(name); err != nil || found.State != c.want {
			t.Errorf("%d pages are missing, and the log has %d: %v, %v, want %s", c.missing, c.logged, found, err, c.want)
		}
	}
}

// TestAFolderThatLacksATable: one that is missing, or was cut, is damaged; one whose list of tables
// was cut is to be recovered or damaged.
func TestAFolderThatLacksATable(t *testing.T) {
	for _, engine := range []string{"pebble", "leveldb", "badger"} {
		t.Run(engine, func(t *testing.T) {
			path := filled(t, engine, "")
			tables := glob(t, path, "*.sst", "*.ldb")
			if len(tables) == 0 {
				t.Fatal("there are no tables")
			}
			for _, name := range tables {
				size := int(sizeOf(t, name))
				for _, size := range []int{0, 1, size / 3, size / 2, size - 5, size - 1} {
					found, err := cut(t, path, name, size)
					if err != nil || found.State != detect.Damaged ||
						!strings.HasPrefix(found.Detail, filepath.Base(name)) {
						t.Errorf("%s cut to %d bytes: %v, %v", filepath.Base(name), size, found, err)
					}
				}
				if err := os.Rename(name, path+".away"); err != nil {
					t.Fatal(err)
				}
				if found, err := detect.Path(path); err != nil || found.State != detect.Damaged {
					t.Errorf("%s is missing: %v, %v", filepath.Base(name), found, err)
				}
				if err := os.Rename(path+".away", name); err != nil {
					t.Fatal(err)
				}
			}
			for _, name := range glob(t, path, "MANIFEST*") {
				for size := range int(sizeOf(t, name)) {
					found, err := cut(t, path, name, size)
					if engine == "badger" && size < 8 && errors.Is(err, detect.ErrUnknown) { // it lacks its head
						continue
					}
					if err != nil || found.State == detect.Clean {
						t.Errorf("%s cut to %d bytes: %v, %v", filepath.Base(name), size, found, err)
					}
				}
			}
			if found, err := detect.Path(path); err != nil || found.State == detect.Damaged {
				t.Errorf("put together again: %v, %v", found, err)
			}
		})
	}
}

func glob(t *testing.T, dir string, patterns ...string) (names []string) {
	t.Helper()
	for _, p := range patterns {
		found, err := filepath.Glob(filepath.Join(dir, p))
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, found...)
	}
	return names
}

// TestABuntFileThatWasCut: with frames, any length tells; without, any but the end of a command.
func TestABuntFileThatWasCut(t *testing.T) {
	for _, options := range []string{"", "?Frames=false"} {
		path := filepath.Join(t.TempDir(), "store")
		db := create(t, "bunt:"+path+options, kv.Flushed)
		err := errors.Join(db.Put(t.Context(), kv.Flushed, []byte("lines"), []byte("\r\n*2\r\n$3\r\ndel\r\n$1\r\nx\r\n")),
			db.Delete(t.Context(), kv.Flushed, []byte("key")), db.Close())
		if err != nil {
			t.Fatal(err)
		}
		if found, err := detect.Path(path); err != nil || found.State != detect.Clean {
			t.Errorf("%s: not cut: %v, %v", options, found, err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		clean := 0
		for size := len("*3\r\n$3\r\nset\r\n"); size < len(data); size++ {
			found, err := cut(t, path, path, size)
			if err != nil || found.Engine != "bunt" {
				t.Errorf("%s: cut to %d bytes of %d: %v, %v", options, size, len(data), found, err)
			}
			if options == "" && size >= 24 && size < 55 && found.State != detect.Damaged { // within the first frame
				t.Errorf("cut to %d bytes: %v", size, found)
			}
			if found.State == detect.Clean {
				clean++
			}
		}
		if most := map[string]int{"?Frames=false": 3}[options]; clean > most { // a value has a command in it
			t.Errorf("%s: clean at %d lengths", options, clean)
		}
	}
}

// TestNothingIsMissingWhileAStoreIsInUse: what a process adds and removes meanwhile is no damage.
func TestNothingIsMissingWhileAStoreIsInUse(t *testing.T) {
	for _, engine := range []string{"bbolt", "pebble", "leveldb", "badger", "bunt"} {
		t.Run(engine, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "store")
			db := create(t, engine+":"+path, kv.Flushed)
			defer db.Close()
			done := make(chan error, 1)
			go func() {
				var err error
				for i := range 30 {
					var b kv.Batch
					for j := range 200 {
						b.Put(fmt.Appendf(nil, "%d/%d", i%3, j), make([]byte, 1000))
					}
					err = db.Write(t.Context(), db.Caps().Cheapest(), &b)
					if err == nil && i%5 == 4 && db.Caps().Compacts {
						err = db.Compact(t.Context())
					}
					if err != nil {
						break
					}
				}
				done <- err
			}()
			for looks := 0; ; looks++ {
				found, err := detect.Path(path)
				if err != nil || found.State == detect.Damaged {
					t.Errorf("look %d: %v, %v", looks, found, err)
				}
				select {
				case err := <-done:
					if err != nil {
						t.Error(err)
					}
					return
				default:
				}
			}
		})
	}
}

// overwrite puts data into the middle of a file.
func overwrite(t *testing.T, path string, data []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt(data, sizeOf(t, path)/2)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestABuntFileThatWasOverwritten is damaged, as what follows shows; one with zeros in its values
// is not.
func TestABuntFileThatWasOverwritten(t *testing.T) {
	for _, options := range []string{"", "?Frames=false"} {
		for name, data := range map[string][]byte{"zeros": make([]byte, 4096), "rubbish": bytes.Repeat([]byte("rubbish\r\n"), 500)} {
			t.Run(options+" "+name, func(t *testing.T) {
				path := filled(t, "bunt", options)
				overwrite(t, path, data)
				found, err := detect.Path(path)
				if err != nil || found.Engine != "bunt" || found.State != detect.Damaged || found.Detail == "" {
					t.Errorf("found %v, %v; want damaged", found, err)
				}
				if db, err := kv.Open(t.Context(), "bunt:"+path+options); !errors.Is(err, kv.Corrupt) {
					t.Errorf("the engine opens it: %v, %v", db, err)
				}
			})
		}
		path := filepath.Join(t.TempDir(), "store")
		db := create(t, "bunt:"+path+options, kv.Flushed)
		for i := range 50 {
			if err := db.Put(t.Context(), kv.Flushed, fmt.Appendf(nil, "%d", i), make([]byte, 10_000)); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if found, err := detect.Path(path); err != nil || found.State != detect.Clean {
			t.Errorf("%s: zeros in values: %v, %v", options, found, err)
		}
	}
}

// TestABuntFileWithOddSizes: a length that no file can have is no reason to panic.
func TestABuntFileWithOddSizes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	for _, text := range []string{"*3\r\n$3\r\nset\r\n$9223372036854775807\r\nx\r\n", "*2\r\n$3\r\ndel\r\n$9223372036854775806\r\n",
		"*2\r\n$3\r\ndel\r\n$99999999999999999999\r\nx\r\n", "*3\r\n$3\r\nset\r\n$0\r\n\r\n$29\r\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if found, err := detect.Path(path); err != nil || found.Engine != "bunt" || found.State == detect.Clean {
			t.Errorf("%q is %v, %v", text, found, err)
		}
	}
}
