package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assaydb/assay/internal/cli"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/queue"
	"github.com/assaydb/assay/stores/queue/sqlqueue"
)

// inspect runs assay inspect and returns what it did. Under -short it is called as the function
// that it is: the scripts of TestCommand start the program.
func inspect(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	args = append([]string{"inspect"}, args...)
	if !testing.Short() {
		return runAssay(t, args...)
	}
	var out, errs strings.Builder
	status = cli.Run(t.Context(), args, strings.NewReader(""), &out, &errs, nil)
	return status, out.String(), errs.String()
}

// runAssay runs assay in a process of its own and returns what it did.
func runAssay(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	path, err := exec.LookPath("assay")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run() // the status says it
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// some returns engines without those that, under -short, are left to the long run: the command does
// the same on all, and each opens damaged files in tests of its own.
func some(engines ...string) []string {
	return slices.DeleteFunc(engines, func(engine string) bool {
		return testing.Short() && slices.Contains([]string{"pebble", "badger", "bunt", "leveldb", "sqlite-wasm"}, engine)
	})
}

func TestInspectShowsWhatAStoreHoldsAndChangesNothing(t *testing.T) {
	for _, engine := range some("bbolt", "pebble", "badger", "bunt", "leveldb", "sqlite", "sqlite-wasm") {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "store")
			url := engine + ":" + filepath.ToSlash(path)
			db, err := kv.Open(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			err = db.Update(t.Context(), kv.Synced, func(tx *kv.Tx) error {
				if err := tx.Put([]byte("a/1"), []byte("one\x00")); err != nil {
					return err
				}
				return tx.Put([]byte("b\xff"), nil)
			})
			if err != nil {
				t.Fatal(err)
			}
			if status, _, stderr := runAssay(t, "inspect", url+"?wait=100ms"); db.Caps().Modes[0] == kv.Exclusive &&
				(status != 1 || !strings.Contains(stderr, "another process has it open") ||
					!strings.Contains(stderr, "hint: ")) {
				t.Errorf("of a locked store: status %d, %q; want 1, busy and a hint", status, stderr)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			before := contents(t, filepath.Dir(path))
			for _, c := range []struct {
				args   []string
				status int
				want   string
			}{
				{nil, 0, "pairs"},
				{[]string{"check"}, 0, "no"},
				{[]string{"get", "a/1"}, 0, "one\x00"},
				{[]string{"get", `"b\xff"`}, 0, ""},
				{[]string{"get", "c"}, 1, ""},
				{[]string{"scan"}, 0, "\"a/1\"\t\"one\\x00\"\n\"b\\xff\"\t\"\"\n"},
				{[]string{"scan", "b"}, 0, "\"b\\xff\"\t\"\"\n"},
				{[]string{"scan", "--limit", "1"}, 0, "\"a/1\"\t\"one\\x00\"\n"},
				{[]string{"--json"}, 0, `"pairs": 2`},
				{[]string{"scan", "--reverse"}, 0, "\"b\\xff\"\t\"\"\n\"a/1\"\t\"one\\x00\"\n"},
				{[]string{"scan", "--from", "a/2", "--keys"}, 0, "\"b\\xff\"\n"},
				{[]string{"scan", "a", "--to", "a/2", "--format", "hex"}, 0, "612f31\t6f6e6500\n"},
				{[]string{"scan", "--format", "text"}, 0, "a/1\tone.\n"},
				{[]string{"scan", "--json"}, 0,
					"{\"key\":\"a/1\",\"value\":\"one\\u0000\"}\n{\"key_base64\":\"Yv8=\",\"value\":\"\"}\n"},
				{[]string{"get", "a/1", "--format", "hex"}, 0, "6f 6e 65 00"},
				{[]string{"get", "a/1", "--format", "text"}, 0, "one.\n"},
				{[]string{"get", "a/1", "--json"}, 0, `{"key":"a/1","value":"one\u0000"}`},
				{[]string{"sizes"}, 0, "2 pairs"},
				{[]string{"sizes", "--json"}, 0, `"key_bytes": 5`},
				{[]string{"backup", filepath.Join(t.TempDir(), "copy")}, 0, "is a copy of"},
				{[]string{"streams"}, 1, ""},
				{[]string{"events"}, 1, ""},
				{[]string{"subscriptions"}, 1, ""},
				{[]string{"collections"}, 1, ""},
				{[]string{"browse"}, 2, ""},
				{[]string{"backup", path}, 2, ""},
				{[]string{"drop"}, 2, ""},
				{[]string{"get"}, 2, ""},
				{[]string{"put", "a"}, 2, ""},
				{[]string{"delete"}, 2, ""},
				{[]string{"scan", "--format", "xml"}, 2, ""},
				{[]string{"scan", "--limit", "-1"}, 2, ""},
				{[]string{"scan", "--from", "b", "--to", "a"}, 2, ""},
				{[]string{"stats", "--reverse"}, 2, ""},
				{[]string{"put", "a", "1", "--keys"}, 2, ""},
			} {
				status, stdout, stderr := inspect(t, append([]string{url}, c.args...)...)
				if status != c.status || !strings.Contains(stdout, c.want) || (status != 0) != strings.Contains(stderr, "assay: ") {
					t.Errorf("%v: status %d, stdout %q, stderr %q; want %d with %q", c.args, status, stdout, stderr,
						c.status, c.want)
				}
			}
			if status, _, stderr := runAssay(t, "verify", url, url); db.Caps().SharedReading && status != 0 {
				t.Errorf("verify: status %d, %s", status, stderr)
			}
			after := contents(t, filepath.Dir(path))
			for name, data := range before {
				if after[name] != data {
					t.Errorf("%s was changed by looking at it: %d bytes before, %d after", name, len(data),
						len(after[name]))
				}
			}
			if len(after) != len(before) {
				t.Errorf("looking left %d files, there were %d", len(after), len(before))
			}
		})
	}
}

// contents returns what the files of the store at path hold, by their names.
func contents(t *testing.T, path string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		all[path] = string(data)
		return err
	})
	if err != nil || len(all) == 0 {
		t.Fatal(len(all), "files:", err)
	}
	return all
}

// queueWithJobs makes a queue with a job in each state, of which the dead one failed, and returns
// its URL.
func queueWithJobs(t *testing.T, scheme string) (url string, ids []uint64) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store")
	url = scheme + ":" + filepath.ToSlash(path)
	store, closeAll := openQueues(t, scheme, path)
	defer closeAll()
	q, err := store.Queue("mail", &queue.Settings{MaxAttempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	ids, err = q.Publish(t.Context(), kv.Synced, queue.Draft{Payload: []byte("bad")},
		queue.Draft{Payload: []byte("held")},
		queue.Draft{Payload: []byte("next"), Key: "one"}, queue.Draft{Payload: []byte("\xff"), Delay: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := q.Claim(t.Context(), kv.Synced, 2)
	if err == nil {
		err = q.Fail(t.Context(), kv.Synced, errors.New("nobody is called bad"), 0, jobs[0].Receipt)
	}
	if err != nil {
		t.Fatal(err)
	}
	return url, ids
}

func openQueues(t *testing.T, scheme, path string) (store *queue.Store, closeAll func()) {
	t.Helper()
	if scheme == "sqlqueue" {
		store, err := sqlqueue.Open(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		return store, func() { _ = store.Close() }
	}
	db, err := kv.Open(t.Context(), scheme+":"+path)
	if err == nil {
		store, err = queue.New(db.Namespace([]byte("jobs/")), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return store, func() { _ = errors.Join(store.Close(), db.Close()) }
}

func TestInspectShowsRequeuesAndDeletesJobs(t *testing.T) {
	schemes := append(some("bbolt", "pebble"), "sqlqueue")
	if !testing.Short() {
		schemes = append(schemes, "sqlite")
	}
	for _, scheme := range schemes {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			url, ids := queueWithJobs(t, scheme)
			id := func(i int) string { return fmt.Sprint(ids[i]) }
			for _, c := range []struct {
				args   []string
				status int
				want   string // of standard output, or of standard error if the status is not 0
			}{
				{[]string{"queues"}, 0, "mail   1      1        1        1"},
				{[]string{"queues", "--json"}, 0, `"dead": 1`},
				{[]string{"jobs", "mail"}, 0, `"nobody is called bad"`},
				{[]string{"jobs", "mail", "--state", "ready"}, 0, `"next"`},
				{[]string{"jobs", "mail", "--limit", "1"}, 0, `"next"`},
				{[]string{"jobs", "mail", id(0)}, 0, `"nobody is called bad"`},
				{[]string{"jobs", "mail", id(2), "--json"}, 0, `"key": "one"`},
				{[]string{"jobs", "mail", id(3), "--json"}, 0, `"payload_base64": "/w=="`},
				{[]string{"jobs", "mail", "7"}, 1, "no job 7"},
				{[]string{"jobs"}, 2, "no queue"},
				{[]string{"jobs", "mail", "x"}, 2, "no id"},
				{[]string{"jobs", "mail", "--state", "lost"}, 2, "ready, delayed, claimed, dead"},
				{[]string{"jobs", "mail", "--requeue"}, 2, "--all"},
				{[]string{"jobs", "mail", "--all"}, 2, "without"},
				{[]string{"jobs", "mail", "--delete", "--all"}, 2, "--state"},
				{[]string{"jobs", "mail", id(0), "--delete", "--requeue"}, 2, "exclude"},
				{[]string{"scan", "--delete"}, 2, "about jobs"},
				{[]string{"jobs", "mail", id(2), "--requeue"}, 1, "no dead job"},
				{[]string{"queues"}, 0, "mail   1      1        1        1"}, // none of these changed anything
				{[]string{"jobs", "mail", id(0), "--requeue"}, 0, "requeued 1 jobs"},
				{[]string{"queues"}, 0, "mail   2      1        1        0"},
				{[]string{"jobs", "mail", id(0), id(1), "--delete", "--json"}, 0, `"deleted": [`},
				{[]string{"jobs", "mail", "--delete", "--all", "--state", "delayed"}, 0, "deleted 1 jobs"},
				{[]string{"jobs", "mail", "--requeue", "--all"}, 0, "requeued 0 jobs"},
				{[]string{"queues"}, 0, "mail   1      0        0        0"},
			} {
				args := append([]string{url}, c.args...)
				if scheme != "sqlqueue" && c.args[0] != "scan" {
					args = append(args, "--namespace", "jobs/")
				}
				status, stdout, stderr := inspect(t, args...)
				said := stdout
				if c.status != 0 {
					said = stderr
				}
				if status != c.status || !strings.Contains(said, c.want) {
					t.Errorf("%v: status %d, stdout %q, stderr %q; want %d with %q", c.args, status, stdout, stderr,
						c.status, c.want)
				}
			}
		})
	}
	if status, _, stderr := inspect(t, "sqlqueue:"+filepath.Join(t.TempDir(), "none"), "queues"); status != 1 ||
		!strings.Contains(stderr, "none") {
		t.Errorf("queues that are not there: status %d, %q", status, stderr)
	}
}

func TestInspectChangesWhatItIsTold(t *testing.T) {
	for _, engine := range some("bbolt", "pebble", "badger", "bunt", "leveldb", "sqlite") {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "store")
			url := engine + ":" + filepath.ToSlash(path)
			db, err := kv.Open(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(db.Put(t.Context(), kv.Synced, []byte("there"), []byte("1")),
				db.Close()); err != nil {
				t.Fatal(err)
			}
			compacted := 2
			if db.Caps().Compacts {
				compacted = 0
			}
			for _, c := range []struct {
				args   []string
				status int
				want   string
			}{
				{[]string{"put", "a", "1"}, 0, `"a" has a value of 1 byte`},
				{[]string{"put", `"\x00b"`, `"\xff"`}, 0, "1 byte"},
				{[]string{"put", "empty", ""}, 0, "0 bytes"},
				{[]string{"put", "", "1"}, 2, ""},
				{[]string{"scan"}, 0, "\"\\x00b\"\t\"\\xff\"\n\"a\"\t\"1\"\n\"empty\"\t\"\"\n\"there\"\t\"1\"\n"},
				{[]string{"delete", "a", "nowhere"}, 1, ""},
				{[]string{"get", "a"}, 0, "1"},
				{[]string{"delete", "a", "there"}, 0, "deleted 2 keys"},
				{[]string{"compact"}, compacted, ""},
				{[]string{"scan", "--keys"}, 0, "\"\\x00b\"\n\"empty\"\n"},
				{[]string{"backup", path + "-copy"}, 0, "is a copy"},
			} {
				status, stdout, stderr := inspect(t, append([]string{url}, c.args...)...)
				if status != c.status || !strings.Contains(stdout, c.want) || (status != 0) != strings.Contains(stderr, "assay: ") {
					t.Errorf("%v: status %d, stdout %q, stderr %q; want %d with %q", c.args, status, stdout, stderr,
						c.status, c.want)
				}
			}
			if _, stdout, stderr := inspect(t, url+"-copy", "scan"); stdout != "\"\\x00b\"\t\"\\xff\"\n\"empty\"\t\"\"\n" {
				t.Errorf("the backup holds %q, %s", stdout, stderr)
			}
		})
	}
}

// TestInspectReportsDamage cuts and changes the files of stores. Each verb then says what is wrong
// or shows what is left.
func TestInspectReportsDamage(t *testing.T) {
	for _, engine := range some("bbolt", "pebble", "badger", "bunt", "leveldb", "sqlite") {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "store")
			url := engine + ":" + filepath.ToSlash(path)
			db, err := kv.Open(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			for i := range 30 {
				var b kv.Batch
				for j := range 100 {
					b.Put(fmt.Appendf(nil, "key/%02d/%02d", i, j), fmt.Appendf(nil, "value %d", i*j))
				}
				err = errors.Join(err, db.Write(t.Context(), kv.Synced, &b))
			}
			if err := errors.Join(err, db.Close()); err != nil {
				t.Fatal(err)
			}
			reported := 0
			for name, data := range contents(t, path) {
				if len(data) < 2 || len(data) > 1<<24 { // of Badger's files of 2 GB most is a hole
					continue
				}
				for what, damaged := range map[string]string{
					"cut":     data[:len(data)/2],
					"changed": data[:len(data)/3] + strings.Repeat("\xa5", len(data)/3) + data[len(data)/3*2:],
				} {
					if err := os.WriteFile(name, []byte(damaged), 0o600); err != nil {
						t.Fatal(err)
					}
					for _, verb := range []string{"stats", "check", "scan", "sizes", "detect"} {
						status, _, stderr := runAssay(t, "inspect", url, verb) // whose crash would end its process alone
						if status > 1 || strings.Contains(stderr, "goroutine ") ||
							(status == 1) != strings.Contains(stderr, "assay: ") {
							t.Errorf("%s, %s %s: status %d, %.600s", verb, filepath.Base(name), what, status, stderr)
						}
						reported += status
					}
				}
				if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if reported == 0 {
				t.Error("no damage was reported")
			}
		})
	}
}

// TestDetectTellsOfWhatCannotBeOpened: of a damaged file, and of one whose engine is not in this
// binary.
func TestDetectTellsOfWhatCannotBeOpened(t *testing.T) {
	const duck = "\x01\x02\x03\x04\x05\x06\x07\x08DUCK\x40\x00\x00\x00\x00\x00\x00\x00"
	for name, c := range map[string]struct{ content, want string }{
		"cut.db":   {"SQLite format 3\x00", "sqlite, damaged (the header is cut off)"},
		"duck.db":  {duck + strings.Repeat("\x00", 3*4096-len(duck)), "duckdb, format 64, clean"},
		"cut.duck": {duck, "duckdb, format 64, damaged (the file has 20 bytes of 12288)"},
	} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if status, stdout, stderr := inspect(t, path, "detect"); status != 0 || stdout != path+": "+c.want+"\n" {
			t.Errorf("%s: status %d, %q, %q; want %q", name, status, stdout, stderr, c.want)
		}
		if status, _, stderr := inspect(t, path); status == 0 || !strings.Contains(stderr, "\n  hint: ") {
			t.Errorf("stats of %s: status %d, %q", name, status, stderr)
		}
	}
}

// TestALookThatNobodyReadsLeavesNothing: as in a pipe to head, which ends.
func TestALookThatNobodyReadsLeavesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	url := "sqlite:" + filepath.ToSlash(path)
	db, err := kv.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	var b kv.Batch
	for i := range 20_000 {
		b.Put(fmt.Appendf(nil, "key/%09d", i), []byte("some value"))
	}
	if err := errors.Join(db.Write(t.Context(), kv.Synced, &b), db.Close()); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("assay", "inspect", url, "scan")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		_, err = out.Read(make([]byte, 10))
	}
	if err := errors.Join(err, out.Close()); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the status says it
	if status := cmd.ProcessState.ExitCode(); status != 141 || stderr.Len() > 0 {
		t.Errorf("status %d, %q; want 141 without a word", status, stderr.String())
	}
	if left, err := filepath.Glob(path + "*"); err != nil || len(left) != 1 {
		t.Errorf("there are %v, %v", left, err)
	}
}

func TestInspectCreatesNothing(t *testing.T) {
	dir := t.TempDir()
	for _, engine := range []string{"bbolt", "pebble", "sqlite"} {
		status, _, stderr := inspect(t, engine+":"+filepath.ToSlash(filepath.Join(dir, "none")))
		if status != 1 || !strings.Contains(stderr, "no store") {
			t.Errorf("%s: status %d, %q; want 1 and missing", engine, status, stderr)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) > 0 {
		t.Errorf("created %v, %v", left, err)
	}
	if status, _, stderr := inspect(t, "nosuch:x"); status != 2 || !strings.Contains(stderr, "unknown engine") {
		t.Errorf("unknown engine: status %d, %q", status, stderr)
	}
}
