//go:build cgo

package sqlite

// #include "cross.h"
import "C"

import (
	"runtime/cgo"
	"time"
	"unsafe"
)

// of returns the connection that SQLite calls back for.
func of(handle C.uintptr_t) *Conn { return cgo.Handle(handle).Value().(*Conn) }

// schemaName returns the name of a schema, at no cost for the usual one.
func schemaName(name *C.char) string {
	for i := range len("main\x00") {
		if *(*byte)(unsafe.Add(unsafe.Pointer(name), i)) != "main\x00"[i] {
			return C.GoString(name)
		}
	}
	return "main"
}

//export assayTrace
func assayTrace(handle C.uintptr_t, kind C.int, stmt unsafe.Pointer, text *C.char, at, duration C.int64_t) {
	c := of(handle)
	e := Event{Kind: EventKind(kind), Conn: uint64(handle), At: time.Duration(at), Duration: time.Duration(duration)}
	if s := c.byRun[stmt]; s != nil && (e.Kind != TraceStatement || !isComment(text)) {
		e.SQL = s.sql
	} else if text != nil {
		e.SQL = C.GoString(text)
	}
	c.calling(func() { c.calls.trace(e) })
}

// isComment reports whether SQLite tells of a trigger.
func isComment(text *C.char) bool { return text != nil && *text == '-' }

//export assayWAL
func assayWAL(handle C.uintptr_t, schema *C.char, pages C.int) {
	c := of(handle)
	c.calling(func() { c.calls.wal(schemaName(schema), int(pages)) })
}

//export assayCommit
func assayCommit(handle C.uintptr_t) (refuse C.int) {
	c := of(handle)
	refuse = 1 // also if it panics
	c.calling(func() {
		err := c.calls.commit()
		if err == nil {
			refuse = 0
			return
		}
		c.raise(err)
	})
	return refuse
}

//export assayRollback
func assayRollback(handle C.uintptr_t) {
	c := of(handle)
	c.calling(c.calls.rollback)
}

//export assayUpdate
func assayUpdate(handle C.uintptr_t, op C.int, schema, table *C.char, row C.int64_t) {
	c := of(handle)
	c.calling(func() { c.calls.update(Change{Op(op), schemaName(schema), C.GoString(table), int64(row)}) })
}

//export assayProgress
func assayProgress(handle C.uintptr_t) (stop C.int) {
	c := of(handle)
	stop = 1
	c.calling(func() {
		err := c.calls.progress()
		if err == nil {
			stop = 0
			return
		}
		c.raise(err)
	})
	return stop
}

//export assayAuthorize
func assayAuthorize(handle C.uintptr_t, action C.int, a, b, schema, within *C.char) (decision C.int) {
	c := of(handle)
	decision = C.int(Deny)
	c.calling(func() {
		access := Access{int(action), C.GoString(a), C.GoString(b), C.GoString(schema), C.GoString(within)}
		decision = C.int(c.calls.authorize(access))
	})
	return decision
}
