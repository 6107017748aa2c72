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
	"golang.org/x/term"

	"github.com/assaydb/assay/kv"
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
	file  *os.File
	shown screen
	seen  int // bytes of what was shown that were waited for
}

// press types keys, and waits until all of want were shown since the last time. Only a hang lasts a minute.
func (b *terminal) press(keys string, want ...string) {
	b.t.Helper()
	if _, err := b.file.WriteString(keys); err != nil {
		b.t.Fatal(err)
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

// keyOf returns a key that has no sign in common with another one, and in the same place: a browser writes what changes on
// the screen, and no more.
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
		file, tty, err := pty.Open()
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		defer tty.Close()
		if err := pty.Setsize(file, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
			t.Fatal(err)
		}
		found, err := term.GetState(int(tty.Fd()))
		if err != nil {
			t.Fatal(err)
		}
		assay, err := exec.LookPath("assay")
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(assay, "inspect", "bbolt:"+path, "browse")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
		cmd.Env = append(os.Environ(), "TERM=xterm-256color")
		w := &terminal{t: t, file: file}
		go func() { _, _ = io.Copy(&w.shown, file) }() // until file is closed
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
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
		w.press(quit)
		err = cmd.Wait()
		if err != nil {
			t.Errorf("quit by %q: %v", quit, err)
		}
		left, err := term.GetState(int(tty.Fd()))
		if err != nil || *left != *found {
			t.Errorf("the terminal is in another state than before: %v", err)
		}
		if text := w.shown.since(0); !strings.Contains(text, "\x1b[?1049l") || !strings.Contains(text, "\x1b[?25h") {
			t.Errorf("neither the screen nor the cursor was given back: %q", text[max(0, len(text)-300):])
		}
	}
	if after := contents(t, path); after[path] != before[path] {
		t.Error("browsing changed the store")
	}
}
