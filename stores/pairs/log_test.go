package pairs_test

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/eventlog/sqllog"
	"github.com/assaydb/assay/transfer"
)

// openLog opens the log at a place. What it returns closes all.
func openLog(t *testing.T, p place) (*eventlog.Log, func()) {
	t.Helper()
	o := eventlog.Options{Streams: true}
	var db *kv.DB
	var log *eventlog.Log
	var err error
	if p.form == "sql" {
		log, err = sqllog.Open(t.Context(), p.path, &sqllog.Options{Options: o})
	} else {
		db = p.engine(t)
		log, err = eventlog.Open(t.Context(), db.Namespace([]byte(p.prefix)), &o)
	}
	if err != nil {
		t.Fatal(err)
	}
	return log, func() {
		t.Helper()
		err := log.Close()
		if db != nil {
			err = errors.Join(err, db.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// fillLog leaves one of everything in a log that is empty. The last position is n+2.
func fillLog(t *testing.T, p place, n int) {
	t.Helper()
	ctx := t.Context()
	log, end := openLog(t, p)
	defer end()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	one := func(stream string, d eventlog.Draft) {
		t.Helper()
		_, err := log.Append(ctx, kv.Buffered, stream, eventlog.Any, d)
		must(err)
	}
	one("ended", eventlog.Draft{Type: "First"})
	one("ended", eventlog.Draft{Type: "Second", ID: "id of one that is removed"})
	one("goes on", eventlog.Draft{Type: "First"})
	at := time.Date(1999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
	for i := 3; i < n; i++ {
		d := eventlog.Draft{Type: "Happened", Time: at.Add(time.Duration(i)), Data: fmt.Appendf(nil, "{\"n\":%d}\n\x00\xff", i)}
		stream := fmt.Sprint("stream ", i%13)
		switch i % 8 {
		case 0:
			stream = ""
		case 1:
			d.Data = nil
		case 2:
			d.ID = fmt.Sprintf("id %d é", n-i) // not in the order of positions
		case 3:
			d.Meta = map[string]string{"cause": "<x & \u2028 \"y\">", "a": ""}
		case 4:
			stream = "goes on"
		case 5:
			stream = "name with \x00 and \x00\xc2\xa0"
		}
		one(stream, d)
	}
	one("large", eventlog.Draft{Type: "Large", Data: bytes.Repeat([]byte("0123456789abcdef"), 1<<16), ID: "large"})
	must(log.Truncate(ctx, kv.Synced, 5)) // the stream "ended" has no event left, "goes on" has
	for _, name := range []string{"mailer", "auditor \x00", "new"} {
		sub, err := log.Subscribe(ctx, name)
		must(err)
		if name != "new" {
			_, err = sub.Next(ctx, 50)
			must(err)
			must(sub.Ack(ctx, kv.Synced, 20))
		}
	}
	b := log.Backend()
	must(b.Park(ctx, kv.Synced, "mailer", 7, "no such address\n\xff"))
	must(b.Park(ctx, kv.Synced, "mailer", 9, ""))
	must(b.Lease(ctx, "shared/0", "worker", 1000, 1<<45))
	must(b.Lease(ctx, "shared/1", "gone", 1000, 2000))
	must(b.Lease(ctx, "shared/1", "gone", 1001, 0))
	one("last", eventlog.Draft{Type: "Last"})
}

// showLog is what a log says that it holds.
func showLog(t *testing.T, p place) string {
	t.Helper()
	ctx := t.Context()
	log, end := openLog(t, p)
	defer end()
	var text bytes.Buffer
	tell := func(err error, values ...any) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&text, values...)
	}
	for e, err := range log.All(ctx, eventlog.Range{}) {
		e.Data = e.Data[:min(len(e.Data), 100)]
		tell(err, fmt.Sprintf("%d %q %d %q %q %v %q %q", e.Position, e.Stream, e.Version, e.Type, e.Data, e.Time, e.ID, e.Meta))
	}
	streams, err := log.Streams(ctx, "", "", 1000)
	tell(err, fmt.Sprintf("%+v", streams))
	for _, s := range streams {
		events, err := log.LoadStream(ctx, s.Name, eventlog.Range{})
		tell(err, len(events))
		version, err := log.StreamVersion(ctx, s.Name)
		tell(err, version)
	}
	subs, err := log.Subscriptions(ctx)
	tell(err, fmt.Sprintf("%+v", subs))
	for _, s := range subs {
		parked, err := log.Backend().Parked(ctx, s.Name)
		tell(err, fmt.Sprintf("%+v", parked))
	}
	leases, err := log.Backend().Leases(ctx, "")
	tell(err, fmt.Sprintf("%+v", leases))
	return text.String()
}

// logGoesOn goes on with a log that fillLog filled, as with the first one.
func logGoesOn(t *testing.T, p place, n int) {
	t.Helper()
	ctx := t.Context()
	log, end := openLog(t, p)
	defer end()
	next := uint64(n + 3)
	for _, id := range []string{"large", "id of one that is removed", fmt.Sprintf("id %d é", n-10)} {
		events, err := log.Load(ctx, eventlog.Range{})
		if err != nil {
			t.Fatal(err)
		}
		d, stream := eventlog.Draft{Type: "Second", ID: id}, "ended"
		for _, e := range events {
			if e.ID == id {
				d, stream = eventlog.Draft{Type: e.Type, Data: e.Data, ID: id, Time: e.Time}, e.Stream
			}
		}
		if done, err := log.Append(ctx, kv.Synced, stream, eventlog.Empty, d); err != nil || done.First >= next {
			t.Errorf("the append %q again: %+v, %v", id, done, err)
		}
		d.Type = "Other"
		if _, err := log.Append(ctx, kv.Synced, stream, eventlog.Any, d); !errors.Is(err, kv.Conflict) {
			t.Errorf("another append %q: %v", id, err)
		}
	}
	if err := log.Backend().Lease(ctx, "shared/0", "another", 5000, 6000); !errors.Is(err, kv.Conflict) {
		t.Errorf("a lease that another has: %v", err)
	}
	if err := log.Backend().Lease(ctx, "shared/1", "another", 5000, 6000); err != nil {
		t.Errorf("a lease that was given back: %v", err)
	}
	sub, err := log.Subscribe(ctx, "mailer")
	if err != nil {
		t.Fatal(err)
	}
	if events, err := sub.Next(ctx, 1); err != nil || events[0].Position != 21 {
		t.Errorf("the subscription goes on at %v, %v, want 21", events, err)
	}
	if done, err := log.Append(ctx, kv.Synced, "ended", eventlog.Version(2), eventlog.Draft{Type: "Third"}); err != nil ||
		done.First != next || done.Version != 3 {
		t.Errorf("the next event: %+v, %v, want position %d and version 3", done, err, next)
	}
}

// TestLogMoves moves a log through its forms: each says the same of itself, and goes on where the
// first was.
func TestLogMoves(t *testing.T) {
	t.Parallel()
	const n = 300
	places := chain(t)
	fillLog(t, places[0], n)
	moved(t, "log", places, showLog)
	for _, p := range places[1:] {
		logGoesOn(t, p, n)
	}
}

// TestLogThatSkippedPositions: positions that may have been those of lost events are not used in
// the new form either.
func TestLogThatSkippedPositions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from := place{form: "sql", path: filepath.Join(dir, "from")}
	log, end := openLog(t, from)
	if _, err := log.Append(t.Context(), kv.Flushed, "", eventlog.Any, eventlog.Draft{Type: "One"}); err != nil {
		t.Fatal(err)
	}
	// the log is open, and has reserved positions for what a power loss may take back
	to := place{form: "pebble", path: filepath.Join(dir, "to")}
	if _, err := transfer.Copy(t.Context(), from.URL("log"), to.URL("log"), nil); err != nil {
		t.Fatal(err)
	}
	end()
	log, end = openLog(t, to)
	defer end()
	done, err := log.Append(t.Context(), kv.Synced, "", eventlog.Any, eventlog.Draft{Type: "Two"})
	if err != nil || done.First <= eventlog.FirstBlock(0) {
		t.Errorf("the next event is at %d, %v: below what was reserved", done.First, err)
	}
}

// TestLogWithoutEvents: subscriptions alone are moved, and whether there are streams is still open.
func TestLogWithoutEvents(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from, to := place{form: "bbolt", path: filepath.Join(dir, "from")}, place{form: "sql", path: filepath.Join(dir, "to")}
	db := from.engine(t)
	log, err := eventlog.Open(t.Context(), db, nil)
	if err == nil {
		_, err = log.Subscribe(t.Context(), "early")
	}
	if err = errors.Join(err, log.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := transfer.Copy(t.Context(), from.URL("log"), to.URL("log"), nil); err != nil {
		t.Fatal(err)
	}
	log, end := openLog(t, to)
	defer end()
	if subs, err := log.Subscriptions(t.Context()); err != nil || len(subs) != 1 {
		t.Errorf("subscriptions: %v, %v", subs, err)
	}
}

// TestLogKilled kills processes that copy a log.
func TestLogKilled(t *testing.T) {
	dir := t.TempDir()
	from := place{form: "pebble", path: filepath.Join(t.TempDir(), "from")}
	fillLog(t, from, 2000)
	killed(t, "log", from, place{form: "sql", path: filepath.Join(dir, "to")})
	killed(t, "log", place{form: "sql", path: filepath.Join(dir, "to-first")},
		place{form: "bbolt", path: filepath.Join(dir, "back")})
}

// TestLogDamaged: reading a log whose own records contradict each other is Corrupt, and nothing is
// at the destination.
func TestLogDamaged(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(tx *kv.Tx) error{
		"an entry of the index is lost": func(tx *kv.Tx) error {
			return tx.Delete(kv.AppendUint64(kv.AppendString([]byte("s"), "goes on"), 5))
		},
		"an event is lost": func(tx *kv.Tx) error { return tx.Delete(kv.AppendUint64([]byte("e"), 12)) },
		"an event of no version more": func(tx *kv.Tx) error {
			return tx.Put(kv.AppendUint64(kv.AppendString([]byte("s"), "stream 1"), 999), kv.AppendUint64(nil, 12))
		},
		"an id is cut": func(tx *kv.Tx) error {
			return tx.Put(append(kv.AppendUint64([]byte("i"), 0), "large"...), []byte("short"))
		},
		"meta is lost": func(tx *kv.Tx) error { return tx.Delete([]byte("m")) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			from, to := place{form: "bbolt", path: filepath.Join(dir, "from")}, place{form: "sql", path: filepath.Join(dir, "to")}
			fillLog(t, from, 100)
			db := from.engine(t)
			if err := errors.Join(db.Update(t.Context(), kv.Synced, damage), db.Close()); err != nil {
				t.Fatal(err)
			}
			if _, err := transfer.Copy(t.Context(), from.URL("log"), to.URL("log"), nil); !errors.Is(err, kv.Corrupt) {
				t.Errorf("a copy of it: %v", err)
			}
			if matches, _ := filepath.Glob(to.path); len(matches) > 0 {
				t.Errorf("there is %v", matches)
			}
		})
	}
}

// TestLogMigrates: a log that an older program appends to after it was moved gets what is new; one
// from which something was removed is an error, and stays as it is.
func TestLogMigrates(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i, forms := range [][2]string{{"bbolt", "sql"}, {"sql", "pebble"}} {
		from := place{form: forms[0], path: filepath.Join(dir, fmt.Sprint("from", i))}
		to := place{form: forms[1], path: filepath.Join(dir, fmt.Sprint("to", i))}
		fillLog(t, from, 100)
		migrate := func() (transfer.Migration, error) {
			return transfer.Migrate(t.Context(), from.URL("log"), to.URL("log"), nil)
		}
		if done, err := migrate(); err != nil || done.Outcome != transfer.Moved {
			t.Fatalf("%v: %+v, %v", forms, done, err)
		}
		log, end := openLog(t, from)
		_, err := log.Append(t.Context(), kv.Synced, "last", eventlog.Version(1), eventlog.Draft{Type: "Later", ID: "later"})
		if err != nil {
			t.Fatal(err)
		}
		end()
		if done, err := migrate(); err != nil || done.Outcome != transfer.Caught {
			t.Fatalf("%v, after another event: %+v, %v", forms, done, err)
		}
		want := showLog(t, from)
		if got := showLog(t, to); got != want {
			t.Errorf("%v: what the store shows differs:\n%s\nwant\n%s", forms, excerpt(got, want), excerpt(want, got))
		}
		log, end = openLog(t, from)
		if err := log.Truncate(t.Context(), kv.Synced, 30); err != nil {
			t.Fatal(err)
		}
		end()
		if done, err := migrate(); !errors.Is(err, kv.Unsupported) {
			t.Errorf("%v, after events were removed: %+v, %v", forms, done, err)
		}
		if got := showLog(t, to); got != want {
			t.Errorf("%v: a migration that failed has changed the new log", forms)
		}
	}
}
