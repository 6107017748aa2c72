package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assaydb/assay/kv"
)

// inspect runs assay inspect and returns what it did.
func inspect(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	path, err := exec.LookPath("assay")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, append([]string{"inspect"}, args...)...)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run() // the status says it
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

func TestInspectShowsWhatAStoreHoldsAndChangesNothing(t *testing.T) {
	for _, engine := range []string{"bbolt", "pebble", "badger", "bunt", "leveldb", "sqlite", "sqlite-wasm"} {
		t.Run(engine, func(t *testing.T) {
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
			if status, _, stderr := inspect(t, url+"?wait=100ms"); db.Caps().Modes[0] == kv.Exclusive &&
				(status != 1 || !strings.Contains(stderr, "another process has it open") || !strings.Contains(stderr, "hint: ")) {
				t.Errorf("of a locked store: status %d, %q; want 1, busy and a hint", status, stderr)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			before := contents(t, path)
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
				{[]string{"drop"}, 2, ""},
				{[]string{"get"}, 2, ""},
			} {
				status, stdout, stderr := inspect(t, append([]string{url}, c.args...)...)
				if status != c.status || !strings.Contains(stdout, c.want) || (status != 0) != (stderr != "") {
					t.Errorf("%v: status %d, stdout %q, stderr %q; want %d with %q", c.args, status, stdout, stderr, c.status, c.want)
				}
			}
			after := contents(t, path)
			for name, data := range before {
				if after[name] != data {
					t.Errorf("%s was changed by looking at it: %d bytes before, %d after", name, len(data), len(after[name]))
				}
			}
			if engine != "sqlite" && engine != "sqlite-wasm" && len(after) != len(before) { // which may leave -shm and -wal
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

func TestInspectThatWaitsEndsAtAnInterrupt(t *testing.T) {
	url := "bbolt:" + filepath.ToSlash(filepath.Join(t.TempDir(), "store"))
	db, err := kv.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if status, said := interruptAt(t, command(t, "inspect", url+"?wait=1h"), "waiting for"); status != 130 {
		t.Errorf("waiting for the store: exit status %d, want 130; said:\n%s", status, said)
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
