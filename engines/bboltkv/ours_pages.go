package bboltkv

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"unsafe"

	bolt "go.etcd.io/bbolt"
)

// How bbolt writes a page: a header with the kind, the number of elements and how many pages it
// goes on for; the elements; then keys and values, where the elements say. Its package common.
const (
	headerSize, kindAt, countAt, overflowAt = 16, 8, 10, 12
	branchKind, leafKind                    = 1, 2
	elementSize                             = 16
	bucketFlag                              = 1 // of an element of a leaf: the value is a bucket
	bucketSize                              = 16
	metaIDAt, metaFreelistAt                = headerSize + 48, headerSize + 32
	noFreelist                              = 1<<64 - 1
)

var order = binary.NativeEndian

// pages looks at the pages that a file's buckets consist of, before bbolt follows them without a
// look: each lies within the file and belongs to one place, and so do its keys and values.
type pages struct {
	ctx  context.Context
	data []byte // the file, as bbolt has it in memory
	page uint64
	seen map[uint64]bool
}

// look looks at all buckets and the free list of tx, which has changed nothing.
func look(ctx context.Context, tx *bolt.Tx) (err error) {
	defer recovered(&err, protect())
	info := tx.DB().Info()
	data := unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(nil), info.Data)), tx.Size())
	p := pages{ctx, data, uint64(info.PageSize), map[uint64]bool{}}
	id := uint64(tx.ID())
	if tx.Writable() {
		id--
	}
	for _, meta := range [][]byte{data, data[p.page:]} {
		free := order.Uint64(meta[metaFreelistAt:])
		if order.Uint64(meta[metaIDAt:]) == id && free != noFreelist {
			if _, err := p.claim(free); err != nil {
				return err
			}
			break
		}
	}
	return p.tree(uint64(tx.Cursor().Bucket().Root()))
}

// claim returns the page with those that it goes on for.
func (p *pages) claim(id uint64) ([]byte, error) {
	all := uint64(len(p.data)) / p.page
	if id < 2 || id >= all {
		return nil, corrupt(fmt.Sprintf("page %d of %d", id, all))
	}
	whole := p.data[id*p.page:]
	more := uint64(order.Uint32(whole[overflowAt:]))
	if more >= all-id {
		return nil, corrupt(fmt.Sprintf("page %d goes on for %d pages, the file has %d", id, more, all))
	}
	for n := id; n <= id+more; n++ {
		if p.seen[n] {
			return nil, corrupt(fmt.Sprintf("page %d is used twice", n))
		}
		p.seen[n] = true
	}
	return whole[:(1+more)*p.page], p.ctx.Err()
}

func (p *pages) tree(id uint64) error {
	whole, err := p.claim(id)
	if err != nil {
		return err
	}
	return p.elements(id, whole)
}

// elements looks at a page, or at a bucket that lies within one, and at what it leads to.
func (p *pages) elements(id uint64, whole []byte) error {
	broken := func() error { return corrupt(fmt.Sprintf("page %d does not hold what its header says", id)) }
	if len(whole) < headerSize {
		return broken()
	}
	kind, count := order.Uint16(whole[kindAt:]), int(order.Uint16(whole[countAt:]))
	if kind != branchKind && kind != leafKind || headerSize+count*elementSize > len(whole) {
		return broken()
	}
	var before []byte
	for i := range count {
		element := whole[headerSize+i*elementSize:]
		flags, pos := uint32(0), uint64(order.Uint32(element))
		key, value := uint64(order.Uint32(element[4:])), uint64(0)
		if kind == leafKind {
			flags, pos = order.Uint32(element), uint64(order.Uint32(element[4:]))
			key, value = uint64(order.Uint32(element[8:])), uint64(order.Uint32(element[12:]))
		}
		if pos+key+value > uint64(len(element)) {
			return broken()
		}
		name, content := element[pos:pos+key], element[pos+key:pos+key+value]
		if i > 0 && bytes.Compare(before, name) >= 0 {
			return corrupt(fmt.Sprintf("page %d: keys out of order", id))
		}
		before = name
		var err error
		switch {
		case kind == branchKind:
			err = p.tree(order.Uint64(element[8:]))
		case flags&bucketFlag != 0 && len(content) < bucketSize:
			err = broken()
		case flags&bucketFlag != 0 && order.Uint64(content) == 0:
			err = p.elements(id, content[bucketSize:])
		case flags&bucketFlag != 0:
			err = p.tree(order.Uint64(content))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// check returns the first fault. It looks first, because bbolt checks in a goroutine of its own,
// where a fault would end the program; and it leaves bbolt's check out where tx only reads, as that
// loads the free list into the DB, which is not safe beside other readers.
func check(ctx context.Context, tx *bolt.Tx) error {
	first := look(ctx, tx)
	if first != nil || !tx.Writable() {
		return first
	}
	for err := range tx.Check() { // to its end, as bbolt requires
		if first == nil {
			first = corrupt(err)
		}
	}
	return first
}
