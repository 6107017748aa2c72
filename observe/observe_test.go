package observe_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/assaydb/assay/engines/bboltkv"
	_ "github.com/assaydb/assay/engines/pebblekv"
	_ "github.com/assaydb/assay/engines/sqlitekv"
	"github.com/assaydb/assay/kv"
	_ "github.com/assaydb/assay/kv/memkv"
	"github.com/assaydb/assay/observe"
)

// TestMain commits to the store of another process if it is asked to.
func TestMain(m *testing.M) {
	if url := os.Getenv("OBSERVE_COMMIT_TO"); url != "" {
		db, err := kv.Open(context.Background(), url)
		if err == nil {
			err = errors.Join(db.Put(context.Background(), kv.Flushed, []byte("theirs"), fmt.Append(nil, os.Getpid())),
				db.Close())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// open opens a store with an observer.
func open(t *testing.T, url string, o *observe.Options, options ...kv.Option) (*kv.DB, *observe.Observer) {
	t.Helper()
	observer := observe.New(o)
	db, err := kv.Open(t.Context(), url, append(options, kv.WithTracer(observer))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		db.Close()
		observer.Close()
	})
	return db, observer
}

func mem(t *testing.T, o *observe.Options) (*kv.DB, *observe.Observer) {
	t.Helper()
	return open(t, "mem:", o, kv.WithWeakest(kv.Buffered))
}

func put(t *testing.T, db *kv.DB, key, value string) {
	t.Helper()
	if err := db.Put(t.Context(), db.Caps().Cheapest(), []byte(key), []byte(value)); err != nil {
		t.Fatal(err)
	}
}

// opOf returns the figures of one operation of any class.
func opOf(f observe.Figures, op string) observe.Op {
	i := slices.IndexFunc(f.Ops, func(o observe.Op) bool { return o.Op == op })
	if i < 0 {
		return observe.Op{}
	}
	return f.Ops[i]
}

// counts tells what f counted: op class count/pairs/bytes and failures.
func counts(f observe.Figures) string {
	var list []string
	for _, op := range f.Ops {
		text := fmt.Sprintf("%s %d/%d/%d", strings.TrimSpace(op.Op+" "+op.Class), op.Count, op.Pairs, op.Bytes)
		for _, kind := range slices.Sorted(maps.Keys(op.Failed)) {
			text += fmt.Sprintf(" %s %d", kind, op.Failed[kind])
		}
		if op.Count > 0 {
			list = append(list, text)
		}
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

func TestEveryOperationIsCountedWithItsOutcome(t *testing.T) {
	db, o := mem(t, nil)
	put(t, db, "a", "12")
	put(t, db.Namespace([]byte("n")), "b", "345")
	_, _ = db.Get(t.Context(), []byte("a"))
	_, _ = db.Get(t.Context(), []byte("absent"))
	_ = db.Put(t.Context(), kv.Buffered, nil, nil)
	_ = db.Update(t.Context(), kv.Buffered, func(tx *kv.Tx) error {
		return errors.Join(tx.Put([]byte("c"), []byte("6")), tx.Delete([]byte("a")))
	})
	_ = db.Update(t.Context(), kv.Buffered, func(*kv.Tx) error { return errors.New("no") })
	want := "commit buffered 1/2/3, delete 1/1/1, get 2/1/3 not found 1, open 1/0/0, put 1/1/2, update buffered 2/0/0 error 1, " +
		"view 2/0/0 not found 1, write buffered 3/3/7 invalid 1"
	before := o.Figures()
	if got := counts(before); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	put(t, db, "d", "7")
	_, _ = db.Get(t.Context(), []byte("absent"))
	if got, want := counts(o.Figures().Since(before)), "get 1/0/0 not found 1, view 1/0/0 not found 1, write buffered 1/1/2"; got != want {
		t.Errorf("since then: got  %s\nwant %s", got, want)
	}
	if got := counts(before.Since(before)); got != "" {
		t.Errorf("since itself: got %s", got)
	}
}

// TestWhatTheEngineCountsIsOfNow asks twice within the second in which the files are not looked at
// again: syncs of two seconds, shown as those of one, would be twice as many.
func TestWhatTheEngineCountsIsOfNow(t *testing.T) {
	db, o := open(t, "pebble:"+t.TempDir()+"/db", &observe.Options{Every: -1})
	syncs := func() int64 {
		f := o.Figures()
		i := slices.IndexFunc(f.Counted, func(one observe.Figure) bool { return one.Name == kv.Syncs })
		if i < 0 {
			t.Fatalf("no syncs in %+v", f.Counted)
		}
		return f.Counted[i].Value
	}
	before := syncs()
	for range 5 {
		if err := db.Put(t.Context(), kv.Synced, []byte("a"), []byte("b")); err != nil {
			t.Fatal(err)
		}
	}
	if n := syncs() - before; n < 4 { // Pebble counts the last one after its commit has returned
		t.Errorf("%d syncs of 5 synced commits", n)
	}
}

func TestNothingIsMissedOfManyAtOnce(t *testing.T) {
	db, o := open(t, "pebble:"+t.TempDir()+"/db", nil)
	const workers, each = 8, 200
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := range each {
				key := fmt.Appendf(nil, "%d/%d", w, i)
				err := errors.Join(db.Put(t.Context(), kv.Buffered, key, key),
					db.View(t.Context(), func(s *kv.Snapshot) error { _, err := s.Get(key); return err }))
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	stop := make(chan struct{})
	looks := make(chan struct{})
	go func() {
		defer close(looks)
		for {
			select {
			case <-stop:
				return
			default:
				_ = o.Figures()
			}
		}
	}()
	all.Wait()
	close(stop)
	<-looks
	f := o.Figures()
	for _, op := range []string{"write", "view", "get"} {
		if got := opOf(f, op); got.Count != workers*each || got.Failed != nil {
			t.Errorf("%s: got %d, %v, want %d", op, got.Count, got.Failed, workers*each)
		}
	}
	if len(f.Running) != 0 {
		t.Errorf("still running: %v", f.Running)
	}
}

func TestSlowOperationsAreToldOfAndTheLastAreKept(t *testing.T) {
	var text bytes.Buffer
	db, o := mem(t, &observe.Options{Slow: 1, Every: -1, Logger: slog.New(slog.NewJSONHandler(&text, nil))})
	for i := range 50 {
		put(t, db, fmt.Sprint("k", i), "value")
	}
	_, _ = db.Get(t.Context(), []byte("absent"))
	f := o.Figures()
	if f.SlowTotal != 53 || len(f.Slow) != 32 { // with the opening
		t.Fatalf("got %d, %d kept", f.SlowTotal, len(f.Slow))
	}
	get, view := f.Slow[30], f.Slow[31]
	if get.Op != "get" || get.Within != "view" || get.Err != "not found" || get.Took <= 0 || view.Op != "view" ||
		view.Within != "" {
		t.Errorf("got %+v, %+v", get, view)
	}
	if w := f.Slow[29]; w.Op != "write" || w.Class != "buffered" || w.Pairs != 1 || w.Bytes != 8 {
		t.Errorf("got %+v", w)
	}
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	var last map[string]any
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || len(lines) != 53 {
		t.Fatal(len(lines), err)
	}
	delete(last, "time")
	if took, ok := last["took"].(float64); !ok || took <= 0 {
		t.Errorf("took %v", last["took"])
	}
	delete(last, "took")
	if want := map[string]any{"level": "WARN", "msg": "slow", "op": "view", "err": "not found", "engine": "mem",
		"path": ""}; !reflect.DeepEqual(last, want) {
		t.Errorf("got  %v\nwant %v", last, want)
	}
	quiet, o := mem(t, &observe.Options{Slow: -1})
	put(t, quiet, "k", "v")
	if f := o.Figures(); f.SlowTotal != 0 {
		t.Errorf("told of %d, though nobody asked", f.SlowTotal)
	}
}

func TestWhatIsHeldIsListedWithWhereItBegan(t *testing.T) {
	var text bytes.Buffer
	db, o := mem(t, &observe.Options{Long: 1, Every: -1, Where: true,
		Logger: slog.New(slog.NewTextHandler(&text, nil))})
	s, err := db.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.Begin(t.Context(), kv.Buffered)
	if err != nil {
		t.Fatal(err)
	}
	err = db.View(t.Context(), func(*kv.Snapshot) error {
		f := o.Figures()
		if len(f.Running) != 3 || f.Lasting != 3 {
			t.Fatalf("got %+v", f.Running)
		}
		for i, op := range []string{"held snapshot", "held transaction", "view"} {
			r := f.Running[i]
			if r.Op != op || r.For <= 0 || len(r.Where) == 0 ||
				!strings.Contains(r.Where[0], "TestWhatIsHeldIsListedWithWhereItBegan") {
				t.Errorf("%d: got %+v", i, r)
			}
		}
		return nil
	})
	if err := errors.Join(err, s.Close(), tx.Commit(), tx.Rollback()); err != nil {
		t.Fatal(err)
	}
	if f := o.Figures(); len(f.Running) != 0 || opOf(f, "held snapshot").Count != 1 ||
		opOf(f, "held transaction").Count != 1 {
		t.Errorf("got %s, running %v", counts(f), f.Running)
	}
	for _, op := range []string{"held snapshot", "held transaction", "view"} {
		if want := fmt.Sprintf("msg=\"held for long\" op=%q",
			op); strings.Count(strings.ReplaceAll(text.String(), "op=view", `op="view"`), want) != 1 {
			t.Errorf("%s is not told of once:\n%s", op, &text)
		}
	}
	forgotten, o := mem(t, nil)
	if _, err := forgotten.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := forgotten.Close(); kv.KindOf(err) != kv.Invalid {
		t.Errorf("a snapshot that is open at the end: %v", err)
	}
	if f := o.Figures(); len(f.Running) != 0 || !f.Closed || opOf(f, "close").Failed["invalid"] != 1 {
		t.Errorf("after the end of the store: %s, running %+v", counts(f), f.Running)
	}
}

func TestWaitsAreOperations(t *testing.T) {
	url := "sqlite:" + filepath.Join(t.TempDir(), "db")
	db, o := open(t, url, nil, kv.WithWait(time.Millisecond))
	other, _ := open(t, url, nil)
	put(t, db, "k", "v")
	tx, err := other.Begin(t.Context(), kv.Flushed)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Put(t.Context(), kv.Flushed, []byte("k"), nil); kv.KindOf(err) != kv.Busy {
		t.Errorf("got %v", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if f := o.Figures(); opOf(f, "lock").Failed["busy"] != 1 || opOf(f, "lock").Latency.Max < time.Millisecond {
		t.Errorf("got %s, %v", counts(f), opOf(f, "lock").Latency)
	}
	if tx, err = db.Begin(t.Context(), kv.Flushed); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	waits := make(chan error)
	go func() { waits <- db.Put(ctx, kv.Flushed, []byte("k"), nil) }()
	cancel()
	if err := errors.Join(<-waits, tx.Rollback()); kv.KindOf(err) != kv.Canceled {
		t.Errorf("got %v", err)
	}
	if f := o.Figures(); opOf(f, "turn").Failed["canceled"] != 1 {
		t.Errorf("got %s", counts(f))
	}
}

func TestAnotherProcessIsSeen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	db, o := open(t, "sqlite:"+path, &observe.Options{Every: time.Millisecond})
	put(t, db, "own", "1")
	written := time.Now() // only a look after that knows from which commit on others' are counted
	if f := await(t, o, func(f observe.Figures) bool { return f.Store.At.After(written) }); f.Store.Foreign != 0 ||
		!f.Store.Watched {
		t.Errorf("before: %+v", f.Store)
	}
	commit(t, "sqlite:"+path)
	if f := await(t, o, func(f observe.Figures) bool { return f.Store.Foreign > 0 }); f.Store.Foreign != 1 ||
		f.Store.Last.IsZero() {
		t.Errorf("after: %+v", f.Store)
	}
}

func TestAReaderSeesAWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	commit(t, "sqlite:"+path)
	_, o := open(t, "sqlite:"+path+"?mode=ro", &observe.Options{Every: time.Millisecond})
	await(t, o, func(f observe.Figures) bool { return !f.Store.At.IsZero() })
	commit(t, "sqlite:"+path)
	await(t, o, func(f observe.Figures) bool { return f.Store.Foreign > 0 })
}

// commit has another process commit to a store.
func commit(t *testing.T, url string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "OBSERVE_COMMIT_TO="+url)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// await returns the first figures for which is holds; the test's own time is its limit.
func await(t *testing.T, o *observe.Observer, is func(observe.Figures) bool) observe.Figures {
	t.Helper()
	for {
		f := o.Figures()
		if is(f) {
			return f
		}
		select {
		case <-t.Context().Done():
			t.Fatal("it did not come")
		case <-time.After(time.Millisecond):
		}
	}
}

func TestSizeLogAndTheEnginesOwnFiguresAreTold(t *testing.T) {
	db, o := open(t, "pebble:"+t.TempDir()+"/db", &observe.Options{Every: -1})
	for range 4 { // Pebble counts the last sync after its commit has returned
		if err := db.Put(t.Context(), kv.Synced, []byte("k"), make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
	}
	f := o.Figures()
	if f.Engine != "pebble" || f.Mode != "exclusive" || f.Store.Size.Files == 0 || f.Store.Log < 3000 ||
		f.Store.Watched {
		t.Errorf("got %+v", f)
	}
	for _, name := range []string{kv.Syncs, kv.SyncTime, kv.LogBytes} {
		i := slices.IndexFunc(f.Counted, func(n kv.Figure) bool { return n.Name == name })
		if i < 0 || f.Counted[i].Value < 3 {
			t.Errorf("%s is not told: %v", name, f.Counted)
		}
	}
	text, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	var back observe.Figures
	if err := json.Unmarshal(text, &back); err != nil || counts(back) != counts(f) || back.Store.Size != f.Store.Size {
		t.Errorf("through JSON: %v, %s", err, counts(back))
	}
	if got := counts(back.Since(f)); got != "" {
		t.Errorf("the same figures through JSON differ: %s", got)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if f := o.Figures(); !f.Closed || f.Store.Size.Files == 0 {
		t.Errorf("after Close: %+v", f)
	}
}

func TestFilesThatAreGoneAreMissed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	_, o := open(t, "bbolt:"+path, &observe.Options{Every: time.Millisecond})
	if f := await(t, o, func(f observe.Figures) bool { return !f.Store.At.IsZero() }); f.Store.Missing {
		t.Errorf("before: %+v", f.Store)
	}
	if err := os.Remove(path); err != nil {
		t.Skipf("NOT TESTED: a file that is open cannot be removed here: %v", err)
	}
	if f := await(t, o, func(f observe.Figures) bool { return f.Store.Missing }); f.Store.Foreign != 1 {
		t.Errorf("after: %+v", f.Store)
	}
}
