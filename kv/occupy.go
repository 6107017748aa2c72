package kv

import "sync"

// Occupy notes that the keys of db belong to one value of the program that keeps something of them
// in memory, such as the end of a log. Until leave is called, another Occupy of the same namespace
// is Invalid, whichever DB of this opening it is asked of: two such values would overwrite each
// other's pairs. What names the value in that error. It binds nobody else: not who reads and
// writes, not another opening of a Shared store, here or in another process. Calling leave again
// does nothing.
func (db *DB) Occupy(what string) (leave func(), err error) {
	const occupant = "" // no other value has this name
	if there := db.Common(occupant, func() any { return &what }).(*string); there != &what {
		return nil, db.wrap("open "+what, refusal(Invalid, "use that one, close it before, or give each a Namespace of its own",
			"a %s of this program has these keys", *there))
	}
	return sync.OnceFunc(func() {
		db.mu.Lock()
		defer db.mu.Unlock()
		delete(db.common, commonKey{string(db.prefix), occupant})
	}), nil
}

// Common returns the value that all who ask for it by name, which is not "", share, in the
// namespace of db and this opening of the store; who asks first makes it. It is for what several
// values over the same keys must agree on in memory. It binds no other opening of a Shared store,
// here or in another process.
func (db *DB) Common(name string, create func() any) any {
	db.mu.Lock()
	defer db.mu.Unlock()
	key := commonKey{string(db.prefix), name}
	if _, ok := db.common[key]; !ok {
		if db.common == nil {
			db.common = map[commonKey]any{}
		}
		db.common[key] = create()
	}
	return db.common[key]
}

type commonKey struct{ prefix, name string }
