package drivertest

import (
	"os"
	"slices"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

var modeCases = []tcase{
	{"a mode that is not declared is unsupported, and nothing is created", refusesUndeclaredMode},
	{"a store open Exclusive is busy for everyone else", excludes},
	{"a store open Shared is read and written by several processes, each seeing the other's commits", shares},
	{"a store open ReadOnly is read and not written, by several processes where SharedReading says so", readsOnly},
	{"the default mode is declared, and safe against a second process that opens the same way", opensByDefault},
	{"opening waits until the holder lets go", waitsForHolder},
	{"a store held by a process that was killed opens at once", takesOverFromDead},
}

func (e *env) needsMode(m kv.Mode) {
	e.Helper()
	e.needs(e.info.Caps.Persistent, "nothing outlives Close, so no second process can open it")
	e.needs(e.info.Caps.Supports(m), "no mode "+m.String())
}

// makeStore leaves a closed store behind that holds "a=1".
func (e *env) makeStore() {
	e.Helper()
	db := e.open()
	e.fill(db, "a=1")
	e.must(db.Close())
}

// hold has a new child open the store in mode.
func (e *env) hold(m kv.Mode) *child {
	e.Helper()
	c := e.spawn()
	c.must("open", e.url("db", "mode="+m.String()), e.class.String())
	return c
}

// wantBusy fails unless opening in mode ends with Busy, soon.
func (e *env) wantBusy(what string, m kv.Mode) {
	e.Helper()
	for _, wait := range []time.Duration{0, 30 * time.Millisecond} {
		db, err := kv.Open(ctx, e.url("db"), kv.WithWeakest(e.class), kv.WithMode(m), kv.WithWait(wait))
		if err == nil {
			e.must(db.Close())
		}
		e.wantKind(what+", opening in mode "+m.String(), err, kv.Busy)
	}
}

func refusesUndeclaredMode(e *env) {
	for _, m := range []kv.Mode{kv.Exclusive, kv.Shared, kv.ReadOnly} {
		if e.info.Caps.Supports(m) {
			continue
		}
		_, err := kv.Open(ctx, e.url("db"), kv.WithMode(m))
		e.wantKind("open in mode "+m.String(), err, kv.Unsupported)
		if _, err := os.Lstat(e.path("db")); err == nil {
			e.Errorf("open in mode %v created the store", m)
		}
	}
}

func excludes(e *env) {
	e.needsMode(kv.Exclusive)
	e.makeStore()
	c := e.hold(kv.Exclusive)
	for _, m := range e.info.Caps.Modes {
		e.wantBusy("held Exclusive by another process", m)
	}
	c.must("put", e.class.String(), "b", "2")
	c.must("close")
	db := e.open(kv.WithMode(kv.Exclusive))
	e.want(db, "a=1", "b=2")
	e.wantBusy("held Exclusive by this process", kv.Exclusive)
	if r := c.ask("open", e.url("db", "mode=exclusive", "wait=30ms"), e.class.String()); r.Kind != kv.Busy {
		e.Errorf("another process opened what is held Exclusive: got %v, want busy", r)
	}
	e.want(db, "a=1", "b=2")
}

func shares(e *env) {
	e.needsMode(kv.Shared)
	e.makeStore()
	c := e.hold(kv.Shared)
	db := e.open(kv.WithMode(kv.Shared))
	class := e.class.String()
	for _, n := range []string{"1", "2", "3"} {
		c.must("put", class, "theirs", n)
		e.view(db, func(s *kv.Snapshot) { e.wantGet("after their commit", s, "theirs", n) })
		e.update(db, func(tx *kv.Tx) { e.must(tx.Put([]byte("ours"), []byte(n))) })
		if got := c.must("get", "ours"); got != n {
			e.Errorf("they read %q after our commit of %q", got, n)
		}
	}
	if e.info.Caps.Supports(kv.Exclusive) {
		e.wantBusy("held Shared by another process", kv.Exclusive)
	}
	e.must(db.Close())
	c.must("put", class, "theirs", "4")
	c.must("close")
	e.want(e.open(), "a=1", "ours=3", "theirs=4")
}

func readsOnly(e *env) {
	e.needsMode(kv.ReadOnly)
	e.makeStore()
	before, files := e.contents("db"), e.storeFiles("db")
	db := e.open(kv.WithMode(kv.ReadOnly))
	e.want(db, "a=1")
	if db.Mode() != kv.ReadOnly {
		e.Errorf("mode: got %v", db.Mode())
	}
	var b kv.Batch
	b.Put([]byte("a"), []byte("changed"))
	e.wantKind("write", db.Write(ctx, e.class, &b), kv.NotWritable)
	e.wantKind("update", db.Update(ctx, e.class, func(*kv.Tx) error { return nil }), kv.NotWritable)
	e.wantKind("compact", db.Compact(ctx), kv.NotWritable)
	e.must(db.Check(ctx))
	e.readBeside()
	e.must(db.Close())
	after := e.contents("db")
	for file, content := range before {
		if after[file] != content {
			e.Errorf("%s was changed", file)
		}
	}
	if left := e.storeFiles("db"); !slices.Equal(left, files) {
		e.Errorf("there are the files %q, and were %q", left, files)
	}
	e.want(e.open(), "a=1")
}

// readBeside lets another process open, in mode ro, the store that this one has open in mode ro.
func (e *env) readBeside() {
	e.Helper()
	if !e.info.Caps.SharedReading {
		r := e.spawn().ask("open", e.url("db", "mode=ro", "wait=30ms"), e.class.String())
		if r.Kind != kv.Busy {
			e.Errorf("another process opened in mode ro what is read by one alone: got %v, want busy", r)
		}
		return
	}
	c := e.hold(kv.ReadOnly)
	if got := c.must("get", "a"); got != "1" {
		e.Errorf("they read %q, want 1", got)
	}
	if e.info.Caps.Supports(kv.Exclusive) {
		e.wantBusy("held ReadOnly by another process", kv.Exclusive)
	}
	if r := c.ask("put", e.class.String(), "a", "changed"); r.Kind != kv.NotWritable {
		e.Errorf("they wrote: got %v, want read-only", r)
	}
	c.must("close")
}

func opensByDefault(e *env) {
	modes := e.info.Caps.Modes
	if len(modes) == 0 || modes[0] == kv.ReadOnly ||
		len(slices.Compact(slices.Sorted(slices.Values(modes)))) != len(modes) {
		e.Fatalf("declared modes: %v", modes)
	}
	db := e.open()
	if db.Mode() != modes[0] {
		e.Errorf("mode: got %v, want %v", db.Mode(), modes[0])
	}
	e.needs(e.info.Caps.Persistent, "nothing outlives Close, so no second process can open it")
	e.fill(db, "a=1")
	r := e.spawn().ask("open", e.url("db", "wait=30ms"), e.class.String())
	if shared := modes[0] == driver.Shared; shared != (r.Err == "") || !shared && r.Kind != kv.Busy {
		e.Errorf("another process that opens the same way: got %v, want success=%v, otherwise busy", r, shared)
	}
	e.want(db, "a=1")
}

func waitsForHolder(e *env) {
	e.needsMode(kv.Exclusive)
	e.makeStore()
	c := e.hold(kv.Exclusive)
	c.must("put", e.class.String(), "b", "2")
	opened := make(chan error, 1)
	var db *kv.DB
	go func() {
		var err error
		db, err = kv.Open(ctx, e.url("db"), kv.WithWeakest(e.class), kv.WithMode(kv.Exclusive), kv.WithWait(patience))
		opened <- err
	}()
	select {
	case err := <-opened:
		e.Fatalf("opened while another process held it: %v", err)
	case <-time.After(100 * time.Millisecond): // as good as any: nothing is to come
	}
	c.must("close")
	e.must(<-opened)
	e.want(db, "a=1", "b=2")
	e.must(db.Close())
}

func takesOverFromDead(e *env) {
	e.needs(e.info.Caps.Persistent, "nothing outlives Close")
	e.makeStore()
	for _, m := range e.info.Caps.Modes {
		e.hold(m).kill()
		db := e.open(kv.WithWait(patience))
		e.want(db, "a=1")
		e.must(db.Close())
	}
}
