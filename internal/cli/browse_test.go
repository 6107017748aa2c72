package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/assaydb/assay/kv"
)

// browsing returns a browser of a new store with these pairs, which shows its first page.
func browsing(t *testing.T, pairs map[string]string) (browser, *kv.DB) {
	t.Helper()
	db, err := kv.Open(t.Context(), "bbolt:"+filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	var b kv.Batch
	for k, v := range pairs {
		b.Put([]byte(k), []byte(v))
	}
	if err := db.Write(t.Context(), kv.Synced, &b); err != nil {
		t.Fatal(err)
	}
	shown := newBrowser(t.Context(), db, nil)
	return tell(t, shown, shown.Init()()), db
}

// tell gives a browser a message, and what it then asks for, until it asks for nothing.
func tell(t *testing.T, b browser, msg tea.Msg) browser {
	t.Helper()
	for {
		next, cmd := b.Update(msg)
		b = next.(browser)
		if cmd == nil {
			return b
		}
		switch msg = cmd(); msg.(type) {
		case pageRead, valueRead:
		default: // nothing, or of the terminal
			return b
		}
	}
}

func numbered(n int) map[string]string {
	pairs := map[string]string{}
	for i := range n {
		pairs[fmt.Sprintf("%03d", i)] = "v"
	}
	return pairs
}

var (
	pgup   = tea.KeyPressMsg{Code: tea.KeyPgUp}
	pgdown = tea.KeyPressMsg{Code: tea.KeyPgDown}
	enter  = tea.KeyPressMsg{Code: tea.KeyEnter}
)

// TestKeysThatAreRemovedWhileTheyAreBrowsed: a page of which nothing is left is no end.
func TestKeysThatAreRemovedWhileTheyAreBrowsed(t *testing.T) {
	remove := func(db *kv.DB, from, to string) {
		err := db.Update(t.Context(), kv.Synced, func(tx *kv.Tx) error {
			return tx.DeleteRange(kv.Range{Start: []byte(from), End: []byte(to)})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	b, db := browsing(t, numbered(60))
	rows := b.rows()
	remove(db, fmt.Sprintf("%03d", rows), "999")
	for range 3 {
		b = tell(t, b, pgdown)
		b = tell(t, b, pgup)
	}
	if got := len(b.page.keys); got != rows {
		t.Errorf("%d keys are shown, want %d", got, rows)
	}

	b, db = browsing(t, numbered(60))
	b = tell(t, b, pgdown)
	remove(db, "000", fmt.Sprintf("%03d", rows))
	for range 3 {
		b = tell(t, b, pgup)
		b = tell(t, b, pgdown)
	}
	if len(b.page.keys) == 0 {
		t.Error("no keys are shown")
	}
}

// TestAPageThatComesLate is not shown: another one was asked for since.
func TestAPageThatComesLate(t *testing.T) {
	b, _ := browsing(t, map[string]string{"a": "", "b": ""})
	b.prefix = []byte("a")
	late := b.read(nil, false)
	b.prefix = []byte("b")
	b = tell(t, b, b.read(nil, false)())
	b = tell(t, b, late())
	if len(b.page.keys) != 1 || string(b.page.keys[0]) != "b" {
		t.Errorf("the page of the prefix b shows %q", b.page.keys)
	}
}

// TestAValueThatComesLate does not take the screen from who types a prefix.
func TestAValueThatComesLate(t *testing.T) {
	b, _ := browsing(t, map[string]string{"a": "1"})
	late := b.readValue([]byte("a"))
	b = tell(t, b, tea.KeyPressMsg{Code: '/', Text: "/"})
	if b = tell(t, b, late()); b.at != prefixScreen {
		t.Errorf("the screen is %v, want that of the prefix", b.at)
	}
}

// TestALongValueIsShownInPart, as its forms take many times as much memory.
func TestALongValueIsShownInPart(t *testing.T) {
	const letter = "é"
	b, _ := browsing(t, map[string]string{"a": "x" + strings.Repeat(letter, mostOfValue)})
	b = tell(t, b, enter)
	if b.at != valueScreen {
		t.Fatalf("the screen is %v", b.at)
	}
	if n := len(b.text.GetContent()); n > mostOfValue {
		t.Errorf("%d bytes are shown, at most %d", n, mostOfValue)
	}
	if top := b.View().Content; !strings.Contains(top, "of which the first 1048575 as text") {
		t.Errorf("the screen does not say so: %.200s", top)
	}
}

// TestKeysWithQuotes are shown whole.
func TestKeysWithQuotes(t *testing.T) {
	b, _ := browsing(t, map[string]string{`say "a"`: ""})
	if view := b.keys.View(); !strings.Contains(view, `say \"a\"`) {
		t.Errorf("the key is shown as %q", view)
	}
}

// TestNotesAreOneLine: what has more would push the keys from the screen.
func TestNotesAreOneLine(t *testing.T) {
	b, _ := browsing(t, map[string]string{"a": ""})
	lines := func() int { return strings.Count(b.View().Content, "\n") }
	want := lines()
	b = tell(t, b, storesRead{err: errors.New("one\ntwo")})
	if got := lines(); got != want {
		t.Errorf("the screen has %d lines, and had %d", got, want)
	}
}
