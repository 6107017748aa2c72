package bboltkv_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/assaydb/assay/engines/bboltkv"
	"github.com/assaydb/assay/kv"
	_ "github.com/assaydb/assay/kv/memkv"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// raw opens a file with bbolt itself.
func raw(t *testing.T, path string, o *bolt.Options) *bolt.DB {
	t.Helper()
	h, err := bolt.Open(path, 0o600, o)
	must(t, err)
	t.Cleanup(func() { h.Close() })
	return h
}

// foreign makes a file as another program would: users, with a bucket within, and settings.
func foreign(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "theirs.db")
	h := raw(t, path, nil)
	must(t, h.Update(func(tx *bolt.Tx) error {
		users, err := tx.CreateBucket([]byte("users"))
		must(t, err)
		sessions, err := users.CreateBucket([]byte("karl:sessions"))
		must(t, err)
		_, err = tx.CreateBucket([]byte("settings"))
		return errors.Join(err, users.Put([]byte("ada"), []byte("1")), users.Put([]byte("karl"), []byte("2")),
			users.Put([]byte("zoe"), nil), sessions.Put([]byte("s1"), []byte("today")))
	}))
	must(t, h.Close())
	return path
}

func wantPairs(t *testing.T, db *kv.DB, want string) {
	t.Helper()
	for _, r := range []kv.Range{{}, {Reverse: true}} {
		var got []string
		must(t, db.View(ctx, func(s *kv.Snapshot) error {
			for k, v := range s.Scan(r) {
				got = append(got, fmt.Sprintf("%s=%s", k, v))
			}
			return nil
		}))
		if r.Reverse {
			for i, j := 0, len(got)-1; i < j; i, j = i+1, j-1 {
				got[i], got[j] = got[j], got[i]
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("the store holds %q (reverse %v), want %q", got, r.Reverse, want)
		}
	}
}

func TestAFileWithOtherBucketsIsRefused(t *testing.T) {
	path := foreign(t)
	for _, params := range []string{"", "?mode=ro", "?Bucket=user", "?Bucket=users/karl"} {
		_, err := kv.Open(ctx, "bbolt:"+path+params)
		if !errors.Is(err, kv.Invalid) || !strings.Contains(err.Error(), `"settings", "users"`) ||
			!strings.Contains(kv.HintOf(err), "?Bucket=") {
			t.Errorf("%q: got %v, want invalid with the buckets, and the option in a hint", params, err)
		}
	}
	for _, params := range []string{"?Bucket=", "?Bucket=users/"} {
		if _, err := kv.Open(ctx, "bbolt:"+path+params); !errors.Is(err, kv.Invalid) || kv.HintOf(err) == "" {
			t.Errorf("%q: got %v, want invalid with a hint", params, err)
		}
	}
}

func TestABucketOfAnotherProgramIsAStore(t *testing.T) {
	path := foreign(t)
	db := open(t, path, "?Bucket=users")
	wantPairs(t, db, "ada=1 karl=2 zoe=")
	if _, err := db.Get(ctx, []byte("karl:sessions")); !errors.Is(err, kv.NotFound) {
		t.Errorf("a bucket within: got %v, want not found", err)
	}
	err := db.Put(ctx, kv.Synced, []byte("karl:sessions"), nil)
	if !errors.Is(err, kv.Invalid) || kv.HintOf(err) == "" {
		t.Errorf("a put over a bucket: got %v, want invalid with a hint", err)
	}
	must(t, db.Put(ctx, kv.Synced, []byte("bea"), nil))
	must(t, db.Update(ctx, kv.Synced, func(tx *kv.Tx) error {
		must(t, tx.Put([]byte("carl"), nil))
		if v, err := tx.Get([]byte("carl")); v == nil || err != nil {
			t.Errorf("an empty value within its transaction: %v, %v", v, err)
		}
		return nil
	}))
	must(t, errors.Join(db.Compact(ctx), db.Check(ctx)))
	wantPairs(t, db, "ada=1 bea= carl= karl=2 zoe=")
	must(t, db.Close())
	db = open(t, path, "?Bucket=users/karl:sessions")
	wantPairs(t, db, "s1=today")
	must(t, db.Put(ctx, kv.Synced, []byte("s2"), []byte("now")))
	must(t, db.Close())
	h := raw(t, path, nil)
	must(t, h.View(func(tx *bolt.Tx) error {
		users := tx.Bucket([]byte("users"))
		if v := users.Bucket([]byte("karl:sessions")).Get([]byte("s2")); string(v) != "now" {
			t.Errorf("the other program finds %q", v)
		}
		if tx.Bucket([]byte("settings")) == nil || tx.Bucket(bucketName) != nil {
			t.Error("the file has other buckets than before")
		}
		return nil
	}))
}

func TestANewFileGetsTheBucketThatIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	db := open(t, path, "?Bucket=app/users")
	wantPairs(t, db, "")
	must(t, db.Put(ctx, kv.Synced, []byte("a"), []byte("1")))
	must(t, db.Close())
	h := raw(t, path, nil)
	must(t, h.View(func(tx *bolt.Tx) error {
		if v := tx.Bucket([]byte("app")).Bucket([]byte("users")).Get([]byte("a")); string(v) != "1" {
			t.Errorf("bbolt finds %q", v)
		}
		return nil
	}))
}

func TestOpenTakesBboltsOptions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "db")
	db, err := bboltkv.Open(ctx, path, &bolt.Options{PageSize: 8192, FreelistType: bolt.FreelistMapType, NoSync: true})
	must(t, err)
	settings := fmt.Sprint(db.Settings())
	for _, want := range []string{"{PageSize 8192}", "{FreelistType hashmap}", "{NoSync true}"} {
		if !strings.Contains(settings, want) {
			t.Errorf("settings are %s, want %s", settings, want)
		}
	}
	if db.Caps().Promise(kv.Synced).Supported {
		t.Error("a store with NoSync promises synced")
	}
	fill(t, db, 0, 10)
	h, ok := bboltkv.Handle(db)
	if !ok || h.Path() != path {
		t.Fatalf("the handle is of %v, %v", h, ok)
	}
	must(t, h.View(func(tx *bolt.Tx) error {
		if n := tx.Bucket(bucketName).Stats().KeyN; n != 10 {
			t.Errorf("through the handle there are %d pairs, want 10", n)
		}
		return nil
	}))
	must(t, db.Close())
	db, err = bboltkv.Open(ctx, path, &bolt.Options{ReadOnly: true})
	must(t, err)
	defer db.Close()
	if err := db.Put(ctx, kv.Flushed, []byte("a"), nil); !errors.Is(err, kv.NotWritable) {
		t.Errorf("a put into what was opened read-only: %v", err)
	}
	must(t, db.Check(ctx))
	other, err := kv.Open(ctx, "mem:")
	must(t, err)
	if h, ok := bboltkv.Handle(other); h != nil || ok {
		t.Error("another engine's store has a handle of bbolt")
	}
}

// What a program copies through the handle is not taken for the store's file.
func TestACopyByTheHandleChangesNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "db")
	db := open(t, path, "")
	fill(t, db, 0, 100)
	h, _ := bboltkv.Handle(db)
	must(t, h.View(func(tx *bolt.Tx) error { return tx.CopyFile(filepath.Join(dir, "copy"), 0o600) }))
	must(t, errors.Join(db.Compact(ctx), db.Backup(ctx, filepath.Join(dir, "backup")), db.Check(ctx)))
	fill(t, db, 100, 200)
	must(t, errors.Join(db.Compact(ctx), db.Close()))
	for name, want := range map[string]int{"db": 200, "copy": 100, "backup": 100} {
		if n := count(snapshots(t, open(t, filepath.Join(dir, name), ""), 1)[0]); n != want {
			t.Errorf("%s holds %d pairs, want %d", name, n, want)
		}
	}
}

func TestAWrappedDBIsSharedWithTheProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	h := raw(t, path, nil)
	must(t, h.Update(func(tx *bolt.Tx) error {
		mine, err := tx.CreateBucket([]byte("mine"))
		return errors.Join(err, mine.Put([]byte("m"), []byte("1")))
	}))
	db, err := bboltkv.Wrap(h)
	must(t, err)
	if got, ok := bboltkv.Handle(db); got != h || !ok {
		t.Error("the handle is another one")
	}
	fill(t, db, 0, 100)
	if h.NoSync || db.Caps().Promise(kv.Flushed).Class != kv.Synced {
		t.Error("a commit of the store has changed how the program's are synced")
	}
	mine, err := bboltkv.WrapBucket(h, "mine")
	must(t, err)
	wantPairs(t, mine, "m=1")
	must(t, h.Update(func(tx *bolt.Tx) error { return tx.Bucket(bucketName).Put([]byte("000000"), []byte("theirs")) }))
	if v, err := db.Get(ctx, []byte("000000")); string(v) != "theirs" || err != nil {
		t.Errorf("what the program wrote: %q, %v", v, err)
	}
	must(t, errors.Join(db.Check(ctx), db.Compact(ctx), mine.Close(), db.Close()))
	if err := db.Put(ctx, kv.Synced, []byte("a"), nil); !errors.Is(err, kv.Closed) {
		t.Errorf("a put after Close: %v", err)
	}
	must(t, h.View(func(tx *bolt.Tx) error {
		if n := tx.Bucket(bucketName).Stats().KeyN; n != 100 {
			t.Errorf("there are %d pairs, want 100", n)
		}
		return nil
	}))
	must(t, h.Close())
	if _, err := bboltkv.Wrap(h); err == nil {
		t.Error("a closed DB was wrapped")
	}
}

// The program's own transactions are in the way of the store's calls, which end with their context
// all the same.
func TestCallsOfAWrappedDBEndInTime(t *testing.T) {
	h := raw(t, filepath.Join(t.TempDir(), "db"), nil)
	db, err := bboltkv.Wrap(h)
	must(t, err)
	must(t, db.Put(ctx, kv.Synced, []byte("a"), []byte("1")))
	tx, err := h.Begin(true)
	must(t, err)
	short, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	if err := db.Put(short, kv.Synced, []byte("a"), []byte("2")); !errors.Is(err, kv.Canceled) {
		t.Errorf("a put beside the program's transaction: %v, want canceled", err)
	}
	must(t, tx.Rollback())
	reading, err := h.Begin(false)
	must(t, err)
	bboltkv.SetPatience(t, 50*time.Millisecond)
	if err := db.Put(ctx, kv.Synced, []byte("large"), make([]byte, 4<<20)); !errors.Is(err, kv.InDoubt) {
		t.Errorf("a commit that waits for the program's reader: %v, want in doubt", err)
	}
	must(t, reading.Rollback())
	must(t, db.Close())
	must(t, h.View(func(tx *bolt.Tx) error {
		if v := tx.Bucket(bucketName).Get([]byte("large")); len(v) != 4<<20 {
			t.Errorf("after Close the commit has not ended: %d bytes", len(v))
		}
		return nil
	}))
}
