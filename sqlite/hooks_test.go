//go:build cgo

package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/sqlite"
)

func TestCallbacksTellWhatHappens(t *testing.T) {
	c := open(t, filepath.Join(t.TempDir(), "a.db"), &sqlite.Options{Journal: "wal"})
	var seen []string
	say := func(format string, args ...any) { seen = append(seen, fmt.Sprintf(format, args...)) }
	check(t, c.OnCommit(func() error { say("commit"); return nil }))
	check(t, c.OnRollback(func() { say("rollback") }))
	check(t, c.OnUpdate(func(u sqlite.Change) { say("%d %s.%s %d", u.Op, u.Schema, u.Table, u.Row) }))
	check(t, c.OnWAL(func(schema string, pages int) { say("wal %s %v", schema, pages > 0) }))
	exec(t, c, "CREATE TABLE t (a)")
	exec(t, c, "INSERT INTO t VALUES (1)")
	exec(t, c, "BEGIN; UPDATE t SET a = 2; ROLLBACK")
	exec(t, c, "DELETE FROM t WHERE a = 1")
	want := "commit, wal main true, 18 main.t 1, commit, wal main true, 23 main.t 1, rollback, 9 main.t 1, commit, wal main true"
	if got := strings.Join(seen, ", "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	check(t, c.OnCommit(nil))
	check(t, c.OnRollback(nil))
	check(t, c.OnUpdate(nil))
	check(t, c.OnWAL(nil))
	seen = nil
	exec(t, c, "INSERT INTO t VALUES (1)")
	if len(seen) > 0 {
		t.Error(seen)
	}
}

func TestTracesTellStatements(t *testing.T) {
	c := open(t, ":memory:", nil)
	exec(t, c, `CREATE TABLE t (a); CREATE TABLE log (a);
		CREATE TRIGGER tr AFTER INSERT ON t BEGIN INSERT INTO log VALUES (new.a); END`)
	var seen []string
	all := sqlite.TraceStatement | sqlite.TraceProfile | sqlite.TraceRow | sqlite.TraceClose
	check(t, c.OnTrace(all, func(e sqlite.Event) {
		seen = append(seen, fmt.Sprintf("%d %s", e.Kind, e.SQL))
		if e.Kind == sqlite.TraceProfile && (e.Duration <= 0 || e.At < e.Duration) {
			t.Errorf("a duration of %v at %v", e.Duration, e.At)
		}
	}))
	exec(t, c, "INSERT INTO t VALUES (1)")
	text(t, c, "SELECT a FROM t")
	check(t, c.Close())
	want := []string{"1 INSERT INTO t VALUES (1)", "1 -- TRIGGER tr", "2 INSERT INTO t VALUES (1)",
		"1 SELECT a FROM t", "4 SELECT a FROM t", "2 SELECT a FROM t", "8 "}
	var got []string
	for _, s := range seen {
		if s != "1 -- INSERT INTO log VALUES (new.a)" { // some versions tell it
			got = append(got, s)
		}
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s", strings.Join(seen, "\n"))
	}
}

func TestACallbackThatPanicsIsAnError(t *testing.T) {
	many := `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i < 100000) SELECT count(*) FROM n`
	for name, set := range map[string]func(c *sqlite.Conn) error{
		"trace":    func(c *sqlite.Conn) error { return c.OnTrace(sqlite.TraceProfile, func(sqlite.Event) { panic("boo") }) },
		"wal":      func(c *sqlite.Conn) error { return c.OnWAL(func(string, int) { panic("boo") }) },
		"commit":   func(c *sqlite.Conn) error { return c.OnCommit(func() error { panic("boo") }) },
		"update":   func(c *sqlite.Conn) error { return c.OnUpdate(func(sqlite.Change) { panic("boo") }) },
		"progress": func(c *sqlite.Conn) error { return c.OnProgress(func() error { panic("boo") }) },
		"authorize": func(c *sqlite.Conn) error {
			return c.OnAuthorize(func(sqlite.Access) sqlite.Decision { panic("boo") })
		},
		"rollback": func(c *sqlite.Conn) error { return c.OnRollback(func() { panic("boo") }) },
	} {
		t.Run(name, func(t *testing.T) {
			c := open(t, filepath.Join(t.TempDir(), "a.db"), &sqlite.Options{Journal: "wal"})
			exec(t, c, "CREATE TABLE t (a)")
			check(t, set(c))
			err := c.Exec(t.Context(), "INSERT INTO t VALUES (1);"+many+"; BEGIN; INSERT INTO t VALUES (2); ROLLBACK")
			if err == nil || !strings.Contains(err.Error(), "callback panicked: boo") {
				t.Fatal(err)
			}
			for _, unset := range []error{c.OnTrace(0, nil), c.OnWAL(nil), c.OnCommit(nil), c.OnUpdate(nil),
				c.OnProgress(nil), c.OnAuthorize(nil), c.OnRollback(nil)} {
				check(t, unset)
			}
			check(t, c.Rollback())
			exec(t, c, "INSERT INTO t VALUES (3)")
			if got := text(t, c, "SELECT a FROM t WHERE a = 3"); got != "3" {
				t.Error(got)
			}
		})
	}
}

func TestCallbacksDecide(t *testing.T) {
	c := open(t, ":memory:", nil)
	exec(t, c, "CREATE TABLE t (a, secret); INSERT INTO t VALUES (1, 2)")
	no := errors.New("not today")
	check(t, c.OnCommit(func() error { return no }))
	if err := c.Exec(t.Context(), "INSERT INTO t VALUES (2, 3)"); !errors.Is(err, no) {
		t.Error(err)
	}
	check(t, c.OnCommit(nil))
	check(t, c.OnAuthorize(func(a sqlite.Access) sqlite.Decision {
		const deleteRow, read = 9, 20
		switch {
		case a.Action == deleteRow:
			return sqlite.Deny
		case a.Action == read && a.B == "secret":
			return sqlite.Ignore
		}
		return sqlite.Allow
	}))
	if got := text(t, c, "SELECT a, secret FROM t"); got != "1|NULL" {
		t.Error(got)
	}
	wantKind(t, c.Exec(t.Context(), "DELETE FROM t"), kv.Permission)
	check(t, c.OnProgress(func() error { return no }))
	err := c.Exec(t.Context(), "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n) SELECT count(*) FROM n")
	if !errors.Is(err, no) {
		t.Error(err)
	}
}

// TestAnAuthorizerIsAskedAgain has it come, and the schema change, behind what was prepared.
func TestAnAuthorizerIsAskedAgain(t *testing.T) {
	c := open(t, ":memory:", nil)
	exec(t, c, "CREATE TABLE t (a); CREATE TABLE log (a); INSERT INTO t VALUES (1)")
	erase, insert := prepare(t, c, "DELETE FROM t"), prepare(t, c, "INSERT INTO t VALUES (2)")
	asked := 0
	check(t, c.OnAuthorize(func(a sqlite.Access) sqlite.Decision {
		const deleteRow = 9
		asked++
		if a.Action == deleteRow && a.A != "sqlite_master" {
			return sqlite.Deny
		}
		return sqlite.Allow
	}))
	wantKind(t, erase.Run(t.Context()), kv.Permission)
	check(t, insert.Run(t.Context()))
	exec(t, c, "CREATE TRIGGER tr AFTER INSERT ON t BEGIN DELETE FROM log; END")
	wantKind(t, insert.Run(t.Context()), kv.Permission)
	exec(t, c, "DROP TRIGGER tr")
	check(t, insert.Run(t.Context()))
	if got := text(t, c, "SELECT count(*) FROM t"); got != "3" {
		t.Error(got)
	}
	// What SQLite runs by itself is not asked about.
	before := asked
	exec(t, c, "VACUUM")
	if asked > before+2 {
		t.Errorf("it was asked %d times about VACUUM", asked-before)
	}
	check(t, c.OnAuthorize(func(sqlite.Access) sqlite.Decision { panic("boo") }))
	if err := insert.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "callback panicked: boo") {
		t.Error(err)
	}
	check(t, c.OnAuthorize(nil))
	check(t, erase.Run(t.Context()))
}

func TestARingSeesWhatSQLiteRunsItself(t *testing.T) {
	ring := sqlite.NewRing(64)
	defer ring.Close()
	c := open(t, ":memory:", &sqlite.Options{Ring: ring})
	exec(t, c, `CREATE TABLE t (a); CREATE TABLE log (a);
		CREATE TRIGGER tr AFTER INSERT ON t BEGIN INSERT INTO log VALUES (new.a); END;
		CREATE VIRTUAL TABLE f USING fts4(a)`)
	ring.Take(nil)
	s := prepare(t, c, "INSERT INTO t VALUES (1)")
	check(t, s.Run(t.Context()))
	exec(t, c, "INSERT INTO f VALUES ('words')")
	events, _ := ring.Take(nil)
	var got []string
	for _, e := range events {
		got = append(got, fmt.Sprintf("%d %s", e.Kind, e.SQL))
	}
	text := strings.Join(got, "\n")
	for _, want := range []string{"1 -- TRIGGER tr", "2 INSERT INTO t VALUES (1)", "2 INSERT INTO f", "f_content"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// TestTheLogIsCheckpointedWhileItIsWatched has callbacks and rings in the place of SQLite's own
// hook.
func TestTheLogIsCheckpointedWhileItIsWatched(t *testing.T) {
	ring := sqlite.NewRing(1 << 14)
	defer ring.Close()
	for name, o := range map[string]*sqlite.Options{"callback": {}, "ring": {Ring: ring}, "nobody": {}} {
		t.Run(name, func(t *testing.T) {
			o.Journal, o.Checkpoint, o.Sync = "wal", 50, sqlite.SyncOff
			c := open(t, filepath.Join(t.TempDir(), "a.db"), o)
			most := 0
			if name == "callback" {
				check(t, c.OnWAL(func(_ string, pages int) { most = max(most, pages) }))
			}
			exec(t, c, "CREATE TABLE t (a)")
			for range 500 {
				exec(t, c, "INSERT INTO t VALUES (zeroblob(1000))")
			}
			log, copied, err := c.Checkpoint(t.Context(), sqlite.Passive)
			check(t, err)
			if log > 60 || copied != log || most > 60 {
				t.Errorf("the log has %d pages, %d of them copied; it had %d", log, copied, most)
			}
			if s, err := c.Status(); err != nil || s.CheckpointErr != nil {
				t.Error(s.CheckpointErr, err)
			}
		})
	}
}

// TestCheckpointsArePragmasToo sets when they come as programs do: SQLite's own hook would take the
// place of the callback.
func TestCheckpointsArePragmasToo(t *testing.T) {
	c := open(t, filepath.Join(t.TempDir(), "a.db"), &sqlite.Options{Journal: "wal", Sync: sqlite.SyncOff, Pragmas: []string{"wal_autocheckpoint = 77"}})
	calls, most := 0, 0
	check(t, c.OnWAL(func(_ string, pages int) { calls, most = calls+1, max(most, pages) }))
	exec(t, c, "CREATE TABLE t (a)")
	for _, step := range []struct{ pragma, want string }{{"PRAGMA wal_autocheckpoint", "77"}, {"PRAGMA wal_autocheckpoint = 20", "20"},
		{"pragma Wal_AutoCheckpoint;", "20"}} {
		if got := text(t, c, step.pragma); got != step.want {
			t.Errorf("%s: %s, want %s", step.pragma, got, step.want)
		}
	}
	for range 200 {
		exec(t, c, "INSERT INTO t VALUES (zeroblob(1000))")
	}
	if calls != 201 || most > 30 {
		t.Errorf("%d calls, %d pages", calls, most)
	}
	check(t, c.OnWAL(nil))
	if got := text(t, c, "PRAGMA wal_autocheckpoint"); got != "20" {
		t.Error("without a callback", got)
	}
	check(t, c.OnWAL(func(_ string, pages int) { most = max(most, pages) }))
	exec(t, c, "PRAGMA wal_autocheckpoint(0)")
	for range 100 {
		exec(t, c, "INSERT INTO t VALUES (zeroblob(1000))")
	}
	if got := text(t, c, "PRAGMA wal_autocheckpoint"); got != "0" || most < 100 {
		t.Errorf("it is %s, with %d pages", got, most)
	}
	exec(t, c, "CREATE TABLE other (wal_autocheckpoint); INSERT INTO other VALUES (5)")
	if got := text(t, c, "SELECT wal_autocheckpoint FROM other"); got != "5" {
		t.Error("a column of that name is", got)
	}
}

func TestARingHoldsWhatWasTraced(t *testing.T) {
	ring := sqlite.NewRing(60) // 64
	c := open(t, filepath.Join(t.TempDir(), "a.db"), &sqlite.Options{Journal: "wal", Ring: ring})
	exec(t, c, "CREATE TABLE t (a)")
	ring.Take(nil)
	long := "INSERT INTO t VALUES ('" + strings.Repeat("x", 300) + "')"
	exec(t, c, "INSERT INTO t VALUES (1);"+long)
	events, lost := ring.Take(nil)
	var got []string
	for _, e := range events {
		got = append(got, fmt.Sprintf("%d %s", e.Kind, e.SQL))
		if e.Kind == sqlite.TraceProfile && (e.Duration <= 0 || e.Pages == 0) {
			t.Errorf("%+v", e)
		}
	}
	want := []string{"2 INSERT INTO t VALUES (1);", "2 " + long[:208]}
	for i := range want {
		want[i] = strings.TrimSuffix(want[i], ";")
		if i < len(got) {
			got[i] = strings.TrimSuffix(got[i], ";")
		}
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") || lost != 0 {
		t.Errorf("got, %d lost\n%s", lost, strings.Join(got, "\n"))
	}
	s := prepare(t, c, "SELECT 1")
	for range 100 {
		check(t, s.Run(t.Context()))
	}
	if events, lost := ring.Take(nil); len(events) != 64 || lost != 36 {
		t.Error(len(events), lost)
	}
	ring.Close()
	check(t, s.Run(t.Context()))
	check(t, c.Close())
	_, err := sqlite.Open(t.Context(), ":memory:", &sqlite.Options{Ring: ring})
	wantKind(t, err, kv.Closed)
}

func TestConnectionsShareARing(t *testing.T) {
	ring := sqlite.NewRing(1 << 12)
	const conns, runs = 4, 2000
	var wg sync.WaitGroup
	for range conns {
		wg.Go(func() {
			c, err := sqlite.Open(t.Context(), ":memory:", &sqlite.Options{Ring: ring})
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			s, err := c.Prepare(t.Context(), "SELECT 'of many'")
			for i := 0; i < runs && err == nil; i++ {
				err = s.Run(t.Context())
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	taken, lost := map[uint64]int{}, uint64(0)
	take := func() {
		var events []sqlite.Event
		events, lost = ring.Take(events)
		for _, e := range events {
			if e.SQL == "SELECT 'of many'" {
				taken[e.Conn]++
			}
		}
	}
	for open := true; open; {
		select {
		case <-done:
			open = false
		default:
		}
		take()
	}
	sum := 0
	for _, n := range taken {
		sum += n
	}
	// of a connection that ran while nobody took, all may be lost
	if len(taken) > conns || lost == 0 && len(taken) < conns || sum > conns*runs || uint64(sum)+lost < conns*runs {
		t.Errorf("%d events of %d connections, %d lost, of %d", sum, len(taken), lost, conns*runs)
	}
	ring.Close()
}

// TestARingTellsTheTimesOfTheCallbacks has both trace one run: a ring has a clock of its own.
func TestARingTellsTheTimesOfTheCallbacks(t *testing.T) {
	ring := sqlite.NewRing(16)
	defer ring.Close()
	c := open(t, ":memory:", &sqlite.Options{Ring: ring})
	var called sqlite.Event
	check(t, c.OnTrace(sqlite.TraceProfile, func(e sqlite.Event) { called = e }))
	s := prepare(t, c, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000) SELECT max(i) FROM n")
	for range 2 {
		began := time.Now()
		check(t, s.Run(t.Context()))
		took := time.Since(began)
		events, _ := ring.Take(nil)
		if len(events) == 0 {
			t.Fatal("nothing was traced")
		}
		e := events[len(events)-1]
		// The ring begins later, by what nobody can see, and ends later, but within the call.
		if e.Kind != sqlite.TraceProfile || e.Duration < called.Duration/2 || e.Duration > 2*took {
			t.Errorf("the ring tells %v, the callback %v, of a call of %v", e.Duration, called.Duration, took)
		}
		if d := e.At - called.At; d < -time.Second || d > time.Second+took {
			t.Errorf("the ring tells that it ended at %v, the callback %v", e.At, called.At)
		}
	}
}

// TestARunEndsWithItsStatement closes one that has rows left: the run is told, and a callback that
// panics makes an error of this call and not of the next one.
func TestARunEndsWithItsStatement(t *testing.T) {
	ring := sqlite.NewRing(16)
	defer ring.Close()
	c := open(t, ":memory:", &sqlite.Options{Ring: ring})
	ring.Take(nil)
	for _, panics := range []bool{false, true} {
		s := prepare(t, c, "SELECT 1 UNION ALL SELECT 2")
		s.ReadAhead(1)
		var told []sqlite.Event
		check(t, c.OnTrace(sqlite.TraceProfile, func(e sqlite.Event) {
			if told = append(told, e); panics {
				panic("boo")
			}
		}))
		next(t, s)
		if err := s.Close(); (err != nil) != panics {
			t.Error(err)
		}
		events, _ := ring.Take(nil)
		if len(events) != 1 || len(told) != 1 || events[0].SQL != told[0].SQL || told[0].Duration <= 0 {
			t.Errorf("the ring tells %+v, the callback %+v", events, told)
		}
		check(t, c.OnTrace(0, nil))
		exec(t, c, "SELECT 3")
		ring.Take(nil)
	}
}

// TestACallbackThatEndsItsGoroutineEndsTheConnection has FailNow of a test, which nothing can hold
// up, within SQLite.
func TestACallbackThatEndsItsGoroutineEndsTheConnection(t *testing.T) {
	if instrumented {
		t.Skip("nobody gives back what SQLite holds then, which the address sanitizer tells")
	}
	for name, set := range map[string]func(c *sqlite.Conn) error{
		"amid a run": func(c *sqlite.Conn) error { return c.OnUpdate(func(sqlite.Change) { runtime.Goexit() }) },
		"amid compiling": func(c *sqlite.Conn) error {
			return c.OnAuthorize(func(sqlite.Access) sqlite.Decision { runtime.Goexit(); return sqlite.Allow })
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := sqlite.Open(t.Context(), ":memory:", nil)
			check(t, err)
			exec(t, c, "CREATE TABLE t (a)")
			s := prepare(t, c, "SELECT 1")
			check(t, set(c))
			var wg sync.WaitGroup
			wg.Go(func() { _ = c.Exec(t.Context(), "INSERT INTO t VALUES (1)") })
			wg.Wait()
			wantKind(t, c.Exec(t.Context(), "SELECT 1"), kv.Closed)
			wantKind(t, s.Run(t.Context()), kv.Closed)
			wantKind(t, c.Close(), kv.Closed)
		})
	}
}

// TestAConnectionMayCloseUnderOthers has goroutines that use one connection, against its rules,
// while it closes: each call does what it should or is an error.
func TestAConnectionMayCloseUnderOthers(t *testing.T) {
	for range 50 {
		c, err := sqlite.Open(t.Context(), ":memory:", nil)
		check(t, err)
		exec(t, c, "CREATE TABLE t (a)")
		s := prepare(t, c, "INSERT INTO t VALUES (1)")
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for _, call := range []func() error{
			func() error { return s.Run(ctx) },
			func() error { return s.Run(t.Context()) },
			func() error { return c.Exec(ctx, "INSERT INTO t VALUES (2)") },
			func() error { return c.Update(ctx, func() error { return nil }) },
			func() error { return c.Save(ctx, func() error { return nil }) },
			func() error { _, err := c.OpenBlob(ctx, "main", "t", "a", 1, sqlite.ReadBlob); return err },
			func() error { _, err := c.Status(); return err },
			func() error { cancel(); return s.Reset() },
			func() error { return s.Close() },
		} {
			wg.Go(func() {
				for range 20 {
					_ = call()
				}
			})
		}
		for err = error(kv.Busy); errors.Is(err, kv.Busy); err = c.Close() {
		}
		check(t, err)
		wg.Wait()
		wantKind(t, s.Run(t.Context()), kv.Closed)
	}
}
