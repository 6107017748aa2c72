package statetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/state"
)

func testUpdate(s *suite) {
	store := s.store()
	s.put(store, "a", "x", "0")
	stop := errors.New("stop")
	change := func(tx *state.Tx) error {
		return errors.Join(tx.Put([]byte("x"), []byte("1")), tx.Put([]byte("y"), []byte("1")))
	}
	if err := store.Update(s.Ctx(), "a", func(tx *state.Tx) error {
		return errors.Join(change(tx),
			stop)
	}); !errors.Is(err, stop) {
		s.Errorf("got %v, want the function's error", err)
	}
	func() {
		defer func() {
			if recover() != stop {
				s.Error("the panic did not come through")
			}
		}()
		store.Update(s.Ctx(), "a", func(tx *state.Tx) error { s.Must("put", change(tx)); panic(stop) })
	}()
	s.wantGet(store, "a", "x", "0") // and nobody holds the lock
	s.wantNone(store, "a", "y")
	s.Must("update", store.Update(s.Ctx(), "a", func(tx *state.Tx) error {
		s.Must("put", change(tx))
		if v, err := tx.Get([]byte("x")); string(v) != "1" || err != nil {
			s.Errorf("a transaction does not see its own write: %q, %v", v, err)
		}
		return tx.Delete([]byte("y"))
	}))
	s.wantGet(store, "a", "x", "1")
	s.wantNone(store, "a", "y")
}

func testIn(s *suite) {
	store := s.store()
	s.Must("update", store.Update(s.Ctx(), "a", func(tx *state.Tx) error {
		b, err := tx.In("b")
		s.Must("in", err)
		return errors.Join(tx.Put([]byte("k"), []byte("in a")), b.Put([]byte("k"), []byte("in b")))
	}))
	s.Must("view", store.View(s.Ctx(), "b", func(v *state.View) error {
		a, err := v.In("a")
		s.Must("in", err)
		for view, want := range map[*state.View]string{v: "in b", a: "in a"} {
			if got, err := view.Get([]byte("k")); string(got) != want || err != nil {
				s.Errorf("got %q, %v, want %q", got, err, want)
			}
		}
		for _, other := range []string{"cache", "secret", "nowhere"} {
			_, err := v.In(other)
			s.WantKind("in "+other, err, kv.Invalid)
		}
		return nil
	}))
}

func testOwnership(s *suite) {
	store := s.store()
	key, value := []byte("key"), []byte("value")
	s.Must("update", store.Update(s.Ctx(), "a", func(tx *state.Tx) error {
		s.Must("put", tx.Put(key, value))
		copy(key, "xxx")
		copy(value, "xxxxx")
		got, err := tx.Get([]byte("key"))
		s.Must("get", err)
		copy(got, "yyyyy")
		return nil
	}))
	s.wantGet(store, "a", "key", "value")
	entries, err := store.Scan(s.Ctx(), "a", nil)
	s.Must("scan", err)
	for _, e := range entries {
		copy(e.Key, "zzz")
		copy(e.Value, "zzzzz")
	}
	s.wantGet(store, "a", "key", "value")
}

func testArguments(s *suite) {
	store := s.store()
	s.put(store, "a", "k", "v")
	ctx := s.Ctx()
	_, getErr := store.Get(ctx, "a", nil)
	_, bucketErr := store.Get(ctx, "nowhere", []byte("k"))
	for what, err := range map[string]error{
		"get of the empty key":           getErr,
		"put of the empty key":           store.Put(ctx, "a", nil, []byte("v")),
		"delete of the empty key":        store.Delete(ctx, "a", []byte{}),
		"swap of the empty key":          store.CompareAndSwap(ctx, "a", nil, nil, []byte("v")),
		"get from an unknown bucket":     bucketErr,
		"put into an unknown bucket":     store.Put(ctx, "nowhere", []byte("k"), nil),
		"put into a bucket without name": store.Put(ctx, "", []byte("k"), nil),
	} {
		s.WantKind(what, err, kv.Invalid)
		if kv.HintOf(err) == "" {
			s.Errorf("%s: %v has no hint", what, err)
		}
	}
	if !strings.Contains(kv.HintOf(bucketErr), "a, b, cache, kept, secret") {
		s.Errorf("the hint does not list the buckets: %s", kv.HintOf(bucketErr))
	}
	s.wantKeys(store, "a", "", "k")
}

func testCanceled(s *suite) {
	store := s.store()
	s.put(store, "a", "k", "v")
	ctx, cancel := context.WithCancel(s.Ctx())
	cancel()
	s.WantKind("put", store.Put(ctx, "a", []byte("k"), []byte("w")), kv.Canceled)
	_, err := store.Get(ctx, "a", []byte("k"))
	s.WantKind("get", err, kv.Canceled)
	s.wantGet(store, "a", "k", "v")
}

func testEnded(s *suite) {
	store := s.store()
	var view *state.View
	var tx *state.Tx
	k := []byte("k")
	s.Must("view", store.View(s.Ctx(), "a", func(v *state.View) error { view = v; return nil }))
	_, err := view.Get(k)
	s.WantKind("get on a file that did not exist", err, kv.Closed)
	s.Must("update", store.Update(s.Ctx(), "a", func(t *state.Tx) error { tx = t; return t.Put(k, k) }))
	s.Must("view", store.View(s.Ctx(), "a", func(v *state.View) error { view = v; return nil }))
	_, err = view.Get(k)
	s.WantKind("get", err, kv.Closed)
	s.WantKind("put", tx.Put(k, k), kv.Closed)
	s.WantKind("delete", tx.Delete(k), kv.Closed)
	for _, err := range view.Scan(nil) {
		s.WantKind("scan", err, kv.Closed)
	}
}

func (s *suite) needModes() {
	if runtime.GOOS == "windows" {
		s.Skip("Windows has no such modes")
	}
}

func (s *suite) wantMode(path string, want os.FileMode) {
	s.Helper()
	info, err := os.Stat(path)
	s.Must("stat", err)
	if info.IsDir() && want == 0o600 {
		want = 0o700
	}
	if got := info.Mode().Perm(); got != want {
		s.Errorf("%s has mode %o, want %o", filepath.Base(path), got, want)
	}
}

func testModes(s *suite) {
	s.needModes()
	s.dir = filepath.Join(s.dir, "new")
	store := s.store()
	for _, bucket := range oneOfEach {
		s.put(store, bucket, "k", "v")
	}
	s.wantMode(s.dir, 0o700)
	for _, name := range []string{"state.db", "cache.db", "secrets.db"} {
		s.wantMode(filepath.Join(s.dir, name), 0o600)
	}
}

func testTightened(s *suite) {
	s.needModes()
	store := s.store()
	s.put(store, "secret", "k", "v")
	path := filepath.Join(s.dir, "secrets.db")
	for i, call := range []func(){
		func() { s.wantGet(store, "secret", "k", "v") },
		func() { s.put(store, "secret", "k", "v") },
	} {
		info, err := os.Stat(path)
		s.Must("stat", err)
		s.Must("chmod", os.Chmod(path, info.Mode()|0o044))
		call()
		s.wantMode(path, 0o600)
		if incidents := store.Incidents(); len(incidents) != i+1 || incidents[i].What != "mode tightened" ||
			incidents[i].Path != path {
			s.Errorf("got incidents %v, want one more about %s", incidents, path)
		}
	}
}
