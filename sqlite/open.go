//go:build cgo

// Package sqlite is SQLite in C: unmodified, and without a line of it in this repository. The code
// comes with github.com/mattn/go-sqlite3 when the program is linked; this package declares the
// functions that it calls.
//
// A program prepares its statements once. Each run of one crosses into C once: arguments go over in
// one buffer, and rows come back in another, so that a run allocates nothing. [Conn] has what
// SQLite has beside statements: transactions and savepoints, blobs as files, online backup, the
// columns of tables, figures, checkpoints, and its callbacks as functions of Go. A [Ring] takes
// traces without a call into Go.
//
// A [Policy] is kept in the database itself and holds for everyone who opens it with this package.
//
// Package sqldriver makes it a driver of database/sql. See docs/sqlite.md.
package sqlite

// #include "cross.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/cgo"
	"strings"
	"sync"
	"time"
	"unsafe"

	_ "github.com/mattn/go-sqlite3" // the code of SQLite

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

// A Mode says what a connection may do with the file.
type Mode int

// Modes; the zero value creates a database that is not there.
const (
	ReadWriteCreate Mode = iota
	ReadWrite            // what is not there is an error of kind kv.NoStore
	ReadOnlyMode
)

// A Level is the setting synchronous: what a commit waits for.
type Level int

// Levels; the zero value survives a power loss.
const (
	SyncFull   Level = iota
	SyncExtra        // the folder, too, in journal modes other than WAL
	SyncNormal       // in WAL mode only checkpoints wait: the last commits may be lost in a power loss
	SyncOff          // nothing waits: a power loss may damage the file
)

func (l Level) String() string {
	if l < SyncFull || l > SyncOff {
		return "unknown"
	}
	return [...]string{"full", "extra", "normal", "off"}[l]
}

// Options are settings of a connection. The zero value is the default of each.
type Options struct {
	Mode        Mode
	Wait        time.Duration // for a lock of another connection; 0: kv.DefaultWait, negative: not at all
	Journal     string        // "wal", "delete" and so on; "" leaves the file's
	Sync        Level
	ForeignKeys bool     // are enforced
	Checkpoint  int      // after a commit that leaves so many pages in the log; 0: 1,000, negative: never
	Pragmas     []string // further settings, as "cache_size = 2000"
	Ring        *Ring    // takes what is traced
	VFS         string   // the name of one, in C or Go; "" is the system's

	Defensive    bool // no SQL can damage the file: SQLite's defensive mode
	StrictQuotes bool // what stands in double quotes is a name; SQLite takes one that is none for a text
}

// configured guards what SQLite is told before it is first used.
var configured struct {
	sync.Mutex
	done, count bool
}

// configure sets SQLite up for this process, once.
func configure() {
	configured.Lock()
	defer configured.Unlock()
	if configured.done {
		return
	}
	C.assay_configure(truth(configured.count))
	configured.done = true
}

func truth(on bool) C.int {
	if on {
		return 1
	}
	return 0
}

// CountMemory has SQLite count the memory that it takes in this process, for [Memory], and for its
// PRAGMA soft_heap_limit. It slows small statements by a tenth. Call it before the first connection
// opens: after that it is an error of kind [kv.Invalid].
func CountMemory() error {
	configured.Lock()
	defer configured.Unlock()
	if configured.done {
		return &kv.Error{Op: "count memory", Engine: engine, Kind: kv.Invalid, Err: errors.New("a connection was opened before"),
			Hint: "call it when the program starts"}
	}
	configured.count = true
	return nil
}

// Open opens the database at path, a file, ":memory:", or a URI that begins with "file:"; nil
// options are the defaults. Where a [Policy] is broken, the error is one of kind [kv.Conflict] that
// lists all that breaks it.
func Open(ctx context.Context, path string, o *Options) (*Conn, error) {
	if o == nil {
		o = &Options{}
	}
	return open(ctx, path, o, true)
}

// open opens a database, with its policy or without.
func open(ctx context.Context, path string, o *Options, guarded bool) (*Conn, error) {
	c := &Conn{path: path, stmts: map[*Stmt]struct{}{}, byRun: map[unsafe.Pointer]*Stmt{}, texts: map[string]*Stmt{},
		blobs: map[*BlobFile]struct{}{}}
	if err := c.check(o); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, c.canceled("open", err) // before a file is made
	}
	configure()
	c.c = (*C.assay_conn)(C.calloc(1, C.sizeof_assay_conn))
	c.handle = cgo.NewHandle(c)
	c.c.handle = C.uintptr_t(c.handle)
	c.c.wait = C.int64_t(max(o.Wait, 0) / time.Millisecond)
	if o.Wait == 0 {
		c.c.wait = C.int64_t(kv.DefaultWait / time.Millisecond)
	}
	c.c.defensive, c.c.strict_quotes = truth(o.Defensive), truth(o.StrictQuotes)
	if o.VFS != "" || strings.Contains(c.path, "vfs=") {
		c.c.hooks = hookFiles
	}
	c.c.checkpoint = C.int(min(max(o.Checkpoint, 0), math.MaxInt32))
	if o.Checkpoint == 0 {
		c.c.checkpoint = 1000
	}
	if o.Ring != nil {
		if err := o.Ring.hold(); err != nil {
			return nil, errors.Join(err, c.Close())
		}
		c.ring, c.c.ring = o.Ring, o.Ring.c
	}
	err := c.connect(o)
	if err == nil {
		err = c.configure(ctx, o, guarded)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Conn) check(o *Options) error {
	switch {
	case strings.ContainsRune(c.path, 0):
		return c.invalid("open", "", "a path with a zero byte")
	case o.Mode < ReadWriteCreate || o.Mode > ReadOnlyMode:
		return c.invalid("open", "", "mode %d", o.Mode)
	case o.Sync < SyncFull || o.Sync > SyncOff:
		return c.invalid("open", "", "level %d", o.Sync)
	case o.Defensive && strings.EqualFold(o.Journal, "off"):
		return c.invalid("open", "", "a journal that is off cannot take effect in defensive mode")
	}
	switch strings.ToLower(o.Journal) {
	case "", "wal", "delete", "truncate", "persist", "memory", "off":
		return nil
	}
	return c.invalid("open", "valid are wal, delete, truncate, persist, memory, off", "journal mode %q", o.Journal)
}

// connect has SQLite open the file, with no statement run.
func (c *Conn) connect(o *Options) error {
	const readOnly, readWrite, create, uri, noMutex = 1, 2, 4, 0x40, 0x8000
	flags := [...]C.int{readWrite | create, readWrite, readOnly}[o.Mode] | uri | noMutex
	path := C.CString(c.path)
	defer C.free(unsafe.Pointer(path))
	var vfs *C.char
	if o.VFS != "" {
		vfs = C.CString(o.VFS)
		defer C.free(unsafe.Pointer(vfs))
	}
	rc := C.assay_open(c.c, path, flags, vfs)
	if rc == rcOK {
		return nil
	}
	err := c.failure(context.Background(), "open", rc)
	var e *kv.Error
	if Code(rc)&0xff == CannotOpen && errors.As(err, &e) && e.Kind == driver.Other && o.Mode != ReadWriteCreate {
		e.Kind = kv.NoStore
	}
	return err
}

// configure enforces the policy, if there is one, and makes the settings of o that it leaves free.
func (c *Conn) configure(ctx context.Context, o *Options, guarded bool) error {
	if guarded {
		p, unknown, err := c.readPolicy(ctx)
		if err == nil && p != nil {
			err = c.enforce(ctx, p, unknown)
		}
		if err != nil {
			return err
		}
	}
	set := []string{"synchronous = " + o.Sync.String()}
	if o.ForeignKeys {
		set = append(set, "foreign_keys = on")
	}
	for _, text := range append(set, o.Pragmas...) {
		err := c.Exec(ctx, "PRAGMA "+text)
		if err != nil && (c.policy == nil || CodeOf(err) != Unauthorized) { // the policy's value holds
			return err
		}
	}
	if o.Journal == "" || o.Mode == ReadOnlyMode || c.keeps("journal_mode") {
		return nil
	}
	return c.setJournal(ctx, o.Journal)
}

// setJournal sets the journal mode. SQLite: a mode that the file cannot have (WAL in memory) leaves
// the present one without an error.
func (c *Conn) setJournal(ctx context.Context, mode string) error {
	got, err := c.pragmaText(ctx, "journal_mode = "+mode)
	if err == nil && !strings.EqualFold(got, mode) && got != "memory" {
		err = c.invalid("open", "", "journal mode %s was asked for, SQLite keeps %s", mode, got)
	}
	return err
}

// pragmaText returns the first column of the first row of a pragma, "" if it returns none.
func (c *Conn) pragmaText(ctx context.Context, text string) (string, error) {
	s, err := c.Prepare(ctx, "PRAGMA "+text)
	if err != nil {
		return "", err
	}
	defer s.Close()
	ok, err := s.Next(ctx)
	if !ok {
		return "", err
	}
	switch s.Type(0) {
	case Integer:
		return fmt.Sprint(s.Int(0)), nil
	case Float:
		return fmt.Sprint(s.Float(0)), nil
	}
	return s.Text(0), nil
}

// Version returns the version of SQLite, as "3.53.4".
func Version() string { return C.GoString(C.sqlite3_libversion()) }
