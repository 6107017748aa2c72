// Package keyspace keeps stores of different kinds from the same keys: each would take the other's
// pairs for its own.
package keyspace

import (
	"fmt"
	"sync"

	"github.com/assaydb/assay/kv"
)

// space is who has the keys of one namespace.
type space struct {
	mu   sync.Mutex
	kept [256]struct { // by the first byte of a key
		kind   string
		stores int
	}
}

// Enter notes that a store of some kind is kept in db, under keys that begin with one of first.
// While another kind has keys that begin so, that is Invalid; so is another one of the same kind if
// it is to be alone. Calling leave again does nothing.
func Enter(db *kv.DB, kind, first string, alone bool) (leave func(), err error) {
	s := db.Common("stores", func() any { return new(space) }).(*space)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range []byte(first) {
		if k := s.kept[b]; k.stores > 0 && k.kind != kind {
			return nil, &kv.Error{Op: "open " + kind, Kind: kv.Invalid,
				Err:  fmt.Errorf("a %s of this program has these keys", k.kind),
				Hint: "give each a Namespace of its own"}
		}
	}
	vacate := func() {}
	if alone {
		if vacate, err = db.Occupy(kind); err != nil {
			return nil, err
		}
	}
	s.add(kind, first, 1)
	return sync.OnceFunc(func() {
		vacate()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.add(kind, first, -1)
	}), nil
}

func (s *space) add(kind, first string, n int) {
	for _, b := range []byte(first) {
		s.kept[b].kind = kind
		s.kept[b].stores += n
	}
}
