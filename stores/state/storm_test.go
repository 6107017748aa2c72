package state_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/internal/crash"
	"github.com/assaydb/assay/stores/state"
)

// BenchmarkStorm has N processes put one pair each at the same moment, each willing to wait for two
// seconds, through the store and through plain SQLite with a busy_timeout. It reports how many gave
// up, and the time from the start to the end of the last one. The processes are started before, so
// that their start is not in it.
func BenchmarkStorm(b *testing.B) {
	for _, n := range []int{100, 200, 300} {
		for _, what := range []string{"bbolt", "sqlite", "plain-sqlite"} {
			b.Run(fmt.Sprintf("%s/%d", what, n), func(b *testing.B) {
				var failed int
				var took, cpu time.Duration
				for range b.N {
					r := storm(b, what, n, 2*time.Second)
					failed += r.failed
					took += r.took
					cpu += r.cpu
				}
				b.ReportMetric(float64(failed)/float64(b.N), "failed/op")
				b.ReportMetric(float64(took.Microseconds())/1000/float64(b.N), "ms/op")
				b.ReportMetric(float64(cpu.Microseconds())/1000/float64(b.N*n), "cpu-ms/process")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// TestAStormOfProcessesPutsEverything is BenchmarkStorm with processes that wait for as long as it
// takes.
func TestAStormOfProcessesPutsEverything(t *testing.T) {
	n, engines := 60, []string{"bbolt", "sqlite", "pebble"}
	if testing.Short() {
		n, engines = 12, engines[:2]
	}
	for _, engine := range engines {
		t.Run(engine, func(t *testing.T) {
			if r := storm(t, engine, n, 5*time.Minute); r.failed > 0 {
				t.Errorf("%d of %d processes failed, one with: %s", r.failed, n, r.why)
			}
		})
	}
}

type stormResult struct {
	failed    int
	why       string
	took, cpu time.Duration
}

func storm(tb testing.TB, what string, n int, wait time.Duration) (r stormResult) {
	tb.Helper()
	dir := tb.TempDir()
	put, err := stormPut(what, dir, wait)
	if err == nil {
		err = put("first")
	}
	if err != nil {
		tb.Fatal(err)
	}
	all := make([]*crash.Child[stormReport], n)
	for i := range all {
		if all[i], err = crash.Run[stormReport]("TestStormProcess",
			stormTask{what, dir, strconv.Itoa(i), wait}); err != nil {
			tb.Fatal(err)
		}
		defer all[i].End()
	}
	for _, p := range all {
		if said, ok := <-p.Reports; !ok || !said.Ended.IsZero() {
			tb.Fatalf("a process was not ready: %+v, %v", said, p.Wait())
		}
	}
	began := time.Now()
	for _, p := range all {
		if err := p.Proceed(); err != nil {
			tb.Fatal(err)
		}
	}
	for _, p := range all {
		said := <-p.Reports
		for range p.Reports {
		}
		if err := p.Wait(); err != nil || said.Ended.IsZero() {
			tb.Fatalf("a process said %+v: %v", said, err)
		}
		if said.Failed != "" {
			r.failed, r.why = r.failed+1, said.Failed
		}
		r.took = max(r.took, said.Ended.Sub(began))
		r.cpu += p.CPU()
	}
	for i := range n {
		if r.failed == 0 {
			if err := stormSaw(what, dir, strconv.Itoa(i)); err != nil {
				tb.Fatalf("what process %d put: %v", i, err)
			}
		}
	}
	return r
}

// stormTask is what a process of a storm does, which reports twice: when it is ready, and when it
// has ended.
type stormTask struct {
	What, Dir, Key string
	Wait           time.Duration
}

type stormReport struct {
	Ended  time.Time // zero: it is ready
	Failed string
}

// TestStormProcess is one process of a storm, and nothing elsewhere.
func TestStormProcess(t *testing.T) {
	crash.Work(t, func(task stormTask) error {
		out := json.NewEncoder(os.Stdout)
		put, err := stormPut(task.What, task.Dir, task.Wait)
		if err == nil {
			err = out.Encode(stormReport{})
		}
		if err != nil {
			return err
		}
		crash.Await()
		err = put(task.Key)
		said := stormReport{Ended: time.Now()}
		if err != nil {
			said.Failed = err.Error()
		}
		return out.Encode(said)
	})
	t.Skip("it is started by others")
}

// stormPut returns what puts one pair and closes.
func stormPut(what, dir string, wait time.Duration) (func(key string) error, error) {
	if what == "plain-sqlite" {
		return func(key string) error { return plainPut(dir, key, wait) }, nil
	}
	store, err := stormStore(what, dir, wait)
	return func(key string) error { return store.Put(context.Background(), "storm", []byte(key), []byte("v")) }, err
}

func stormStore(engine, dir string, wait time.Duration) (*state.Store, error) {
	return state.New(engine+":"+dir, &state.Options{Durability: kv.Synced, Wait: wait, MigrationWait: wait,
		Buckets: []state.Bucket{{Name: "storm"}}})
}

// plainPut is what a program with plain SQLite does, at the same durability.
func plainPut(dir, key string, wait time.Duration) error {
	db, err := sql.Open("sqlite", fmt.Sprintf("file:%s?_pragma=busy_timeout(%d)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_txlock=immediate",
		filepath.Join(dir, "plain.db"), wait.Milliseconds()))
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.Exec("CREATE TABLE IF NOT EXISTS storm(k TEXT PRIMARY KEY, v BLOB) WITHOUT ROWID"); err != nil {
		return err
	}
	_, err = db.Exec("INSERT INTO storm VALUES(?, 'v')", key)
	return err
}

// stormSaw fails if key is absent.
func stormSaw(what, dir, key string) error {
	if what == "plain-sqlite" {
		return nil
	}
	store, err := stormStore(what, dir, time.Minute)
	if err == nil {
		_, err = store.Get(context.Background(), "storm", []byte(key))
	}
	return err
}
