package state_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/state"
)

// stormVariable is set in a process of a storm: what it puts through, the folder, its number, and how long it waits.
const stormVariable = "ASSAY_STATE_STORM"

// BenchmarkStorm has N processes put one pair each at the same moment, each willing to wait for two seconds, through the
// store and through plain SQLite with a busy_timeout. It reports how many gave up, and the time from the start to the end
// of the last one. The processes are started before, so that their start is not in it.
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

// TestAStormOfProcessesPutsEverything is BenchmarkStorm with processes that wait for as long as it takes.
func TestAStormOfProcessesPutsEverything(t *testing.T) {
	n := 60
	if testing.Short() {
		n = 20
	}
	for _, engine := range []string{"bbolt", "sqlite", "pebble"} {
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
	var all []*stormProcess
	for i := range n {
		p, err := startStorm(what, dir, i, wait)
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, p)
	}
	for _, p := range all {
		if line, err := p.out.ReadString('\n'); line != "ready\n" {
			tb.Fatalf("a process said %q: %v", line, err)
		}
	}
	began := time.Now()
	for _, p := range all {
		_ = p.in.Close() // that is the start
	}
	for _, p := range all {
		said, _ := io.ReadAll(p.out)
		ended, why, _ := strings.Cut(strings.TrimSpace(string(said)), " ")
		at, err := strconv.ParseInt(ended, 10, 64)
		if err != nil {
			tb.Fatalf("a process said %q", said)
		}
		if why != "" {
			r.failed, r.why = r.failed+1, why
		}
		r.took = max(r.took, time.Unix(0, at).Sub(began))
		if err := p.cmd.Wait(); err != nil {
			tb.Fatal(err)
		}
		r.cpu += p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
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

type stormProcess struct {
	cmd *exec.Cmd
	in  io.Closer
	out *bufio.Reader
}

func startStorm(what, dir string, i int, wait time.Duration) (*stormProcess, error) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestStormProcess$")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %d %s", stormVariable, what, dir, i, wait))
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &stormProcess{cmd, in, bufio.NewReader(out)}, cmd.Start()
}

// TestStormProcess is one process of a storm, and nothing elsewhere.
func TestStormProcess(t *testing.T) {
	job := strings.Fields(os.Getenv(stormVariable))
	if len(job) == 0 {
		t.Skip("it is started by others")
	}
	wait, err := time.ParseDuration(job[3])
	if err != nil {
		t.Fatal(err)
	}
	put, err := stormPut(job[0], job[1], wait)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("ready")
	_, _ = io.ReadAll(os.Stdin)
	if err = put(job[2]); err != nil {
		fmt.Println(time.Now().UnixNano(), err)
	} else {
		fmt.Println(time.Now().UnixNano())
	}
	os.Exit(0) // the test binary's own words would follow
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
