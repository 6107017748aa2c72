package sqlite

import (
	endian "encoding/binary"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/assaydb/assay/kv/driver"
)

var _ driver.Figured = (*Store)(nil)

// others is how commits of others are found. SQLite: data_version, as one connection sees it,
// changes with every commit but its own. So it is asked of the connection that writes, as long as
// that stays the same one.
type others struct {
	by      *conn
	version string // when it was last asked, "" if that failed
	found   int64
}

// writes notes that c, which has no transaction open yet, is about to write. Where it takes the
// place of another one, that one tells of the commits until now, unless a snapshot has it: then
// those since the last look are passed over.
func (s *Store) writes(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := &s.others; f.by != c {
		version, _ := c.text("PRAGMA data_version") // first, so that no commit falls in between
		f.look(s.unused())
		f.by, f.version = c, version
	}
}

// unused are the connections that nobody has.
func (s *Store) unused() []*conn { return slices.Concat(s.idle[writer], s.idle[readers]) }

// look counts what others committed since the one before, if the connection is among idle ones.
func (f *others) look(idle []*conn) {
	if !slices.Contains(idle, f.by) {
		return
	}
	if version, err := f.by.text("PRAGMA data_version"); err == nil {
		if f.version != "" && f.version != version {
			f.found++
		}
		f.version = version
	}
}

// countOthers counts what others committed since the last look. One during a transaction is passed
// over, as is one at which another connection holds a lock.
func (s *Store) countOthers() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, idle := &s.others, s.unused()
	if f.by == nil { // nothing was written yet, or never is
		if len(idle) == 0 {
			c, err := s.connect()
			if err != nil {
				return f.found
			}
			idle = append(idle, c)
			s.idle[readers] = idle
		}
		f.by = idle[0]
	}
	f.look(idle)
	return f.found
}

// Figures tells what SQLite lets one see from outside. The log counts how often it began anew.
func (s *Store) Figures() []driver.Figure {
	list := []driver.Figure{{Name: driver.Foreign, Value: s.countOthers()}}
	path, err := filepath.EvalSymlinks(s.path)
	if err != nil || s.journal != wal {
		return list
	}
	// SQLite: it holds no lock of the log, which may be opened and closed beside it, unlike the
	// other files.
	log, err := os.Open(path + "-wal")
	if err != nil {
		return append(list, driver.Figure{Name: driver.LogBytes})
	}
	defer log.Close()
	if info, err := log.Stat(); err == nil {
		list = append(list, driver.Figure{Name: driver.LogBytes, Value: info.Size()})
	}
	var header [16]byte // of which the last four bytes are the checkpoint sequence number
	if _, err := io.ReadFull(log, header[:]); err == nil {
		list = append(list, driver.Figure{Name: driver.Checkpoints, Value: int64(endian.BigEndian.Uint32(header[12:]))})
	}
	return list
}
