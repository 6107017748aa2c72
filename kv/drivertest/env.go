package drivertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync"

	"github.com/assaydb/assay/kv"
)

var ctx = context.Background()

// env is what a case works with.
type env struct {
	T
	*suite
	dir string // an empty folder of this case alone

	mu       sync.Mutex
	steps    []string // what the case did: see did
	failures int
}

// path returns the path of the store called name.
func (e *env) path(name string) string { return filepath.Join(e.dir, name) }

// url returns the URL of the store called name, with params ("mode=ro") beside those of the
// configuration.
func (e *env) url(name string, params ...string) string {
	path := strings.NewReplacer("%", "%25", "?", "%3F").Replace(filepath.ToSlash(e.path(name)))
	u, sep := e.Engine+":"+path, "?"
	for _, p := range append([]string{e.Params}, params...) {
		if p != "" {
			u, sep = u+sep+p, "&"
		}
	}
	return u
}

// params returns the parameters of the configuration.
func (e *env) params() map[string]string {
	values, err := url.ParseQuery(e.Params)
	e.must(err)
	params := map[string]string{}
	for name := range values {
		params[name] = values.Get(name)
	}
	return params
}

// open opens the case's main store with the cheapest class. Only a hang waits as long as patience.
func (e *env) open(needs ...kv.Option) *kv.DB {
	e.Helper()
	return e.openAs("db", needs...)
}

// openAs opens another store of the case.
func (e *env) openAs(name string, needs ...kv.Option) *kv.DB {
	e.Helper()
	usual := []kv.Option{kv.WithWeakest(e.class), kv.WithWait(patience)}
	db, err := kv.Open(ctx, e.url(name), append(usual, needs...)...)
	e.must(err)
	e.did("opened %s, mode %v", e.url(name), db.Mode())
	e.Cleanup(func() { db.Close() })
	return db
}

// reopen closes db and opens its store again.
func (e *env) reopen(db *kv.DB, needs ...kv.Option) *kv.DB {
	e.Helper()
	e.must(db.Close())
	e.did("closed it")
	return e.open(needs...)
}

// needs skips the case where the engine says that it cannot do it.
func (e *env) needs(can bool, what string) {
	e.Helper()
	if !can {
		e.Skipf("%s declares: %s", e.Engine, what)
	}
}

// onDisk tells that the store is a file or folder on this machine.
func (s *suite) onDisk() bool { return s.info.Caps.Persistent && !s.info.Caps.Remote }

func (e *env) must(err error) {
	e.Helper()
	if err != nil {
		e.Fatalf("got error: %v\nwant none", err)
	}
}

// wantKind fails unless err is an error of the kind.
func (e *env) wantKind(what string, err error, want kv.Kind) {
	e.Helper()
	if err == nil || kv.KindOf(err) != want {
		e.Errorf("%s: got error %v, want %v", what, err, want)
	}
}

// fill commits the pairs, written "key=value", as one batch.
func (e *env) fill(db *kv.DB, pairs ...string) {
	e.Helper()
	var b kv.Batch
	for _, p := range pairs {
		k, v, _ := strings.Cut(p, "=")
		b.Put([]byte(k), []byte(v))
	}
	e.must(db.Write(ctx, e.class, &b))
	e.did("committed %q as %v", clip(pairs), e.class)
}

// update runs fn in a transaction. What fails in fn ends the case.
func (e *env) update(db *kv.DB, fn func(*kv.Tx)) {
	e.Helper()
	e.did("an Update, to be %v:", e.class)
	e.must(db.Update(ctx, e.class, func(tx *kv.Tx) error { fn(tx); return nil }))
}

// set makes writes, "key=value" or "-key".
func (e *env) set(w kv.Writer, writes ...string) {
	e.Helper()
	e.must(set(w, writes...))
}

func set(w kv.Writer, writes ...string) (err error) {
	for _, one := range writes {
		if k, ok := strings.CutPrefix(one, "-"); ok {
			err = errors.Join(err, w.Delete([]byte(k)))
		} else {
			k, v, _ := strings.Cut(one, "=")
			err = errors.Join(err, w.Put([]byte(k), []byte(v)))
		}
	}
	return err
}

// view runs fn on a snapshot. What fails in fn ends the case.
func (e *env) view(db *kv.DB, fn func(*kv.Snapshot)) {
	e.Helper()
	e.did("a View:")
	e.must(db.View(ctx, func(s *kv.Snapshot) error { fn(s); return nil }))
}

// want fails unless db holds exactly the pairs, written "key=value", in this order.
func (e *env) want(db *kv.DB, pairs ...string) {
	e.Helper()
	e.view(db, func(s *kv.Snapshot) {
		e.wantScan("the store", s, kv.Range{}, pairs...)
	})
	for _, p := range pairs {
		k, v, _ := strings.Cut(p, "=")
		if got, err := db.Get(ctx, []byte(k)); string(got) != v || err != nil {
			e.Errorf("get %q without a snapshot: got %q, %v; want %q", k, clip([]string{string(got)}), err,
				clip([]string{v}))
		}
	}
}

// wantScan fails unless a scan of r gives exactly the pairs, and Get agrees on each.
func (e *env) wantScan(what string, s *kv.Snapshot, r kv.Range, pairs ...string) {
	e.Helper()
	var got []string
	for k, v := range s.Scan(r) {
		got = append(got, string(k)+"="+string(v))
	}
	if err := s.Err(); err != nil {
		e.Errorf("%s: scan %s: %v", what, show(r), err)
		return
	}
	if strings.Join(got, "\x00") != strings.Join(pairs, "\x00") || len(got) != len(pairs) {
		e.Errorf("%s: scan %s:\n got %q\nwant %q", what, show(r), clip(got), clip(pairs))
	}
	for _, p := range pairs {
		k, v, _ := strings.Cut(p, "=")
		e.wantGet(what, s, k, v)
	}
}

func (e *env) wantGet(what string, s *kv.Snapshot, key, want string) {
	e.Helper()
	if got, err := s.Get([]byte(key)); err != nil || string(got) != want {
		e.Errorf("%s: get %q: got %q, %v, want %q", what, key, clipString(string(got)), err, clipString(want))
	}
}

func (e *env) wantAbsent(what string, s *kv.Snapshot, key string) {
	e.Helper()
	if got, err := s.Get([]byte(key)); kv.KindOf(err) != kv.NotFound {
		e.Errorf("%s: get %q: got %q, %v, want not found", what, key, clipString(string(got)), err)
	}
}

// show writes a range as an interval.
func show(r kv.Range) string {
	bound := func(b []byte) string {
		if b == nil {
			return "nil"
		}
		return fmt.Sprintf("%q", b)
	}
	s := "[" + bound(r.Start) + ", " + bound(r.End) + ")"
	if r.Reverse {
		s += " reverse"
	}
	return s
}

// clip keeps failure messages readable.
func clip(list []string) []string {
	out := make([]string, 0, min(len(list), 20))
	for _, s := range list[:min(len(list), 20)] {
		out = append(out, clipString(s))
	}
	if len(list) > 20 {
		out = append(out, fmt.Sprintf("... %d in all", len(list)))
	}
	return out
}

func clipString(s string) string {
	if len(s) > 60 {
		return fmt.Sprintf("%s... (%d bytes)", s[:60], len(s))
	}
	return s
}

// numbered returns key and value of record i; the value differs with version.
func numbered(i, version int) (key, value []byte) {
	return fmt.Appendf(nil, "key%06d", i), fmt.Appendf(nil, "value %d of version %d", i, version)
}

// records returns the records from 0 to n-1, written "key=value".
func records(n, version int) []string {
	list := make([]string, n)
	for i := range list {
		k, v := numbered(i, version)
		list[i] = string(k) + "=" + string(v)
	}
	return list
}

// overwrite fills b with rubbish.
func overwrite(b ...[]byte) {
	for _, p := range b {
		copy(p, bytes.Repeat([]byte{0xdb}, len(p)))
	}
}
