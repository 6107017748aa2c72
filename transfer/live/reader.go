package live

import (
	"bytes"
	"context"
	"fmt"

	"github.com/assaydb/assay/kv/driver"
)

// Snapshot returns a view of the truth. If a view of the shadow is of the same state, what is read
// is compared with it.
func (s *store) Snapshot(ctx context.Context) (driver.Reader, error) {
	at := s.look()
	r, err := at.truth.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	if !s.compares(at) {
		return plain{r}, nil
	}
	shadow, err := at.shadow.Snapshot(ctx)
	if err != nil {
		if driver.KindOf(err) != driver.Busy {
			s.fail(err)
		}
		return plain{r}, nil
	}
	if s.look() != at { // a commit has begun or ended meanwhile
		if err := shadow.Close(); err != nil {
			s.fail(err)
		}
		return plain{r}, nil
	}
	return &reader{Reader: r, s: s, shadow: shadow}, nil
}

// plain reads the truth alone. It hides what else the truth's reader can do: kv would use it again
// for the next View, when the other store may be the truth, or reads be compared.
type plain struct{ driver.Reader }

func (s *store) look() pairing {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pairing
	p.truth, p.shadow = s.truth, s.shadow
	return p
}

// compares reports whether reads are compared: not if readers of the shadow and writers would wait
// for each other, or readers for another machine.
func (s *store) compares(p pairing) bool {
	if !s.compare || !p.inStep || p.committing || p.shadow == nil {
		return false
	}
	caps := p.shadow.Caps()
	return caps.ReadersBlockWriters == driver.Never && caps.WritersBlockReaders == driver.Never && !caps.Remote
}

// reader reads the truth and compares what it reads with the shadow.
type reader struct {
	driver.Reader
	s       *store
	shadow  driver.Reader
	scratch []byte
}

var _ driver.Reader = (*reader)(nil)

func (r *reader) Get(dst, key []byte) ([]byte, error) {
	v, err := r.Reader.Get(dst, key)
	if err != nil && err != error(driver.NotFound) {
		return v, err
	}
	got, serr := r.shadow.Get(r.scratch[:0], key)
	r.scratch = got
	switch {
	case serr != nil && serr != error(driver.NotFound):
		r.s.fail(serr)
	case serr != err || err == nil && !bytes.Equal(v[len(dst):], got):
		r.s.readDiffers(found{key, lengthOf(v[len(dst):], err), lengthOf(got, serr)})
	default:
		r.s.compared(1)
	}
	return v, err
}

// lengthOf returns the length of the value that a Get found, or nil.
func lengthOf(v []byte, err error) *int {
	if err != nil {
		return nil
	}
	n := len(v)
	return &n
}

func (r *reader) Cursor(rg driver.Range) (driver.Cursor, error) {
	c, err := r.Reader.Cursor(rg)
	if err != nil {
		return nil, err
	}
	shadow, err := r.shadow.Cursor(rg)
	if err != nil {
		r.s.fail(err)
		return c, nil
	}
	return &cursor{Cursor: c, s: r.s, shadow: shadow, r: rg, comparing: true}, nil
}

// Close ends both views.
func (r *reader) Close() error {
	if err := r.shadow.Close(); err != nil {
		r.s.fail(err)
	}
	return r.Reader.Close()
}

// cursor walks over the truth and, until they differ, over the shadow. It hides what else the
// truth's cursor can do.
type cursor struct {
	driver.Cursor
	s         *store
	shadow    driver.Cursor
	r         driver.Range
	comparing bool
	same      int64 // pairs that were equal and are not counted yet
}

var _ driver.Cursor = (*cursor)(nil)

func (c *cursor) Next() (key, value []byte, err error) {
	key, value, err = c.Cursor.Next()
	if err != nil || !c.comparing {
		return key, value, err
	}
	k, v, serr := c.shadow.Next()
	switch {
	case serr != nil:
		c.s.fail(serr)
		c.comparing = false
	case bytes.Equal(k, key) && (k == nil) == (key == nil) && (c.r.KeysOnly || bytes.Equal(v, value)):
		if key != nil {
			c.same++
		}
	default: // from here on both stand at different keys
		c.comparing = false
		c.s.readDiffers(differenceAt(key, value, k, v, c.r.Reverse))
	}
	return key, value, nil
}

func (c *cursor) Close() error {
	if c.same > 0 {
		c.s.compared(c.same)
	}
	if err := c.shadow.Close(); err != nil {
		c.s.fail(err)
	}
	return c.Cursor.Close()
}

// found is a difference. Its key is borrowed; a and b are the lengths of the values of truth and
// shadow, nil where there is none.
type found struct {
	key  []byte
	a, b *int
}

// differenceAt is that of two walks, the truth's and the shadow's, at pairs that differ. A nil key
// is the end.
func differenceAt(a, av, b, bv []byte, reverse bool) found {
	n, m := len(av), len(bv)
	switch order := bytes.Compare(a, b); {
	case a != nil && b != nil && order == 0:
		return found{a, &n, &m}
	case b == nil || a != nil && (order < 0) != reverse:
		return found{a, &n, nil}
	}
	return found{b, nil, &m}
}

// readDiffers counts a difference that a read found, and has the shadow mended.
func (s *store) readDiffers(f found) {
	s.differs(f)
	s.fail(fmt.Errorf("key %q of the shadow differs from the truth", f.key))
}
