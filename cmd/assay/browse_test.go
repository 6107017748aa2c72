//go:build unix

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
)

// screen is what a command writes to a terminal.
type screen struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

// since returns what was written after the first n bytes.
func (s *screen) since(n int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()[n:]
}

// terminal runs a command as a person does, who types keys and waits for what is shown.
type terminal struct {
	t     *testing.T
	file  *os.File // where the person sits
	tty   *os.File // where the command does
	cmd   *exec.Cmd
	found *term.State // of the terminal, before the command
	shown screen
	seen  int // bytes of what was shown that were waited for
}

// press types keys, and waits until all of want were shown since the last time that it waited. Only
// a hang lasts a minute.
func (b *terminal) press(keys string, want ...string) {
	b.t.Helper()
	if _, err := b.file.WriteString(keys); err != nil {
		b.t.Fatal(err)
	}
	if len(want) == 0 {
		return // what is shown by now is waited for later
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		text, missing := b.shown.since(b.seen), ""
		for _, w := range want {
			if !strings.Contains(text, w) {
				missing = w
			}
		}
		if missing == "" {
			b.seen += len(text)
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("after %q the terminal shows no %q but\n%q", keys, missing, text)
		}
	}
}

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// keyOf returns a key that has no sign in common with another one, and in the same place: a browser
// writes what changes on the screen, and no more.
func keyOf(n int) string {
	key := make([]byte, 8)
	for i := range key {
		key[i] = alphabet[(n+7*i)%len(alphabet)]
	}
	return string(key)
}

// TestBrowse walks through a store in a terminal, and finds the terminal afterwards as it was.
func TestBrowse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	db, err := kv.Open(t.Context(), "bbolt:"+path)
	if err != nil {
		t.Fatal(err)
	}
	var b kv.Batch
	for n := range alphabet {
		b.Put([]byte(keyOf(n)), fmt.Appendf(nil, "value %d", n))
	}
	b.Put([]byte(keyOf(0)), []byte("\x00\xff"))
	if err := errors.Join(db.Write(t.Context(), kv.Synced, &b), db.Close()); err != nil {
		t.Fatal(err)
	}
	before := contents(t, path)
	for _, quit := range []string{"q", "\x03"} {
		w := inTerminal(t, "inspect", "bbolt:"+path, "browse")
		w.press("", "bbolt "+path, keyOf(0), keyOf(20), "q: quit")
		w.press("\x1b[6~", keyOf(21), keyOf(41))    // page down
		w.press("\x1b[F", keyOf(len(alphabet)-1))   // end
		w.press("\x1b[5~", keyOf(len(alphabet)-22)) // page up
		w.press("\x1b[H", keyOf(0), keyOf(20))      // home
		w.press("\r", "2 bytes, as hex", "00 ff")   // enter
		w.press("\t", "json", "it is no json")      // tab
		w.press("\x1b", keyOf(0), keyOf(20))        // escape
		w.press("/", "prefix:")
		w.press(keyOf(50)[:1]+"\r", "keys that begin with", keyOf(50))
		w.press("\r", "8 bytes, as text", "value 50")
		w.press("\x1b", keyOf(50))
		w.press("s", "no event log, records or queues")
		w.quit(quit)
	}
	if after := contents(t, path); after[path] != before[path] {
		t.Error("browsing changed the store")
	}
}

// TestBrowseShowsStores shows what is kept in the pairs of a namespace.
func TestBrowseShowsStores(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	db, err := kv.Open(t.Context(), "pebble:"+path)
	if err != nil {
		t.Fatal(err)
	}
	l, err := eventlog.Open(t.Context(), db.Namespace([]byte("log/")), &eventlog.Options{Streams: true})
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.Append(t.Context(), kv.Synced, "order-1", eventlog.Any, eventlog.Draft{Type: "Placed"})
	if err := errors.Join(err, l.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
	w := inTerminal(t, "inspect", "pebble:"+path, "browse", "--namespace", "log/")
	w.press("", "pebble "+path, "q: quit")
	w.press("s", `"order-1"`, "last position of the log")
	w.press("\x1b", "pebble "+path)
	w.quit("q")
}

// TestACommandEndsWithItsTerminal takes the terminal away from commands that wait for a person, who
// have no session that a signal could end: who starts them died.
func TestACommandEndsWithItsTerminal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	db, err := kv.Open(t.Context(), "bbolt:"+path)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for shows, args := range map[string][]string{"q: quit": {"inspect", "bbolt:" + path, "browse"},
		"What does the program do?": {"advise"}} {
		t.Run(args[0], func(t *testing.T) {
			t.Parallel()
			w := inTerminal(t, args...)
			w.press("", shows)
			if err := errors.Join(w.tty.Close(), w.file.Close()); err != nil {
				t.Fatal(err)
			}
			hung := time.AfterFunc(time.Minute, func() { _ = w.cmd.Process.Kill() })
			err := w.cmd.Wait()
			if exit := new(exec.ExitError); !hung.Stop() || !errors.As(err, &exit) || exit.ExitCode() != 1 {
				t.Errorf("without its terminal the command ends with %v, want exit status 1", err)
			}
		})
	}
}

// inTerminal starts assay in a terminal of 24 lines.
func inTerminal(t *testing.T, args ...string) *terminal {
	t.Helper()
	return inTerminalWith(t, []string{"TERM=xterm-256color", "NO_COLOR="}, args...)
}

// inTerminalWith starts assay in a terminal of which the environment says something.
func inTerminalWith(t *testing.T, env []string, args ...string) *terminal {
	t.Helper()
	blocking, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(blocking, &pty.Winsize{Rows: 24, Cols: 120}); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.FcntlInt(blocking.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err := errors.Join(err, unix.SetNonblock(fd, true), blocking.Close()); err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), "terminal") // which, unlike blocking, is closed amid a read
	t.Cleanup(func() { _ = errors.Join(file.Close(), tty.Close()) })
	w := &terminal{t: t, file: file, tty: tty}
	if w.found, err = term.GetState(int(tty.Fd())); err != nil {
		t.Fatal(err)
	}
	assay, err := exec.LookPath("assay")
	if err != nil {
		t.Fatal(err)
	}
	w.cmd = exec.Command(assay, args...)
	w.cmd.Stdin, w.cmd.Stdout, w.cmd.Stderr = tty, tty, tty
	w.cmd.Env = append(os.Environ(), env...)
	go func() { _, _ = io.Copy(&w.shown, file) }() // until file is closed
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return w
}

// quit ends the command by a key, and fails unless the terminal is as it was.
func (b *terminal) quit(key string) {
	b.t.Helper()
	b.press(key)
	if err := b.cmd.Wait(); err != nil {
		b.t.Errorf("quit by %q: %v", key, err)
	}
	if left, err := term.GetState(int(b.tty.Fd())); err != nil || *left != *b.found {
		b.t.Errorf("the terminal is in another state than before: %v", err)
	}
	b.press("", "\x1b[?1049l", "\x1b[?25h") // the screen, and the cursor
}
