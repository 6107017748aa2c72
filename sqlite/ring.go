//go:build cgo

package sqlite

/*
#include "cross.h"

#cgo noescape assay_ring_take
#cgo nocallback assay_ring_take
*/
import "C"

import (
	"math/bits"
	"sync"
	"time"
	"unsafe"

	"github.com/assaydb/assay/kv"
)

// A Ring holds what connections trace until the program takes it: TraceProfile for each run,
// TraceStatement for triggers and for statements that SQLite runs by itself, and TraceClose.
// Connections write it in C, without a call into Go. When it is full, later events are lost and
// counted. Texts of statements that were not prepared by Prepare are cut to 208 bytes.
//
// Any goroutine may use it, and any number of connections share it.
type Ring struct {
	mu     sync.Mutex
	c      *C.assay_ring // nil after Close
	users  int           // connections
	closed bool
	buf    []C.assay_event
	cut    []C.assay_text    // of buf
	ids    map[string]uint32 // of the texts of statements
	texts  []string          // by id
}

// mostTexts is how many texts a ring keeps for its events; those of others go through the ring.
const mostTexts = 4096

// NewRing returns a ring for at least so many events, of 256 bytes each. Close frees it.
func NewRing(events int) *Ring {
	n := uint64(1) << bits.Len(uint(min(max(events, 2), 1<<24)-1))
	return &Ring{c: C.assay_ring_new(C.uint64_t(n)), buf: make([]C.assay_event, 64), cut: make([]C.assay_text, 64),
		ids: map[string]uint32{}, texts: []string{""}}
}

// hold keeps the ring for a connection.
func (r *Ring) hold() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.c == nil {
		return &kv.Error{Op: "trace", Engine: engine, Kind: kv.Closed, Hint: "the ring was closed: make a new one"}
	}
	r.users++
	return nil
}

func (r *Ring) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.users--
	r.free()
}

// id returns the number of a statement's text, 0 if there are too many.
func (r *Ring) id(sql string) uint32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	id, ok := r.ids[sql]
	if !ok && len(r.texts) < mostTexts {
		id = uint32(len(r.texts))
		r.ids[sql] = id
		r.texts = append(r.texts, sql)
	}
	return id
}

// Close frees the ring once the last connection that has it is closed. What is in it until then can
// still be taken.
func (r *Ring) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.free()
}

func (r *Ring) free() {
	if r.closed && r.users == 0 && r.c != nil {
		C.assay_ring_free(r.c)
		r.c = nil
	}
}

// Take appends the events that are there, in the order in which they were written, and says how
// many were lost so far.
func (r *Ring) Take(to []Event) (events []Event, lost uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.c == nil {
		return to, 0
	}
	for {
		n := int(C.assay_ring_take(r.c, unsafe.SliceData(r.buf), unsafe.SliceData(r.cut), C.int(len(r.buf))))
		for i := range r.buf[:n] {
			to = append(to, r.event(&r.buf[i], &r.cut[i]))
		}
		if n < len(r.buf) {
			return to, uint64(C.assay_ring_lost(r.c))
		}
	}
}

func (r *Ring) event(c *C.assay_event, text *C.assay_text) Event {
	e := Event{Kind: EventKind(c.kind), Conn: uint64(c.conn), At: time.Duration(c.at),
		Duration: time.Duration(c.duration), Pages: int(c.pages)}
	if e.SQL = r.texts[c.id]; c.id == 0 {
		e.SQL = string(unsafe.Slice((*byte)(unsafe.Pointer(text)), min(int(c.length), len(text))))
	}
	return e
}
