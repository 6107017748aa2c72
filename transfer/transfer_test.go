package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/transfer"
	"github.com/assaydb/assay/transfer/transfertest"

	_ "github.com/assaydb/assay/engines/badgerkv"
	_ "github.com/assaydb/assay/engines/bboltkv"
	_ "github.com/assaydb/assay/engines/buntkv"
	_ "github.com/assaydb/assay/engines/levelkv"
	_ "github.com/assaydb/assay/engines/pebblekv"
	_ "github.com/assaydb/assay/engines/sqlitekv"
	_ "github.com/assaydb/assay/engines/sqlitewasmkv"
)

var engines = []string{"badger", "bbolt", "bunt", "leveldb", "pebble", "sqlite", "sqlite-wasm"}

// some are the engines of tests that each engine passes in the same way: a few under -short.
func some() []string {
	if testing.Short() {
		return []string{"bbolt", "pebble", "sqlite"}
	}
	return engines
}

var (
	fill          = transfertest.Fill
	copied        = transfertest.Copied
	equal         = transfertest.Equal
	nothingBeside = transfertest.NothingBeside
)

// TestEveryPairOfEngines: see EveryPair for how to make it larger.
func TestEveryPairOfEngines(t *testing.T) { transfertest.EveryPair(t, engines, engines) }

func small(t *testing.T, engine string) (dir, rawURL string) {
	t.Helper()
	dir = t.TempDir()
	rawURL = engine + ":" + filepath.Join(dir, "old")
	db, err := kv.Open(t.Context(), rawURL)
	if err != nil {
		t.Fatal(err)
	}
	var b kv.Batch
	for i := range 100 {
		b.Put(fmt.Appendf(nil, "%02d", i), fmt.Appendf(nil, "value %d", i))
	}
	if err := errors.Join(db.Write(t.Context(), kv.Synced, &b), db.Close()); err != nil {
		t.Fatal(err)
	}
	return dir, rawURL
}

func TestVerifyNamesDifferences(t *testing.T) {
	ctx := t.Context()
	dir, from := small(t, "bbolt")
	to := "pebble:" + filepath.Join(dir, "new")
	copied(t, from, to, nil)
	db, err := kv.Open(ctx, to)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(ctx, kv.Synced, func(tx *kv.Tx) error {
		return errors.Join(tx.Delete([]byte("03")), tx.Put([]byte("03x"), []byte("new")), tx.Put([]byte("50"), nil),
			tx.Put([]byte("zz"), []byte("last")))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	c, err := transfer.Verify(ctx, from, to, &transfer.Options{Limit: 3})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range c.First {
		got = append(got, fmt.Sprintf("%s %v %v", d.Key, d.A != nil, d.B != nil))
	}
	want := "03 true false, 03x false true, 50 true true"
	if text := strings.Join(got, ", "); text != want || c.Differing != 4 || c.A.Digest == c.B.Digest {
		t.Errorf("differences %q of %d, want %q of 4", text, c.Differing, want)
	}
	swapped, err := transfer.Verify(ctx, to, from, nil)
	if err != nil || swapped.Differing != 4 || swapped.A != c.B || swapped.B != c.A {
		t.Errorf("the other way round: %+v, %v", swapped, err)
	}
}

func TestRangeAndChange(t *testing.T) {
	dir, from := small(t, "sqlite")
	to := "bbolt:" + filepath.Join(dir, "part")
	o := &transfer.Options{Range: kv.Range{Start: []byte("10"), End: []byte("20")}}
	if report := copied(t, from, to, o); report.Pairs != 10 {
		t.Errorf("%d pairs of a range of 10", report.Pairs)
	}
	o.Change = func(k, v []byte) ([]byte, []byte, bool) { return append([]byte("n/"), k...), v, k[1] != '3' }
	to = "bbolt:" + filepath.Join(dir, "changed")
	report := copied(t, from, to, o)
	if report.Pairs != 9 {
		t.Errorf("%d pairs, want 9", report.Pairs)
	}
	equal(t, from, to, o, report)
}

// TestRefusals: each is an error of its kind with nothing at the destination or beside it.
func TestRefusals(t *testing.T) {
	dir, from := small(t, "bbolt")
	there := filepath.Join(dir, "there")
	if err := os.WriteFile(there, []byte("something"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "old-log-wal"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	backwards := func(k, v []byte) ([]byte, []byte, bool) { return []byte{'9' - k[0], '9' - k[1]}, v, true }
	for _, c := range []struct {
		name, from, to string
		o              *transfer.Options
		kind           kv.Kind
	}{
		{"no source", "bbolt:" + filepath.Join(dir, "none"), "pebble:" + filepath.Join(dir, "x"), nil, kv.NoStore},
		{"a source of another engine", "sqlite:" + filepath.Join(dir, "old"), "pebble:" + filepath.Join(dir, "x"), nil,
			kv.Invalid},
		{"an existing destination", from, "pebble:" + there, nil, kv.Invalid},
		{"a log of another file", from, "sqlite:" + filepath.Join(dir, "old-log"), nil, kv.Invalid},
		{"itself", from, from, nil, kv.Invalid},
		{"an unknown engine", from, "nosuch:" + filepath.Join(dir, "x"), nil, kv.Invalid},
		{"an unknown option", from, "pebble:" + filepath.Join(dir, "x") + "?nosuch=1", nil, kv.Invalid},
		{"keys out of order", from, "pebble:" + filepath.Join(dir, "y"), &transfer.Options{Change: backwards},
			kv.Invalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := transfer.Copy(t.Context(), c.from, c.to, c.o)
			if !errors.Is(err, c.kind) {
				t.Fatalf("error %v, want one of kind %v", err, c.kind)
			}
			t.Log(err)
			if path, err := kv.PathOf(c.to); err == nil && c.name != "an existing destination" && c.name != "itself" {
				if _, err := os.Lstat(path); err == nil {
					t.Errorf("%s is there", path)
				}
			}
		})
	}
}

// TestFolderOfAnotherEngine: Pebble and Badger make a store of their own in any folder, and remove
// the files that they do not know.
func TestFolderOfAnotherEngine(t *testing.T) {
	for _, c := range []struct{ is, opened string }{{"badger", "pebble"}, {"pebble", "badger"}, {"leveldb", "badger"},
		{"leveldb", "pebble"}, {"pebble", "leveldb"}} {
		t.Run(c.is+" as "+c.opened, func(t *testing.T) {
			dir, is := small(t, c.is)
			to := "bbolt:" + filepath.Join(dir, "new")
			copied(t, is, to, nil)
			for _, open := range []func(string) (*kv.DB, error){
				func(url string) (*kv.DB, error) { return transfer.OpenExisting(t.Context(), url, transfer.Look) },
				func(url string) (*kv.DB, error) { return transfer.OpenExisting(t.Context(), url, transfer.Change) },
				func(url string) (*kv.DB, error) { return kv.Open(t.Context(), url) },
			} {
				db, err := open(c.opened + ":" + filepath.Join(dir, "old"))
				if !errors.Is(err, kv.Invalid) || !strings.Contains(kv.HintOf(err), "open it as "+c.is+":") {
					t.Errorf("error %v (%s), want one of kind %v that names %s", err, kv.HintOf(err), kv.Invalid, c.is)
				}
				if err == nil {
					if err := db.Close(); err != nil {
						t.Error(err)
					}
				}
			}
			same(t, is, to)
		})
	}
}

// TestGoesOn: a copy that was ended goes on where it stopped; one of a source that has changed
// since begins anew.
func TestGoesOn(t *testing.T) {
	for _, to := range some() {
		t.Run(to, func(t *testing.T) {
			if testing.Short() && to != "sqlite" {
				t.Skip("a folder that is damaged is gone on from as well: without -short")
			}
			dir := t.TempDir()
			from := "bbolt:" + filepath.Join(dir, "old")
			fill(t, from, 40_000)
			o := &transfer.Options{}
			dest := to + ":" + filepath.Join(dir, "new")
			interrupt := func() {
				ctx, cancel := context.WithCancel(t.Context())
				ended := *o
				ended.Progress = func(p transfer.Progress) {
					if p.Phase == "copy" && p.Bytes > 4*1<<20 { // more than can wait: some is committed
						cancel()
					}
				}
				if _, err := transfer.Copy(ctx, from, dest, &ended); !errors.Is(err, kv.Canceled) {
					t.Fatalf("an ended copy: %v", err)
				}
			}
			interrupt()
			report := copied(t, from, dest, o)
			if report.Resumed == 0 || report.Resumed >= report.Pairs {
				t.Errorf("%d of %d pairs were there", report.Resumed, report.Pairs)
			}
			equal(t, from, dest, o, report)

			dest = to + ":" + filepath.Join(dir, "newer")
			interrupt()
			db, err := kv.Open(t.Context(), from)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(db.Put(t.Context(), kv.Synced, []byte{0, 0}, nil), db.Close()); err != nil {
				t.Fatal(err)
			}
			if report = copied(t, from, dest, o); report.Resumed != 0 {
				t.Errorf("%d pairs were taken from a copy of another state", report.Resumed)
			}
			equal(t, from, dest, o, report)
		})
	}
}

// TestDamagedRemainder: what an earlier copy left may be damaged within, as a power cut leaves what
// was never synced.
func TestDamagedRemainder(t *testing.T) {
	for _, to := range some() {
		t.Run(to, func(t *testing.T) {
			if testing.Short() && to != "pebble" {
				t.Skip("a folder has several files to damage: without -short")
			}
			dir := t.TempDir()
			from, dest := "bbolt:"+filepath.Join(dir, "old"), to+":"+filepath.Join(dir, "new")
			fill(t, from, 40_000)
			ctx, cancel := context.WithCancel(t.Context())
			o := &transfer.Options{Progress: func(p transfer.Progress) {
				if p.Phase == "copy" && p.Bytes > 4<<20 {
					cancel()
				}
			}}
			if _, err := transfer.Copy(ctx, from, dest, o); !errors.Is(err, kv.Canceled) {
				t.Fatalf("an ended copy: %v", err)
			}
			damaged := 0
			err := filepath.WalkDir(filepath.Join(dir, ".new.transfer"),
				func(path string, d os.DirEntry, err error) error {
					if err != nil || d.IsDir() {
						return err
					}
					f, err := os.OpenFile(path, os.O_RDWR, 0)
					if err != nil {
						return err
					}
					info, err := f.Stat()
					if size := info.Size(); err == nil && size > 1<<20 {
						damaged++
						_, err = f.WriteAt(make([]byte, 64<<10), size/4&^4095)
					}
					return errors.Join(err, f.Close())
				})
			if err != nil || damaged == 0 {
				t.Fatalf("%d files were damaged, %v", damaged, err)
			}
			equal(t, from, dest, nil, copied(t, from, dest, nil))
		})
	}
}

// TestPagesOfBboltAreFull: keys come in order, and half a page that stays empty would be written
// and read for nothing.
func TestPagesOfBboltAreFull(t *testing.T) {
	dir := t.TempDir()
	from, to := "leveldb:"+filepath.Join(dir, "old"), filepath.Join(dir, "new")
	fill(t, from, 20_000)
	copied(t, from, "bbolt:"+to, nil)
	file, err := bbolt.Open(to, 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	err = file.View(func(tx *bbolt.Tx) error {
		if s := tx.Bucket([]byte("kv")).Stats(); s.LeafInuse*10 < s.LeafAlloc*8 {
			t.Errorf("%d bytes of %d in the leaves are used", s.LeafInuse, s.LeafAlloc)
		}
		return nil
	})
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestOneAtATime: a second copy to the same destination is Busy, and harms nothing.
func TestOneAtATime(t *testing.T) {
	dir, from := small(t, "sqlite")
	dest := "pebble:" + filepath.Join(dir, "new")
	var second error
	o := &transfer.Options{Change: func(k, v []byte) ([]byte, []byte, bool) {
		if string(k) == "50" && second == nil {
			_, second = transfer.Copy(t.Context(), from, dest, nil)
		}
		return k, v, true
	}}
	report := copied(t, from, dest, o)
	if !errors.Is(second, kv.Busy) {
		t.Errorf("a second copy at the same time: %v", second)
	}
	equal(t, from, dest, nil, report)
}

// TestMisfit: keys that are too long are all named before anything is copied, and nothing stays.
func TestMisfit(t *testing.T) {
	ctx := t.Context()
	dir, from := small(t, "pebble")
	db, err := kv.Open(ctx, from)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		err = errors.Join(err, db.Put(ctx, kv.Synced, append([]byte{'k', byte('0' + i)}, make([]byte, 40_000)...), nil))
	}
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(dir, "new")
	for name, try := range map[string]func() error{
		"copy": func() error {
			_, err := transfer.Copy(ctx, from, "bbolt:"+to,
				&transfer.Options{Limit: 2})
			return err
		},
		"plan": func() error {
			_, err := transfer.Plan(ctx, from, "bbolt:"+to,
				&transfer.Options{Limit: 2})
			return err
		},
	} {
		err := try()
		var misfit *transfer.Misfit
		if !errors.Is(err, kv.TooLarge) || !errors.As(err, &misfit) || misfit.Count != 5 || len(misfit.First) != 2 {
			t.Fatalf("%s: %v", name, err)
		}
		if text := err.Error(); !strings.Contains(text, `"k0\x00`) || !strings.Contains(text, "and 3 more") {
			t.Errorf("%s: the error reads %q", name, text)
		}
		if _, err := os.Lstat(to); err == nil {
			t.Errorf("%s made the destination", name)
		}
		nothingBeside(t, to)
	}
}
