package drivertest

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/assaydb/assay/kv"
)

var modelCases = []tcase{
	{"any sequence of operations does what it does to a sorted map", followsModel},
}

// model is a store and what it should hold.
type model struct {
	e    *env
	name string
	db   *kv.DB
	data map[string]string
}

func followsModel(e *env) {
	checks := "25"
	if testing.Short() {
		checks = "8"
	}
	budget("rapid.checks", checks)
	budget("rapid.steps", "30")
	n := 0
	rapid.Check(e.T, func(t *rapid.T) {
		n++
		m := &model{e: e, name: fmt.Sprintf("model%d", n), data: map[string]string{}}
		m.open(t)
		defer func() { m.db.Close() }()
		t.Repeat(map[string]func(*rapid.T){
			"put":       m.put,
			"delete":    m.delete,
			"write":     m.write,
			"update":    m.update,
			"abort":     m.abort,
			"get":       m.get,
			"scan":      m.scan,
			"reopen":    m.reopen,
			"namespace": m.namespace,
			"":          m.check,
		})
	})
}

// budget sets a flag of rapid, unless the command line does.
func budget(name, value string) {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	if !given {
		_ = flag.Lookup(name).Value.Set(value)
	}
}

var (
	// few keys that often meet, long ones, and any bytes at all
	modelKeys = rapid.OneOf(
		rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]byte{0, 'a', 'b', '\n', 0xc3, 0xff}), 1, 3), toString),
		rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]byte{0, 'a', 'b', '\n', 0xc3, 0xff}), 1, 3), toString),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 1, 40), toString),
		rapid.Just(strings.Repeat("long key ", 20)),
	)
	modelValues = rapid.OneOf(
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 20), toString),
		rapid.Map(rapid.IntRange(0, 6000), func(n int) string { return strings.Repeat("v", n) }),
		rapid.Map(rapid.IntRange(60_000, 70_000), func(n int) string { return strings.Repeat("large", n/5) }),
	)
	modelBounds = rapid.OneOf(rapid.Just[[]byte](nil), rapid.Just([]byte{}),
		rapid.Map(modelKeys, func(k string) []byte { return []byte(k) }))
)

func toString(b []byte) string { return string(b) }

func (m *model) must(t *rapid.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("unexpected error: %v", err)
	}
}

func (m *model) open(t *rapid.T) {
	db, err := kv.Open(ctx, m.e.url(m.name), kv.WithWeakest(m.e.class))
	m.must(t, err)
	m.db = db
}

func (m *model) put(t *rapid.T) {
	k, v := modelKeys.Draw(t, "key"), modelValues.Draw(t, "value")
	m.must(t, m.db.Update(ctx, m.e.class, func(tx *kv.Tx) error { return tx.Put([]byte(k), []byte(v)) }))
	m.data[k] = v
}

func (m *model) delete(t *rapid.T) {
	k := m.anyKey(t)
	m.must(t, m.db.Update(ctx, m.e.class, func(tx *kv.Tx) error { return tx.Delete([]byte(k)) }))
	delete(m.data, k)
}

// anyKey draws a key that often is one of the store's.
func (m *model) anyKey(t *rapid.T) string {
	if keys := sortedKeys(m.data); len(keys) > 0 && rapid.Bool().Draw(t, "present") {
		return rapid.SampledFrom(keys).Draw(t, "key")
	}
	return modelKeys.Draw(t, "key")
}

func (m *model) write(t *rapid.T) {
	var b kv.Batch
	for range rapid.IntRange(0, 8).Draw(t, "size") {
		k := m.anyKey(t)
		if rapid.Bool().Draw(t, "delete") {
			b.Delete([]byte(k))
			delete(m.data, k)
			continue
		}
		v := modelValues.Draw(t, "value")
		b.Put([]byte(k), []byte(v))
		m.data[k] = v
	}
	m.must(t, m.db.Write(ctx, m.e.class, &b))
}

// steps writes in tx and in data, comparing all they hold on the way.
func (m *model) steps(t *rapid.T, tx *kv.Tx, data map[string]string) {
	for range rapid.IntRange(1, 6).Draw(t, "steps") {
		k := m.anyKey(t)
		switch rapid.IntRange(0, 4).Draw(t, "step") {
		case 0:
			m.must(t, tx.Delete([]byte(k)))
			delete(data, k)
		case 1:
			compareGet(t, tx.Snapshot, data, k)
		case 2:
			compareScan(t, tx.Snapshot, data, drawRange(t))
		default:
			v := modelValues.Draw(t, "value")
			m.must(t, tx.Put([]byte(k), []byte(v)))
			data[k] = v
		}
	}
	compareScan(t, tx.Snapshot, data, kv.Range{})
}

func (m *model) update(t *rapid.T) {
	m.must(t, m.db.Update(ctx, m.e.class, func(tx *kv.Tx) error { m.steps(t, tx, m.data); return nil }))
}

func (m *model) abort(t *rapid.T) {
	mine := errors.New("mine")
	data := maps.Clone(m.data)
	err := m.db.Update(ctx, m.e.class, func(tx *kv.Tx) error { m.steps(t, tx, data); return mine })
	if !errors.Is(err, mine) {
		t.Fatalf("update: got %v, want the function's error", err)
	}
}

func (m *model) get(t *rapid.T) {
	k := m.anyKey(t)
	m.must(t, m.db.View(ctx, func(s *kv.Snapshot) error { compareGet(t, s, m.data, k); return nil }))
	want, there := m.data[k]
	if got, err := m.db.Append(ctx, []byte("before "), []byte(k)); k != "" &&
		(string(got) != "before "+want || there != (err == nil) || !there && err != error(kv.NotFound)) {
		t.Fatalf("append %q without a snapshot: got %q, %v; want %q, there: %v", k, got, err, want, there)
	}
}

func (m *model) scan(t *rapid.T) {
	r := drawRange(t)
	m.must(t, m.db.View(ctx, func(s *kv.Snapshot) error { compareScan(t, s, m.data, r); return nil }))
}

func drawRange(t *rapid.T) kv.Range {
	return kv.Range{Start: modelBounds.Draw(t, "start"), End: modelBounds.Draw(t, "end"),
		Reverse: rapid.Bool().Draw(t, "reverse")}
}

func (m *model) reopen(t *rapid.T) {
	if !m.e.caps.Persistent {
		t.Skip("nothing outlives Close")
	}
	m.must(t, m.db.Close())
	m.open(t)
}

// namespace writes and reads through a prefix.
func (m *model) namespace(t *rapid.T) {
	prefix, k, v := modelKeys.Draw(t, "prefix"), modelKeys.Draw(t, "key"), modelValues.Draw(t, "value")
	n := m.db.Namespace([]byte(prefix))
	m.must(t, n.Update(ctx, m.e.class, func(tx *kv.Tx) error { return tx.Put([]byte(k), []byte(v)) }))
	m.data[prefix+k] = v
	inside := map[string]string{}
	for k, v := range m.data {
		if rest, ok := strings.CutPrefix(k, prefix); ok && rest != "" {
			inside[rest] = v
		}
	}
	r := drawRange(t)
	m.must(t, n.View(ctx, func(s *kv.Snapshot) error {
		compareScan(t, s, inside, r)
		compareGet(t, s, inside, k)
		return nil
	}))
}

// check compares everything after each step.
func (m *model) check(t *rapid.T) {
	m.must(t, m.db.View(ctx, func(s *kv.Snapshot) error { compareScan(t, s, m.data, kv.Range{}); return nil }))
}

func sortedKeys(data map[string]string) []string { return slices.Sorted(maps.Keys(data)) }

func compareGet(t *rapid.T, s *kv.Snapshot, data map[string]string, k string) {
	t.Helper()
	got, err := s.Get([]byte(k))
	want, present := data[k]
	if present != (err == nil) || !present && kv.KindOf(err) != kv.NotFound || string(got) != want {
		t.Fatalf("get %q: got %q, %v, want %q, present=%v", k, clipString(string(got)), err, clipString(want), present)
	}
}

func compareScan(t *rapid.T, s *kv.Snapshot, data map[string]string, r kv.Range) {
	t.Helper()
	var want []string
	for _, k := range sortedKeys(data) {
		if k >= string(r.Start) && (r.End == nil || bytes.Compare([]byte(k), r.End) < 0) {
			want = append(want, k)
		}
	}
	if r.Reverse {
		slices.Reverse(want)
	}
	i := 0
	for k, v := range s.Scan(r) {
		if i >= len(want) || string(k) != want[i] || string(v) != data[want[i]] {
			t.Fatalf("scan %s, pair %d: got %q=%q, want keys %q", show(r), i, k, clipString(string(v)), clip(want))
		}
		i++
	}
	if err := s.Err(); err != nil || i != len(want) {
		t.Fatalf("scan %s: got %d pairs, %v, want keys %q", show(r), i, err, clip(want))
	}
}
