package pairs_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog/feed"
	"github.com/assaydb/assay/stores/eventlog/margaret"
	"github.com/assaydb/assay/transfer"
)

const inZstd = "&compression=zstd&block=1000"

// openFeed opens the feed at a place. What it returns closes all.
func openFeed(t *testing.T, p place) (*feed.Feed, func()) {
	t.Helper()
	if p.form == "margaret" {
		log, err := margaret.Open(t.Context(), p.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		return log.Feed, func() {
			t.Helper()
			if err := log.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	o := feed.Options{Block: 1000}
	if p.settings == inZstd {
		o.Compression = feed.Zstd
	}
	db := p.engine(t)
	f, err := feed.Open(t.Context(), db.Namespace([]byte(p.prefix)), &o)
	if err != nil {
		t.Fatal(err)
	}
	return f, func() {
		t.Helper()
		if err := errors.Join(f.Close(), db.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// fillFeed appends n messages, some of them empty, one of them large.
func fillFeed(t *testing.T, p place, n int) {
	t.Helper()
	f, end := openFeed(t, p)
	defer end()
	for i := 0; i < n; {
		var messages [][]byte
		for range min(1+i%7, n-i) {
			m := bytes.Repeat(fmt.Appendf(nil, "%d \x00\xff\n", i), i%40)
			if i == 30 {
				m = bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
			}
			messages = append(messages, m)
			i++
		}
		if _, err := f.Append(t.Context(), kv.Synced, messages...); err != nil {
			t.Fatal(err)
		}
	}
}

// showFeed is what a feed says that it holds.
func showFeed(t *testing.T, p place) string {
	t.Helper()
	f, end := openFeed(t, p)
	defer end()
	var text strings.Builder
	err := f.View(t.Context(), func(s *feed.Snapshot) error {
		fmt.Fprintln(&text, s.First(), s.Len())
		for seq, m := range s.Scan(0, s.Len()) {
			fmt.Fprintf(&text, "%d %v %.100q %d\n", seq, m == nil, m, len(m))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// feedGoesOn appends a message, which must get the number n.
func feedGoesOn(t *testing.T, p place, n uint64) {
	t.Helper()
	f, end := openFeed(t, p)
	defer end()
	if first, err := f.Append(t.Context(), kv.Synced, []byte("next")); err != nil || first != n {
		t.Errorf("the next message has the number %d, %v, want %d", first, err, n)
	}
	if m, err := f.Get(t.Context(), n); err != nil || string(m) != "next" {
		t.Errorf("the next message is %q, %v", m, err)
	}
}

// TestFeedMoves moves a feed through its forms: each says the same of itself, and goes on where the
// first was.
func TestFeedMoves(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	places := []place{{form: "bbolt", prefix: "a/\x00 b/"}, {form: "margaret"}, {form: "pebble", settings: inZstd},
		{form: "sqlite"}, {form: "margaret"}, {form: "badger", prefix: "f/", settings: inZstd},
		{form: "leveldb", settings: inZstd}, {form: "bunt"}, {form: "margaret"}}
	for i := range places {
		places[i].path = filepath.Join(dir, fmt.Sprint(i, places[i].form))
	}
	if testing.Short() {
		places = places[:4]
	}
	const n = 300
	fillFeed(t, places[0], n)
	moved(t, "feed", places, showFeed)
	for _, p := range places[1:] {
		feedGoesOn(t, p, n)
		check(t, p.URL("feed"))
	}
}

// TestFeedTrimmed: a feed that was trimmed keeps its numbers in keys, also one of which nothing is
// left, and does not fit into Margaret's files.
func TestFeedTrimmed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, before := range []uint64{41, 100} {
		from := place{form: "bbolt", path: filepath.Join(dir, fmt.Sprint("from", before)), settings: inZstd}
		fillFeed(t, from, 100)
		f, end := openFeed(t, from)
		if err := f.Trim(t.Context(), kv.Synced, before); err != nil {
			t.Fatal(err)
		}
		end()
		want := showFeed(t, from)
		for _, to := range []place{{form: "pebble"}, {form: "sqlite", settings: inZstd}} {
			to.path = filepath.Join(dir, fmt.Sprint(to.form, before))
			if _, err := transfer.Copy(t.Context(), from.URL("feed"), to.URL("feed"), nil); err != nil {
				t.Fatal(err)
			}
			if got := showFeed(t, to); got != want {
				t.Errorf("%s shows\n%.100s\nwant\n%.100s", to.form, got, want)
			}
			feedGoesOn(t, to, 100)
		}
		to := place{form: "margaret", path: filepath.Join(dir, fmt.Sprint("files", before))}
		if _, err := transfer.Copy(t.Context(), from.URL("feed"), to.URL("feed"), nil); !errors.Is(err, kv.Unsupported) {
			t.Errorf("into Margaret's files: %v", err)
		}
	}
}

// TestFeedErased: messages that were erased are so in Margaret's files, and do not fit into keys.
func TestFeedErased(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from, to := place{form: "margaret", path: filepath.Join(dir, "from")}, place{form: "margaret", path: filepath.Join(dir, "to")}
	fillFeed(t, from, 100)
	log, err := margaret.Open(t.Context(), from.path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(log.Null(t.Context(), 1), log.Null(t.Context(), 99), log.Close()); err != nil {
		t.Fatal(err)
	}
	want := showFeed(t, from)
	if _, err := transfer.Copy(t.Context(), from.URL("feed"), to.URL("feed"), nil); err != nil {
		t.Fatal(err)
	}
	check(t, to.URL("feed"))
	// the length of what was erased is not told
	if got := showFeed(t, to); got != want || strings.Count(got, "true") != 2 {
		t.Errorf("the copy shows\n%.300s\nwant\n%.300s", got, want)
	}
	feedGoesOn(t, to, 100)
	to = place{form: "bbolt", path: filepath.Join(dir, "keys")}
	if _, err := transfer.Copy(t.Context(), from.URL("feed"), to.URL("feed"), nil); !errors.Is(err, kv.Unsupported) {
		t.Errorf("into keys: %v", err)
	}
}

// TestFeedKilled kills processes that copy a feed.
func TestFeedKilled(t *testing.T) {
	dir := t.TempDir()
	from := place{form: "pebble", path: filepath.Join(t.TempDir(), "from"), settings: inZstd}
	fillFeed(t, from, 3000)
	killed(t, "feed", from, place{form: "margaret", path: filepath.Join(dir, "to")})
	killed(t, "feed", place{form: "margaret", path: filepath.Join(dir, "to-first")},
		place{form: "bbolt", path: filepath.Join(dir, "back"), settings: inZstd})
}

// TestFeedDamaged: reading a feed of which something is missing is Corrupt, and nothing is at the
// destination.
func TestFeedDamaged(t *testing.T) {
	t.Parallel()
	message := func(prefix byte, seq uint64) []byte { return kv.AppendUint64([]byte{prefix}, seq) }
	for name, c := range map[string]struct {
		settings string
		damage   func(tx *kv.Tx) error
	}{
		"a message is lost":  {"", func(tx *kv.Tx) error { return tx.Delete(message('q', 12)) }},
		"a block is lost":    {inZstd, func(tx *kv.Tx) error { return tx.Delete(message('z', 0)) }},
		"a block is damaged": {inZstd, func(tx *kv.Tx) error { return tx.Put(message('z', 0), []byte("no block")) }},
		"meta is damaged":    {"", func(tx *kv.Tx) error { return tx.Put([]byte("m"), []byte("no meta")) }},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			from := place{form: "bbolt", path: filepath.Join(dir, "from"), settings: c.settings}
			to := place{form: "margaret", path: filepath.Join(dir, "to")}
			fillFeed(t, from, 100)
			db := from.engine(t)
			if err := errors.Join(db.Update(t.Context(), kv.Synced, c.damage), db.Close()); err != nil {
				t.Fatal(err)
			}
			if _, err := transfer.Copy(t.Context(), from.URL("feed"), to.URL("feed"), nil); !errors.Is(err, kv.Corrupt) {
				t.Errorf("a copy of it: %v", err)
			}
			if matches, _ := filepath.Glob(to.path); len(matches) > 0 {
				t.Errorf("there is %v", matches)
			}
		})
	}
}

// TestFeedDamagedWhenOpened: what is wrong with a folder of Margaret's files is said as it is.
func TestFeedDamagedWhenOpened(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from := place{form: "margaret", path: filepath.Join(dir, "from")}
	fillFeed(t, from, 100)
	if err := os.Remove(filepath.Join(from.path, "ofst")); err != nil {
		t.Fatal(err)
	}
	_, err := transfer.Copy(t.Context(), from.URL("feed"), "feed:"+filepath.Join(dir, "to")+"?form=bbolt", nil)
	if !errors.Is(err, kv.Corrupt) || !strings.Contains(err.Error(), "one of the others is missing") {
		t.Errorf("a copy of it: %v", err)
	}
}

// TestFeedMigrates: a feed that an older program appends to after it was moved gets what is new;
// one that was trimmed is an error, and stays as it is.
func TestFeedMigrates(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i, forms := range [][2]place{{{form: "bbolt", settings: inZstd}, {form: "sqlite"}},
		{{form: "margaret"}, {form: "pebble", settings: inZstd}}, {{form: "sqlite"}, {form: "margaret"}}} {
		from, to := forms[0], forms[1]
		from.path, to.path = filepath.Join(dir, fmt.Sprint("from", i)), filepath.Join(dir, fmt.Sprint("to", i))
		fillFeed(t, from, 100)
		migrate := func() (transfer.Migration, error) {
			return transfer.Migrate(t.Context(), from.URL("feed"), to.URL("feed"), nil)
		}
		if done, err := migrate(); err != nil || done.Outcome != transfer.Moved {
			t.Fatalf("%v: %+v, %v", forms, done, err)
		}
		feedGoesOn(t, from, 100)
		if done, err := migrate(); err != nil || done.Outcome != transfer.Caught {
			t.Fatalf("%v, after another message: %+v, %v", forms, done, err)
		}
		want := showFeed(t, from)
		if got := showFeed(t, to); got != want {
			t.Errorf("%v: what the feed shows differs:\n%s\nwant\n%s", forms, excerpt(got, want), excerpt(want, got))
		}
		if from.form == "margaret" {
			continue
		}
		f, end := openFeed(t, from)
		if err := f.Trim(t.Context(), kv.Synced, 30); err != nil {
			t.Fatal(err)
		}
		end()
		if done, err := migrate(); err == nil {
			t.Errorf("%v, after messages were trimmed: %+v, %v", forms, done, err)
		}
		if got := showFeed(t, to); got != want {
			t.Errorf("%v: a migration that failed has changed the new feed", forms)
		}
	}
}
