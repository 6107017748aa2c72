// Package traits finds what an engine is like beside its speed, by trying it: who may use a store
// at the same time, what an open one takes, what size does to it, and how large things may be.
//
// [Probe] runs in the parent. Everything is measured in a process of its own, which is [Child].
package traits

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/lab/bench"
	"github.com/assaydb/assay/lab/child"
	"github.com/assaydb/assay/lab/result"
)

// Options say how much is tried.
type Options struct {
	Child   []string // the command that runs Child in a new process
	Records []int    // stores of so many records are opened; the churn is that of the first
	Largest int64    // bytes of the largest key, value and transaction that is tried
}

// recordSize is that of a record: a key of 16 bytes and a value of 100.
const recordSize = 116

// churns is how often all records are written again.
const churns = 10

// Probe tries an engine in dir, a new folder of its own, which it leaves to the caller.
func Probe(ctx context.Context, e bench.Entry, dir string, o Options) (t result.EngineTraits) {
	t.Name = e.Name
	if t.URL = e.Engine + ":"; e.Options != "" {
		t.URL += "?" + e.Options
	}
	name, url := t.Name, t.URL
	err := o.child(ctx, task{Entry: e, Dir: dir, Options: o}, &t)
	if t.Name, t.URL = name, url; err != nil {
		t.Error = err.Error()
		return t
	}
	for _, s := range sizes {
		*s.of(&t) = o.most(ctx, task{Entry: e, Dir: dir, Options: o, Size: s.name})
	}
	return t
}

// child has a new process do t, and reads its answer.
func (o Options) child(ctx context.Context, t task, answer any) error {
	spec, err := json.Marshal(t)
	if err != nil {
		return err
	}
	p, err := child.Start(append(o.Child[:len(o.Child):len(o.Child)], string(spec)))
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, p.Kill)()
	if p.Receive(answer) == nil {
		return p.End(10 * time.Second)
	}
	return p.Ended()
}

// task is what a child has to do.
type task struct {
	Entry   bench.Entry
	Dir     string
	Options Options
	Second  *second // of a second process, nil in the first
	Size    string  // one of sizes, of which alone this process finds the largest
}

// second is what a second process tries with a store.
type second struct {
	Write bool
	Wait  time.Duration
}

func (t task) url(name string) string {
	return fmt.Sprintf("%s:%s?%s", t.Entry.Engine, filepath.ToSlash(filepath.Join(t.Dir, name)), t.Entry.Options)
}

func (t task) open(ctx context.Context, name string, options ...kv.Option) (*kv.DB, error) {
	return kv.Open(ctx, t.url(name), append([]kv.Option{kv.WithWeakest(kv.Buffered)}, options...)...)
}

// Child is the whole life of a child process: arg says what it does, and its answer goes to out.
func Child(ctx context.Context, arg string, out *os.File) error {
	var t task
	if err := json.Unmarshal([]byte(arg), &t); err != nil {
		return &kv.Error{Op: "probe", Kind: kv.Invalid, Err: err, Hint: "this is started by assay engines --probe"}
	}
	if t.Second != nil {
		_, err := fmt.Fprintln(out, wordFor(t.try(ctx)))
		return err
	}
	if t.Size != "" {
		return json.NewEncoder(out).Encode(t.largest(ctx))
	}
	var found result.EngineTraits
	for _, measure := range []func(context.Context, *result.EngineTraits) error{t.atRest, t.beside, t.opens, t.churn} {
		if err := measure(ctx, &found); err != nil {
			return err
		}
	}
	return json.NewEncoder(out).Encode(found)
}

// wordFor is "yes" for nil, and the kind of an error otherwise.
func wordFor(err error) string {
	if err == nil {
		return "yes"
	}
	if kind := kv.KindOf(err); kind != driver.Other {
		return kind.Error()
	}
	return err.Error()
}

// residentBytes is what the process has in memory, 0 where the system does not tell.
func residentBytes() int64 {
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(data))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

// atRest counts goroutines and memory of an empty store that is open, and goroutines that outlive
// it.
func (t task) atRest(ctx context.Context, found *result.EngineTraits) error {
	debug.FreeOSMemory()
	goroutines, memory := runtime.NumGoroutine(), residentBytes()
	db, err := t.open(ctx, "rest")
	if err != nil {
		return err
	}
	if err := db.Put(ctx, db.Caps().Cheapest(), []byte("key"), []byte("value")); err != nil {
		return errors.Join(err, db.Close())
	}
	found.Goroutines = runtime.NumGoroutine() - goroutines
	debug.FreeOSMemory()
	found.Memory = max(residentBytes()-memory, 0)
	if err := db.Close(); err != nil {
		return err
	}
	for until := time.Now().Add(time.Second); runtime.NumGoroutine() > goroutines && time.Now().Before(until); {
		time.Sleep(time.Millisecond) // how long it takes is not what is asked
	}
	found.Left = runtime.NumGoroutine() - goroutines
	return nil
}

// another starts a second process that tries something, and returns what it found, once it ends.
func (t task) another(ctx context.Context, s second) (end func() (string, error), err error) {
	t.Second = &s
	spec, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	command := t.Options.Child
	cmd := exec.CommandContext(ctx, command[0], append(command[1:len(command):len(command)], string(spec))...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() (string, error) {
		err := cmd.Wait()
		return strings.TrimSpace(out.String()), err
	}, nil
}

// try is what a second process does.
func (t task) try(ctx context.Context) error {
	options := []kv.Option{kv.WithWait(t.Second.Wait)}
	if !t.Second.Write {
		ro, err := t.open(ctx, "shared", append(options, kv.WithMode(kv.ReadOnly))...)
		if err == nil {
			return errors.Join(has(ctx, ro), ro.Close())
		}
	}
	db, err := t.open(ctx, "shared", options...)
	if err != nil {
		return err
	}
	if t.Second.Write {
		err = db.Put(ctx, db.Caps().Cheapest(), []byte("second"), []byte("value"))
	} else {
		err = has(ctx, db)
	}
	return errors.Join(err, db.Close())
}

func has(ctx context.Context, db *kv.DB) error {
	_, err := db.Get(ctx, []byte("first"))
	return err
}

// beside tries what a second process can do with a store that this one has open.
func (t task) beside(ctx context.Context, found *result.EngineTraits) error {
	if d, err := t.open(ctx, "rest"); err != nil {
		return err
	} else if persistent := d.Caps().Persistent; d.Close() != nil || !persistent {
		return nil // another process has another store
	}
	for _, at := range []struct {
		writing bool
		into    **result.Beside
	}{{false, &found.BesideIdle}, {true, &found.BesideWriter}} {
		b, err := t.besideOne(ctx, at.writing)
		if err != nil {
			return err
		}
		*at.into = b
	}
	return nil
}

// besideOne has a second process read, write, and write with patience, while this one has the store
// open, and a transaction with a write in it if writing is set.
func (t task) besideOne(ctx context.Context, writing bool) (b *result.Beside, err error) {
	db, err := t.open(ctx, "shared")
	if err != nil {
		return nil, err
	}
	closed := false
	closeAll := func() error {
		if closed {
			return nil
		}
		closed = true
		return db.Close() // which rolls an open transaction back, and says so
	}
	defer func() { _ = closeAll() }()
	if err := db.Put(ctx, db.Caps().Cheapest(), []byte("first"), []byte("value")); err != nil {
		return nil, err
	}
	if writing {
		tx, err := db.Begin(ctx, db.Caps().Cheapest())
		if err != nil {
			return nil, err
		}
		if err := tx.Put([]byte("more"), []byte("value")); err != nil {
			return nil, err
		}
	}
	b = new(result.Beside)
	for _, s := range []struct {
		second
		into *string
	}{{second{}, &b.Reads}, {second{Write: true}, &b.Writes}} {
		end, err := t.another(ctx, s.second)
		if err != nil {
			return nil, err
		}
		if *s.into, err = end(); err != nil {
			return nil, err
		}
	}
	if b.Writes == "yes" {
		b.Waits = "not needed"
		return b, nil
	}
	end, err := t.another(ctx, second{Write: true, Wait: time.Minute})
	if err != nil {
		return nil, err
	}
	_ = closeAll()
	b.Waits, err = end()
	return b, err
}

// An opening is timed of several stores of a size, as long as those are made quickly: whatever
// disturbs it makes it longer, so that the least counts.
const (
	mostOpened = 5
	openingFor = 2 * time.Second
)

// opens opens stores of more and more records.
func (t task) opens(ctx context.Context, found *result.EngineTraits) error {
	for _, n := range t.Options.Records {
		at := result.At{Records: n}
		for i, start := 0, time.Now(); i == 0 || i < mostOpened && time.Since(start) < openingFor; i++ {
			persistent, err := t.openOne(ctx, i, &at)
			if err != nil || !persistent {
				return err
			}
		}
		found.Opens = append(found.Opens, at)
	}
	return nil
}

// openOne makes store i of so many records and opens it; false if stores do not outlive Close. The
// first is left for what comes next.
func (t task) openOne(ctx context.Context, i int, at *result.At) (persistent bool, err error) {
	name := recordsName(at.Records)
	if i > 0 {
		name = fmt.Sprintf("again-%d-of-%d", i, at.Records)
		defer func() { err = errors.Join(err, removeAll(t.Dir, name)) }()
	}
	db, err := t.open(ctx, name)
	if err != nil {
		return false, err
	}
	if !db.Caps().Persistent {
		return false, db.Close()
	}
	if err := errors.Join(write(ctx, db, at.Records, 1), db.Close()); err != nil {
		return false, err
	}
	start := time.Now()
	if db, err = t.open(ctx, name); err != nil {
		return false, err
	}
	took := int64(time.Since(start))
	size, err := db.Size()
	if i == 0 {
		at.NS, at.Size = took, size.Allocated
	}
	at.NS = min(at.NS, took)
	return true, errors.Join(err, db.Close())
}

// recordsName is the store of so many records.
func recordsName(n int) string { return fmt.Sprintf("records-%d", n) }

// write writes all of n records, in an order that seed gives, in batches of 100.
func write(ctx context.Context, db *kv.DB, n int, seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 0))
	order := r.Perm(n)
	var b kv.Batch
	value := make([]byte, recordSize-16)
	for i, record := range order {
		for at := range value {
			value[at] = byte('a' + r.IntN(26))
		}
		b.Put(fmt.Appendf(nil, "record/%09d", record), value)
		if b.Len() == 100 || i == n-1 {
			if err := db.Write(ctx, db.Caps().Cheapest(), &b); err != nil {
				return err
			}
			b.Reset()
		}
	}
	return nil
}

// churn writes all records of a store again and again.
func (t task) churn(ctx context.Context, found *result.EngineTraits) error {
	if len(t.Options.Records) == 0 || len(found.Opens) == 0 {
		return nil
	}
	c := &result.Churn{Records: t.Options.Records[0], Times: churns, Loaded: found.Opens[0].Size}
	c.Data = int64(c.Records) * recordSize
	name := recordsName(c.Records)
	db, err := t.open(ctx, name)
	if err != nil {
		return err
	}
	for i := range c.Times {
		if err := write(ctx, db, c.Records, uint64(i)+2); err != nil {
			return errors.Join(err, db.Close())
		}
	}
	size := func(into *int64) {
		now, serr := db.Size()
		*into, err = now.Allocated, errors.Join(err, serr)
	}
	size(&c.After)
	if err = errors.Join(err, db.Close()); err != nil {
		return err
	}
	if db, err = t.open(ctx, name); err != nil {
		return err
	}
	size(&c.Reopened)
	err = errors.Join(err, db.Compact(ctx))
	size(&c.Compacted)
	found.Churned = c
	return errors.Join(err, db.Close())
}
