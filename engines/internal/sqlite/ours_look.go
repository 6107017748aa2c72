package sqlite

import "github.com/assaydb/assay/kv/driver"

// watchLog has the files -wal and -shm removed that reading the database makes, when it is closed.
func (s *Store) watchLog() {
	if s.looked = func() error { return nil }; s.readOnly && !s.options.Immutable {
		s.looked = driver.LookAtSQLite(s.path, s.removeLog)
	}
}

// removeLog has SQLite remove a log and its index in which there is nothing. What fails leaves
// these: that is no error of a look. A log that others have written to meanwhile stays.
func (s *Store) removeLog() error {
	db, err := s.lib.Connect(s.path, openReadWrite|openNoMutex, s.onSync)
	if err != nil {
		return nil
	}
	c := &conn{db: db}
	if db.Writable() {
		_, err = c.text("PRAGMA schema_version") // SQLite: who reads opens the log
	}
	db.KeepLog(err != nil || s.unfinished() != "")
	_ = c.close() // see above
	return nil
}
