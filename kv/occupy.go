package kv

// Occupy notes that the keys of db belong to one value of the program that keeps something of them in memory, such as the
// end of a log. Until leave is called, another Occupy of the same namespace of the store, from any handle to it, is
// Invalid: two such values would overwrite each other's pairs. What names the value in that error. It binds nobody else,
// and other processes neither.
func (db *DB) Occupy(what string) (leave func(), err error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	key := string(db.prefix)
	if there, ok := db.occupied[key]; ok {
		return nil, db.wrap("open "+what, refusal(Invalid, "use that one, close it before, or give each a Namespace of its own",
			"a %s of this program has these keys", there))
	}
	if db.occupied == nil {
		db.occupied = map[string]string{}
	}
	db.occupied[key] = what
	return func() {
		db.mu.Lock()
		defer db.mu.Unlock()
		delete(db.occupied, key)
	}, nil
}
