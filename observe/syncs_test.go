package observe_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	_ "github.com/assaydb/assay/engines/badgerkv"
	_ "github.com/assaydb/assay/engines/buntkv"
	_ "github.com/assaydb/assay/engines/levelkv"
	_ "github.com/assaydb/assay/engines/sqliteckv"
	_ "github.com/assaydb/assay/engines/sqlitewasmkv"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/powertest"
	"github.com/assaydb/assay/observe"
)

// How an engine tells of its syncs.
const (
	eachSync   = "each"
	eachCommit = "of the commit" // its writes and syncs as one
	none       = "none"
)

// tellsSyncs is how the engines of this module tell, as docs/observe.md says.
var tellsSyncs = map[string]string{"pebble": eachSync, "leveldb": eachSync, "bunt": eachSync, "sqlite": eachSync,
	"sqlite-c": eachSync, "sqlite-wasm": eachSync, "bbolt": eachCommit, "badger": none}

// TestTheDocsSayWhoTellsOfSyncs holds the table of docs/observe.md to the list above.
func TestTheDocsSayWhoTellsOfSyncs(t *testing.T) {
	text, err := os.ReadFile("../docs/observe.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| ([a-z ]+) \\|").FindAllStringSubmatch(string(text), -1) {
		documented[row[1]] = row[2]
	}
	for _, apart := range []string{"moss", "duckdb", "postgres", "etcd"} { // in modules of their own
		if documented[apart] == "" {
			t.Errorf("docs/observe.md says nothing of the syncs of %s", apart)
		}
		delete(documented, apart)
	}
	if !maps.Equal(documented, tellsSyncs) {
		t.Errorf("docs/observe.md says %v, and the engines do %v", documented, tellsSyncs)
	}
	for _, name := range driver.Names() {
		if tellsSyncs[name] == "" && name != "mem" {
			t.Errorf("nothing is said of %s", name)
		}
	}
}

// syncs is a tracer that keeps the syncs.
type syncs struct {
	mu   sync.Mutex
	seen []kv.Event
}

func (s *syncs) Start(ctx context.Context, _ string) context.Context { return ctx }

func (s *syncs) End(_ context.Context, e kv.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.Op == "sync" {
		s.seen = append(s.seen, e)
	}
}

// take returns those since the last time.
func (s *syncs) take() []kv.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.seen
	s.seen = nil
	return seen
}

// onDisk runs a test for the URL of each engine, with a store on a disk that counts.
func onDisk(t *testing.T, test func(t *testing.T, engine, url string, disk *powertest.Disk)) {
	disk := powertest.NewDisk(t, nil)
	for _, engine := range slices.Sorted(maps.Keys(tellsSyncs)) {
		t.Run(engine, func(t *testing.T) {
			if _, ok := driver.Lookup(engine); !ok {
				t.Skipf("NOT TESTED: %s needs cgo", engine)
			}
			url := engine + ":" + filepath.Join(disk.Dir(), engine)
			if engine == "bunt" {
				url += "?SyncPolicy=Never" // of its own accord: each second otherwise
			}
			test(t, engine, url, disk)
		})
	}
}

func openTraced(t *testing.T, url string, options ...kv.Option) (*kv.DB, *syncs) {
	t.Helper()
	s := new(syncs)
	db, err := kv.Open(t.Context(), url, append(options, kv.WithTracer(s))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db, s
}

// TestSyncsAreThoseThatTheDiskCounts commits one after the other, on a disk that counts its syncs.
func TestSyncsAreThoseThatTheDiskCounts(t *testing.T) {
	onDisk(t, func(t *testing.T, engine, url string, disk *powertest.Disk) {
		const commits = 20
		db, told := openTraced(t, url)
		n := 0
		commit := func(class kv.Durability) (events, counted int) {
			t.Helper()
			told.take()
			before := disk.CallsOf(powerfs.OnSync)
			for range commits {
				n++ // SQLite writes nothing for a value that is there
				if err := db.Put(t.Context(), class, []byte("key"), fmt.Append(nil, n)); err != nil {
					t.Fatal(err)
				}
			}
			counted = disk.CallsOf(powerfs.OnSync) - before
			seen := told.take()
			for _, e := range seen {
				if e.Err != nil || e.Took <= 0 {
					t.Errorf("a sync took %v, error %v", e.Took, e.Err)
				}
			}
			return len(seen), counted
		}
		commit(kv.Synced) // the first ones also make what is missing
		events, counted := commit(kv.Synced)
		switch tellsSyncs[engine] {
		case eachSync:
			if events != counted || events < commits {
				t.Errorf("%d synced commits: %d syncs are told, and the disk counts %d", commits, events, counted)
			}
		case eachCommit:
			if events != commits || counted < 2*commits {
				t.Errorf("%d synced commits: %d are told, and the disk counts %d syncs", commits, events, counted)
			}
		default:
			if events != 0 {
				t.Errorf("%d syncs are told", events)
			}
		}
		t.Logf("%d synced commits: %d told, %d on the disk", commits, events, counted)
		cheapest := db.Caps().Cheapest()
		if db.Caps().Promise(cheapest).Class == kv.Synced {
			return // opened for synced commits, it syncs all
		}
		if events, counted := commit(cheapest); events != 0 || counted != 0 {
			t.Errorf("%d %v commits: %d syncs are told, and the disk counts %d", commits, cheapest, events, counted)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		told.take()
		other, err := kv.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		err = errors.Join(other.Put(t.Context(), kv.Synced, []byte("key"), nil), other.Close())
		if late := told.take(); err != nil || len(late) != 0 {
			t.Errorf("told of %v after the end (%v)", late, err)
		}
	})
}

func TestAnObserverCountsSyncsAndTellsOfSlowOnes(t *testing.T) {
	db, o := open(t, "leveldb:"+filepath.Join(t.TempDir(), "db"), &observe.Options{Slow: 1, Every: -1})
	before := opOf(o.Figures(), "sync").Count
	put := func() error { return db.Put(t.Context(), kv.Synced, []byte("key"), []byte("value")) }
	if err := errors.Join(put(), put()); err != nil {
		t.Fatal(err)
	}
	f := o.Figures()
	if s := opOf(f, "sync"); s.Count != before+2 || s.Class != "" || s.Latency.P50 <= 0 || s.Pairs != 0 {
		t.Errorf("two commits: %+v, before %d", s, before)
	}
	if n := len(f.Slow); f.Slow[n-1].Op != "write" || f.Slow[n-2].Op != "sync" || f.Slow[n-2].Within != "" {
		t.Errorf("the last that were slow: %+v", f.Slow[n-2:])
	}
}

func TestASyncThatFailsIsToldWithItsError(t *testing.T) {
	onDisk(t, func(t *testing.T, engine, url string, disk *powertest.Disk) {
		if tellsSyncs[engine] == none {
			return
		}
		db, told := openTraced(t, url)
		if err := db.Put(t.Context(), kv.Synced, []byte("key"), []byte("value")); err != nil {
			t.Fatal(err)
		}
		told.take()
		disk.Arm(powerfs.Fault{Op: powerfs.OnSync, Nth: 1, Err: syscall.EIO})
		defer disk.Heal()
		if err := db.Put(t.Context(), kv.Synced, []byte("key"), []byte("other")); kv.KindOf(err) != kv.InDoubt {
			t.Errorf("the commit: %v, want in doubt", err)
		}
		failed := slices.DeleteFunc(told.take(), func(e kv.Event) bool { return e.Err == nil })
		if len(failed) != 1 || !errors.Is(failed[0].Err, syscall.EIO) &&
			!strings.Contains(failed[0].Err.Error(), "disk I/O error") { // as SQLite has it
			t.Errorf("the syncs that failed: %v, want one with %v", failed, syscall.EIO)
		}
		if len(failed) == 1 && failed[0].Took <= 0 && tellsSyncs[engine] == eachSync {
			t.Errorf("it took %v", failed[0].Took)
		}
		disk.Heal()
		_ = db.Close() // what it says stands in other tests
	})
}
