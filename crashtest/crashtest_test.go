package crashtest_test

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/assaydb/assay/crashtest"
	"github.com/assaydb/assay/lab/powerfs"
)

// lines is a store: a file to which each change appends a line that ends in a checksum. What a
// crash has left of one, or of several that were not synced, is cut off when it is opened. Every
// tenth change writes the file anew and puts it in the place of the old one.
type lines struct {
	*os.File
	fault string
	eats  int64 // up to where a recovery leaves what it found, if that is its fault
}

// line returns line i.
func line(i int) string {
	text := fmt.Sprintf("line %d %s", i, strings.Repeat("x", i*100))
	return fmt.Sprintf("%s %08x\n", text, crc32.ChecksumIEEE([]byte(text)))
}

// whole returns how many bytes of a file are whole lines, and where the last of them begins.
func whole(content []byte) (end, last int) {
	for {
		n := bytes.IndexByte(content[end:], '\n')
		if n < 9 {
			return end, last
		}
		text, sum := content[end:end+n-9], content[end+n-8:end+n]
		if fmt.Sprintf("%08x", crc32.ChecksumIEEE(text)) != string(sum) {
			return end, last
		}
		end, last = end+n+1, end
	}
}

func openLines(dir, fault string) (*lines, error) {
	name := filepath.Join(dir, "lines")
	content, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	end, last := whole(content)
	torn := end < len(content)
	if torn && fault == "panics on half a line" {
		panic("half a line")
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	l := &lines{File: f, fault: fault}
	switch {
	case fault == "keeps half a line":
		end = len(content)
	case torn && fault == "recovery eats a line":
		l.eats = int64(last)
		err = f.Truncate(int64(end))
	case torn:
		err = f.Truncate(int64(end))
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		_, err = f.Seek(int64(end), io.SeekStart)
	}
	return l, err
}

// Close closes the file. The fault of a recovery shows only then.
func (l *lines) Close() error {
	var err error
	if l.eats > 0 {
		err = l.Truncate(l.eats)
	}
	return errors.Join(err, l.File.Close())
}

func (l *lines) do(i int) error {
	if i%10 == 9 {
		if err := l.anew(); err != nil {
			return err
		}
	}
	if _, err := l.WriteString(line(i)); err != nil || l.fault == "never syncs" ||
		l.fault == "does not sync large lines" && i > 20 {
		return err
	}
	return l.Sync()
}

func (l *lines) anew() error {
	content, err := os.ReadFile(l.Name())
	if err != nil {
		return err
	}
	f, err := os.OpenFile(l.Name()+".new", os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil && l.fault != "renames before it syncs" {
		err = f.Sync()
	}
	if l.fault == "removes before it renames" {
		err = errors.Join(err, os.Remove(l.Name()))
	}
	if err = errors.Join(err, os.Rename(f.Name(), l.Name())); err != nil {
		return err
	}
	fresh, err := os.OpenFile(l.Name(), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	_, err = fresh.Seek(0, io.SeekEnd)
	err = errors.Join(err, l.File.Close(), f.Close())
	l.File = fresh
	return err
}

func (l *lines) check(h crashtest.History) error {
	content, err := os.ReadFile(l.Name())
	if err != nil {
		return err
	}
	found := strings.SplitAfter(string(content), "\n")
	found = found[:len(found)-1]
	all := append(append([]int{}, h.Done...), h.Maybe...)
	for n, i := range all {
		if n >= len(found) {
			if n < len(h.Done) {
				return fmt.Errorf("line %d is lost", i)
			}
			break
		}
		if found[n] != line(i) {
			return fmt.Errorf("line %d is %.20q", i, found[n])
		}
	}
	if len(found) > len(all) {
		return fmt.Errorf("%d lines, of %d that were begun", len(found), len(all))
	}
	return nil
}

func store(fault string) crashtest.Store[*lines] {
	s := crashtest.Store[*lines]{
		Open:  func(dir string) (*lines, error) { return openLines(dir, fault) },
		Do:    (*lines).do,
		Check: (*lines).check,
	}
	if fault == "is never checked" {
		s.Check = func(*lines, crashtest.History) error { return nil }
	}
	return s
}

func TestAStoreThatSyncs(t *testing.T) { crashtest.Run(t, store(""), nil) }

// faultVariable makes this a process in which TestPlanted fails, as the test of a store that has
// the fault would.
const faultVariable = "CRASHTEST_FAULT"

func TestPlanted(t *testing.T) {
	if fault, ok := os.LookupEnv(faultVariable); ok {
		crashtest.Run(t, store(fault), &crashtest.Options{KillsAlone: strings.HasPrefix(fault, "never syncs")})
		return
	}
	if err := powerfs.Available(); err != nil {
		t.Skipf("NOT TESTED: no crash can be recorded on this machine: %v", err)
	}
	for _, c := range []struct {
		fault, want string
		mends       bool // a store without the fault can read what this one has left
	}{
		{fault: "does not sync large lines", want: "is lost"},
		{fault: "renames before it syncs", want: "is lost"},
		{fault: "removes before it renames", want: "line 0 is lost"},
		{"keeps half a line", "line", true},
		{"recovery eats a line", "closed and opened again: line", true},
		{"panics on half a line", "crashed: exit status 2: panic: half a line", true},
		{fault: "is never checked", want: "it cannot fail"},
		{fault: "never syncs", want: ""}, // a kill takes nothing of it
	} {
		t.Run(c.fault, func(t *testing.T) {
			t.Parallel()
			said, err := planted(t, c.fault, "-crashtest.seed=1")
			if (err == nil) != (c.want == "") || !strings.Contains(said, c.want) {
				t.Fatalf("%v, want %q in\n%s", err, c.want, said)
			}
			again := regexp.MustCompile(`-crashtest\.replay=(\S+)`).FindStringSubmatch(said)
			if c.want == "" || c.fault == "is never checked" {
				if again != nil {
					t.Errorf("there is nothing to replay in\n%s", said)
				}
				return
			}
			if again == nil {
				t.Fatalf("no command judges the state again in\n%s", said)
			}
			said, err = planted(t, c.fault, again[0])
			if err == nil || !strings.Contains(said, c.want) {
				t.Errorf("again: %v, want %q in\n%s", err, c.want, said)
			}
			said, err = planted(t, "", again[0])
			if (err == nil) != c.mends || c.mends && !strings.Contains(said, "breaks nothing now") {
				t.Errorf("again, with a store that has no fault: %v in\n%s", err, said)
			}
		})
	}
}

// planted runs this test in a process whose store has a fault, and returns what it says. Only what
// a failure keeps may be left behind.
func planted(t *testing.T, fault string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{"-test.run=^TestPlanted$", "-test.v", "-crashtest.budget=5m"},
		args...)...)
	temp := t.TempDir()
	cmd.Env = append(os.Environ(), faultVariable+"="+fault, "TMPDIR="+temp)
	out, err := cmd.CombinedOutput()
	left, e := filepath.Glob(filepath.Join(temp, "*"))
	if e != nil || len(left) > 1 || len(left) == 1 && !strings.Contains(string(out), left[0]) {
		t.Errorf("fault %q: left behind are %v, %v", fault, left, e)
	}
	return string(out), err
}

func TestARunThatIsCalledTwice(t *testing.T) {
	if runtime.GOOS != "linux" || powerfs.Available() != nil {
		t.Skip("NOT TESTED: no crash can be recorded on this machine")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestTwice$", "-test.short")
	cmd.Env = append(os.Environ(), faultVariable+"=twice")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "call Run once in a test") {
		t.Errorf("%v, %s", err, out)
	}
}

func TestTwice(t *testing.T) {
	if os.Getenv(faultVariable) != "twice" {
		t.Skip("TestARunThatIsCalledTwice runs it")
	}
	o := &crashtest.Options{Changes: 2, KillsAlone: true}
	crashtest.Run(t, store(""), o)
	crashtest.Run(t, store(""), o)
}

// unnamed is a counter that does not sync its folder.
type unnamed struct{ counter }

func (u unnamed) set(n int) error {
	name := u.path + ".new"
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strconv.Itoa(n))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(name, u.path)
}

func TestUnnamed(t *testing.T) {
	if os.Getenv(faultVariable) != "unnamed" {
		t.Skip("TestTheSmallestHistoryIsTold runs it")
	}
	crashtest.Run(t, crashtest.Store[unnamed]{
		Open: func(dir string) (unnamed, error) { return unnamed{counter{filepath.Join(dir, "counter")}}, nil },
		Do:   func(u unnamed, i int) error { return u.set(i + 1) },
		Check: func(u unnamed, h crashtest.History) error {
			n, err := u.value()
			all := slices.Concat([]int{-1}, h.Done, h.Maybe) // a change sets its own number
			if err == nil && !slices.Contains(all[len(h.Done):], n-1) {
				err = fmt.Errorf("the counter is %d, after %v", n, h.Done)
			}
			return err
		},
	}, nil)
}

// TestTheSmallestHistoryIsTold: the first change is lost by a crash right behind its rename, the
// fourth operation. Crashes that come later leave the same, and may be looked at first.
func TestTheSmallestHistoryIsTold(t *testing.T) {
	if err := powerfs.Available(); err != nil {
		t.Skipf("NOT TESTED: no crash can be recorded on this machine: %v", err)
	}
	for _, seed := range []int{15, 16, 23} { // with which a later crash is looked at first
		cmd := exec.Command(os.Args[0], "-test.run=^TestUnnamed$", "-crashtest.budget=5m",
			fmt.Sprintf("-crashtest.seed=%d", seed))
		cmd.Env = append(os.Environ(), faultVariable+"=unnamed", "TMPDIR="+t.TempDir())
		out, err := cmd.CombinedOutput()
		if want := "crash: before operation 5 of "; err == nil || !strings.Contains(string(out), want) {
			t.Errorf("seed %d: %v, want %q in\n%s", seed, err, want, out)
		}
	}
}
