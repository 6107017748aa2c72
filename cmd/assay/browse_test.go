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

// TestBrowse walks through a store in a terminal, and finds the terminal afterwards as it was.
func TestBrowse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	db, err := kv.Open(t.Context(), "bbolt:"+path)
	if err != nil {
		t.Fatal(err)
	}
	var b kv.Batch
	for i := range 1000 {
		b.Put(fmt.Appendf(nil, "key/%04d", i), fmt.Appendf(nil, "value %d", i))
	}
	b.Put([]byte("json"), []byte(`{"name":"ann"}`))
	b.Put([]byte("bytes"), []byte("\x00\xff"))
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
		w.press("", "bytes", "json", "key/0018", "q: quit")
		w.press("\x1b[6~", "0019", "0039")                 // page down
		w.press("\x1b[F", "0999")                          // end
		w.press("\x1b[H", "json", "key/0018")              // home
		w.press("\r", `"bytes", 2 bytes, as hex`, "00 ff") // enter
		w.press("\t", "as json", "it is no json")
		w.press("\x1b", "json", "key/0018") // escape
		w.press("/", "prefix:")
		w.press("key/05\r", `keys that begin with "key/05"`, "500", "520")
		w.press("\r", `"key/0500", 9 bytes, as text`, "value 500")
		w.press("\x1b", "key/0500")
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
