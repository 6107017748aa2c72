package buntkv_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/buntdb"

	_ "github.com/assaydb/assay/engines/buntkv"
	"github.com/assaydb/assay/kv"
)

var ctx = context.Background()

func open(t *testing.T, path, params string) *kv.DB {
	t.Helper()
	db, err := kv.Open(ctx, "bunt:"+path+params)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func put(t *testing.T, db *kv.DB, pairs ...string) {
	t.Helper()
	var b kv.Batch
	for _, p := range pairs {
		k, v, _ := strings.Cut(p, "=")
		b.Put([]byte(k), []byte(v))
	}
	if err := db.Write(ctx, kv.Flushed, &b); err != nil {
		t.Fatal(err)
	}
}

// all returns the pairs, "key=value", in order.
func all(t *testing.T, db *kv.DB, r kv.Range) (pairs []string) {
	t.Helper()
	err := db.View(ctx, func(s *kv.Snapshot) error {
		for k, v := range s.Scan(r) {
			pairs = append(pairs, string(k)+"="+string(v))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return pairs
}

// BuntDB's file is made of lines, of lengths and of text; keys are strings. No byte may mean
// anything there.
func TestAnyBytesSurviveReopening(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	db := open(t, path, "")
	want := []string{"\x00=\x00", "\x00\x00=\r\n", "\n=*3\r\n$3\r\nset\r\n",
		"\r\n=$0\r\n\r\n", "a=", "a\x00=\xc3\x28", "\x80=\x00\x00", "\xff=\xff\xfe", "\xff\xff=é"}
	put(t, db, want...)
	for range 2 {
		if got := all(t, db, kv.Range{}); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Errorf("got %q\nwant %q", got, want)
		}
		if err := errors.Join(db.Check(ctx), db.Close()); err != nil {
			t.Fatal(err)
		}
		db = open(t, path, "")
	}
}

// A scan is read in chunks: every length and every bound near the ends of a chunk.
func TestChunksJoin(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "db"), "")
	var pairs []string
	for i := range 300 {
		pairs = append(pairs, fmt.Sprintf("%03d=%d", i, i))
	}
	put(t, db, pairs...)
	bound := func(i int) []byte { return fmt.Appendf(nil, "%03d", i) }
	for _, n := range []int{1, 20, 21, 22, 148, 149, 150, 276, 277, 278, 299} {
		up := all(t, db, kv.Range{Start: bound(300 - n)})
		in := all(t, db, kv.Range{Start: bound(0), End: bound(n)})
		down := all(t, db, kv.Range{Start: bound(300 - n), Reverse: true})
		below := all(t, db, kv.Range{End: bound(n), Reverse: true})
		for what, got := range map[string][]string{
			"from a start": up, "to an end": in, "down to a start": down, "down from an end": below} {
			seen := map[string]bool{}
			for _, p := range got {
				seen[p] = true
			}
			if len(got) != n || len(seen) != n {
				t.Errorf("%d pairs %s: got %d, %d of them different", n, what, len(got), len(seen))
			}
		}
		if up[0] != pairs[300-n] || in[n-1] != pairs[n-1] || down[0] != pairs[299] ||
			down[n-1] != pairs[300-n] || below[0] != pairs[n-1] || below[n-1] != pairs[0] {
			t.Errorf("%d pairs: wrong ends: %q %q %q %q", n, up[0], in[n-1], down[0], below[0])
		}
	}
}

func TestTheMemoryPathOfBuntDBIsAFile(t *testing.T) {
	t.Chdir(t.TempDir())
	if runtime.GOOS == "windows" {
		t.Skip("a name on Windows has no colon")
	}
	db := open(t, ":memory:", "")
	put(t, db, "a=1")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if got := all(t, open(t, ":memory:", ""), kv.Range{}); len(got) != 1 {
		t.Errorf("after reopening: got %q", got)
	}
}

func TestCompactKeepsTheModeAndTheData(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	db := open(t, path, "")
	for i := range 100 {
		put(t, db, fmt.Sprintf("a=%d", i), "b="+strings.Repeat("x", 1000))
	}
	before, err := db.Size()
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	put(t, db, "c=3")
	after, err := db.Size()
	if err != nil || after.Apparent > before.Apparent/50 {
		t.Errorf("size: %d before, %d after, %v", before.Apparent, after.Apparent, err)
	}
	if err := errors.Join(db.Check(ctx), db.Close()); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the new file: %v, %v, want mode 0600", info.Mode(), err)
	}
	if got := all(t, open(t, path, ""), kv.Range{}); len(got) != 3 || got[0] != "a=99" || got[2] != "c=3" {
		t.Errorf("after reopening: %d pairs, %.20q", len(got), got)
	}
}

func TestTheFileShrinksInTheBackground(t *testing.T) {
	t.Parallel() // most of it is waiting
	path := filepath.Join(t.TempDir(), "db")
	db := open(t, path, "?AutoShrinkMinSize=1000")
	for range 50 {
		put(t, db, "a="+strings.Repeat("x", 1000))
	}
	for deadline := time.Now().Add(long); ; time.Sleep(20 * time.Millisecond) {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() < 2000 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the file has %d bytes and one pair", info.Size())
		}
	}
	if err := errors.Join(db.Check(ctx), db.Close()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path + ".tmp"); err == nil {
		t.Error("Close left the new file of a compaction behind")
	}
}

func TestCheckFindsAFileThatIsNotWhatWasCommitted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	db := open(t, path, "")
	put(t, db, "a=1", "b=2")
	if err := db.Check(ctx); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for what, damaged := range map[string]string{
		"a value":  strings.Replace(string(content), "$1\r\n2", "$1\r\n3", 1),
		"the end":  string(content[:len(content)-3]),
		"a length": strings.Replace(string(content), "$3", "$4", 1),
		"a pair":   string(content) + "*3\r\n$3\r\nset\r\n$1\r\nc\r\n$1\r\n3\r\n",
		"all":      "",
	} {
		if err := os.WriteFile(path, []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := db.Check(ctx); !errors.Is(err, kv.Corrupt) {
			t.Errorf("%s changed: got %v, want corrupt", what, err)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, params := range []string{"SyncPolicy=Sometimes", "AutoShrinkMinSize=-1", "AutoShrinkPercentage=all",
		"AutoShrinkDisabled=perhaps"} {
		path := filepath.Join(t.TempDir(), "db")
		_, err := kv.Open(ctx, "bunt:"+path+"?"+params)
		if !errors.Is(err, kv.Invalid) || kv.HintOf(err) == "" {
			t.Errorf("%s: got %v, want invalid with a hint", params, err)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s: a file was created", params)
		}
	}
}

// The native library reads what the driver wrote, and the driver what it wrote.
func TestTheFileIsBuntDBs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	db := open(t, path, "")
	put(t, db, "a=1")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := buntdb.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	err = raw.Update(func(tx *buntdb.Tx) error {
		if v, err := tx.Get("a"); v != "1" || err != nil {
			t.Errorf("a=%q, %v", v, err)
		}
		_, _, err := tx.Set("b", "2", nil)
		return err
	})
	if err := errors.Join(err, raw.Close()); err != nil {
		t.Fatal(err)
	}
	if got := all(t, open(t, path, ""), kv.Range{}); fmt.Sprint(got) != "[a=1 b=2]" {
		t.Errorf("got %q", got)
	}
}

func TestALinkStaysOne(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "real.db"), filepath.Join(dir, "link.db")
	if err := os.Symlink("real.db", link); err != nil {
		t.Skipf("NOT TESTED: no links here: %v", err)
	}
	db := open(t, link, "")
	put(t, db, "a=1")
	if _, err := kv.Open(ctx, "bunt:"+path, kv.WithWait(0)); !errors.Is(err, kv.Busy) {
		t.Errorf("by its own name it opens a second time: %v", err)
	}
	if err := db.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	put(t, db, "b=2")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(link); to != "real.db" || err != nil {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	if got := all(t, open(t, path, ""), kv.Range{}); fmt.Sprint(got) != "[a=1 b=2]" {
		t.Errorf("got %q", got)
	}
}

func TestReadingNeedsNoLockFileAndNoPermission(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "db")
	raw, err := buntdb.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	err = raw.Update(func(tx *buntdb.Tx) error { _, _, err := tx.Set("a", "1", nil); return err })
	if err := errors.Join(err, raw.Close(), os.Chmod(path, 0o400), os.Chmod(dir, 0o500)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(dir, 0o700) })
	db := open(t, path, "?mode=ro")
	if got := all(t, db, kv.Range{}); fmt.Sprint(got) != "[a=1]" {
		t.Errorf("got %q", got)
	}
	if err := errors.Join(db.Check(ctx), db.Close()); err != nil {
		t.Error(err)
	}
	if files, err := os.ReadDir(dir); len(files) != 1 || err != nil {
		t.Errorf("it left %v, %v", files, err)
	}
	if _, err := kv.Open(ctx, "bunt:"+filepath.Join(dir, "none")+"?mode=ro"); !errors.Is(err, kv.NoStore) {
		t.Errorf("where nothing is: %v", err)
	}
}
