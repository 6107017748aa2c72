package drivertest

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assaydb/assay/kv"
)

var persistenceCases = []tcase{
	{"a store that was closed and opened again holds everything, for every class", reopens},
	{"a snapshot taken after opening stays as it is while the first commits are written", keepsFirstSnapshot},
	{"settings are told, and are the same each time", tellsSettings},
	{"the size on disk is told", tellsSize},
	{"a backup opens like the store, holds the state of its time and replaces nothing", backsUp},
	{"Compact and Check leave the pairs as they are", compacts},
	{"a path with spaces and signs is the path", opensOddPaths},
}

func reopens(e *env) {
	e.needs(e.info.Caps.Persistent, "nothing outlives Close")
	for _, class := range e.classes {
		open := func() *kv.DB { return e.openAs(class.String(), kv.WithWeakest(class)) }
		big := strings.Repeat("big", 30_000)
		var want []string
		for round := range 3 {
			db := open()
			e.want(db, want...)
			e.must(db.Update(ctx, class, func(tx *kv.Tx) error {
				e.must(tx.Put([]byte("a\x00\xff"), []byte{byte('0' + round)}))
				return tx.Put([]byte("big"), []byte(big))
			}))
			var b kv.Batch
			b.Put([]byte("batch"), []byte{byte('0' + round)})
			b.Put([]byte("empty"), nil)
			e.must(db.Write(ctx, class, &b))
			n := string(rune('0' + round))
			want = []string{"a\x00\xff=" + n, "batch=" + n, "big=" + big, "empty="}
			e.want(db, want...)
			e.must(db.Close())
		}
		db := open()
		e.must(db.Update(ctx, class, func(tx *kv.Tx) error { return tx.Delete([]byte("big")) }))
		e.must(db.Close())
		e.want(open(), want[0], want[1], want[3])
	}
}

// keepsFirstSnapshot is for engines that lay what is new over the files they have opened.
func keepsFirstSnapshot(e *env) {
	e.needs(e.info.Caps.Persistent, "nothing outlives Close")
	e.needs(e.caps.ReadersBlockWriters == kv.Never, "writers may wait for readers")
	class := e.classes[0]
	put := func(db *kv.DB, key, value string) { e.must(db.Put(ctx, class, []byte(key), []byte(value))) }
	db := e.open(kv.WithWeakest(class))
	put(db, "a", "1")
	put(db, "b", "2")
	db = e.reopen(db, kv.WithWeakest(class))
	s, err := db.Snapshot(ctx)
	e.must(err)
	for _, value := range []string{"new", "newer", "newest"} {
		put(db, "a", value)
		put(db, "c", value)
		e.wantScan("the snapshot, beside the commit of "+value, s, kv.Range{}, "a=1", "b=2")
	}
	e.must(s.Close())
	e.want(db, "a=newest", "b=2", "c=newest")
}

func tellsSettings(e *env) {
	db := e.open()
	first := db.Settings()
	for _, s := range first {
		if s.Name == "" || s.Value == "" {
			e.Errorf("setting %q=%q", s.Name, s.Value)
		}
	}
	e.fill(db, "a=1")
	if again := db.Settings(); !slices.Equal(again, first) {
		e.Errorf("settings changed after a write:\n got %v\nwant %v", again, first)
	}
	if again := e.reopen(db).Settings(); !slices.Equal(again, first) {
		e.Errorf("settings changed after reopening:\n got %v\nwant %v", again, first)
	}
}

func tellsSize(e *env) {
	db := e.open()
	for i := range 10 {
		k, _ := numbered(i, 0)
		e.fill(db, string(k)+"="+string(noise(100_000, uint64(i))))
	}
	if e.caps.Persistent {
		db = e.reopen(db)
	}
	size, err := db.Size()
	e.must(err)
	least := int64(900_000)
	if !e.onDisk() {
		least = 0
	}
	if size.Allocated < least || size.Apparent < least || (size.Files > 0) != e.onDisk() {
		e.Errorf("size with a megabyte of random values: got %+v", size)
	}
}

func backsUp(e *env) {
	db := e.open()
	e.fill(db, "a=1", "b=2", "empty=", "big="+strings.Repeat("big", 30_000))
	err := db.Backup(ctx, e.path("backup"))
	if !e.onDisk() && kv.KindOf(err) == kv.Unsupported {
		e.Skipf("%s says: %v", e.Engine, err)
	}
	e.must(err)
	e.fill(db, "a=changed", "c=3")
	e.wantKind("backup to a path that exists", db.Backup(ctx, e.path("backup")), kv.Invalid)
	e.wantKind("backup onto itself", db.Backup(ctx, e.path("db")), kv.Invalid)
	e.want(db, "a=changed", "b=2", "big="+strings.Repeat("big", 30_000), "c=3", "empty=")
	left, err := filepath.Glob(e.path("*.partial*"))
	e.must(err)
	if len(left) > 0 {
		e.Errorf("left behind: %v", left)
	}
	copied := e.openAs("backup")
	e.want(copied, "a=1", "b=2", "big="+strings.Repeat("big", 30_000), "empty=")
	e.must(copied.Check(ctx))
	e.fill(copied, "d=4")
	e.must(copied.Close())
	e.view(db, func(s *kv.Snapshot) { e.wantAbsent("the original", s, "d") })
}

func compacts(e *env) {
	db := e.open()
	e.fill(db, records(500, 0)...)
	var b kv.Batch
	var want []string
	for i := range 500 {
		k, v := numbered(i, 1)
		if i%5 != 0 {
			b.Delete(k)
			continue
		}
		b.Put(k, v)
		want = append(want, string(k)+"="+string(v))
	}
	e.must(db.Write(ctx, e.class, &b))
	e.must(db.Check(ctx))
	e.must(db.Compact(ctx))
	e.want(db, want...)
	e.must(db.Check(ctx))
	e.must(db.Compact(ctx))
	e.fill(db, "zzz=1")
	want = append(want, "zzz=1")
	if e.caps.Persistent {
		db = e.reopen(db)
	}
	e.want(db, want...)
	e.must(db.Check(ctx))
}

func opensOddPaths(e *env) {
	e.needs(e.onDisk(), "the path is only a name")
	name := filepath.Join("new folder", "100% 'odd' #1 & ünï;=+", "db")
	db := e.openAs(name)
	e.fill(db, "a=1")
	e.must(db.Close())
	if _, err := os.Lstat(e.path(name)); err != nil {
		e.Errorf("the store is not where it should be: %v", err)
	}
	db = e.openAs(name)
	e.want(db, "a=1")
	e.must(db.Close())
	entries, err := os.ReadDir(e.dir)
	e.must(err)
	if len(entries) != 1 {
		e.Errorf("opening left %v", entries)
	}
}

// noise returns n bytes that no compression makes smaller.
func noise(n int, seed uint64) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)}).Read(b) // never fails
	return b
}
