package powertest_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/powertest"
)

const lines = 20

// file is a store of lines: one file.
type file struct{ fault string }

func (s file) work(dir string, log *powertest.Log[int]) error {
	f, err := os.OpenFile(filepath.Join(dir, "lines"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	for i := range lines {
		log.Try(i)
		if _, err := fmt.Fprintln(f, "line", i); err != nil {
			return err
		}
		if s.fault == "acknowledges before it syncs" {
			log.Done(i)
		}
		if s.fault != "never syncs" {
			if err := f.Sync(); err != nil {
				return err
			}
		}
		if s.fault == "fails" && i == lines/2 {
			return errors.New("a planted fault")
		}
		if s.fault != "acknowledges before it syncs" {
			log.Done(i)
		}
	}
	return nil
}

func (s file) check(dir string, h powertest.History[int]) error {
	content, err := os.ReadFile(filepath.Join(dir, "lines"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if s.fault == "crashes" && len(content) > 0 {
		panic("a planted fault")
	}
	found := strings.Split(string(content), "\n")
	for _, i := range h.Done {
		if want := fmt.Sprint("line ", i); i >= len(found)-1 || found[i] != want {
			return fmt.Errorf("%q is lost", want)
		}
	}
	if last := len(found) - 1; last > len(h.Tried) {
		return fmt.Errorf("%d lines, and %d were tried", last, len(h.Tried))
	}
	return nil
}

func (s file) power() powertest.Case[int] {
	return powertest.Case[int]{Work: s.work, Check: s.check}
}

func TestStoreThatSyncs(t *testing.T) { powertest.Run(t, file{}.power()) }

func TestStoreThatDoesNotSync(t *testing.T) {
	powertest.MustFail(t, file{fault: "never syncs"}.power(), lines/2)
}

// faultVariable makes this a process in which TestPlanted fails, as the test of a store that has
// the fault would.
const faultVariable = "ASSAY_POWERTEST_FAULT"

func TestPlanted(t *testing.T) {
	if fault, ok := os.LookupEnv(faultVariable); ok {
		powertest.Run(t, file{fault: fault}.power())
		return
	}
	if err := powerfs.Available(); err != nil {
		t.Skipf("NOT TESTED: power cannot fail on this machine: %v", err)
	}
	for fault, want := range map[string]string{
		"":                             "PASS",
		"never syncs":                  `"line 0" is lost`,
		"acknowledges before it syncs": "is lost",
		"fails":                        "work, before any cut: a planted fault",
		"crashes":                      "crashed: exit status 2: panic: a planted fault",
	} {
		left := t.TempDir()
		cmd := exec.Command(os.Args[0], "-test.run=^TestPlanted$", "-test.v")
		cmd.Env = append(os.Environ(), faultVariable+"="+fault, "ASSAY_POWERTEST_CUTS=8", "ASSAY_POWERTEST_SEED=1",
			"TMPDIR="+left)
		out, err := cmd.CombinedOutput()
		if (err == nil) != (fault == "") || !strings.Contains(string(out), want) {
			t.Errorf("fault %q: %v, want %q in\n%s", fault, err, want, out)
		}
		if entries, err := os.ReadDir(left); err != nil || len(entries) > 0 {
			t.Errorf("fault %q: left behind are %v, %v", fault, entries, err)
		}
	}
}
