package sqlite

// SQLite: in DELETE mode a commit that leaves fewer pages than the file has, which is a VACUUM or
// any with auto_vacuum=FULL, removes the journal, and then cuts the file. The pages that are cut
// off are not in the journal. A cut amid a block of the file system clears the rest of the block,
// as data, which may reach the disk before the removal of the journal does; then the journal is
// rolled back over a file that lacks pages. Under EXTRA the folder is synced between the two.

// The value of synchronous under which SQLite keeps the file intact unless it is cut, and the one
// under which it may be cut.
const (
	unsafeToCut = "FULL"
	safeToCut   = "EXTRA"
)

// compactLevel returns the value of synchronous under which the database is rewritten.
func (s *Store) compactLevel() string {
	level := s.levelFor(s.caps.Strongest())
	if s.journal != wal && level == unsafeToCut {
		return safeToCut
	}
	return level
}

// cutsFile reports whether commits cut free pages off the end of the file. Another program may have
// asked for that when it made the database.
func (c *conn) cutsFile() (bool, error) {
	const full = "1"
	mode, err := c.text("PRAGMA auto_vacuum")
	return mode == full, err
}
