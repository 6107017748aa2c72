package buntkv

import (
	"errors"
	"fmt"
	"os"

	"github.com/tidwall/buntdb"
)

// commit ends tx. A synced commit is marked and then synced, through a descriptor of the driver's own: BuntDB would ignore
// the error of its sync. After any failure the file may end with a part of a commit, and what a failed sync was to keep may
// be lost whatever later syncs say, so nothing is written any more.
func (s *store) commit(tx *buntdb.Tx, synced bool) (err error) {
	defer func() {
		if p := recover(); p != nil { // BuntDB: it could not take a half-written commit back. It holds its lock.
			s.stuck.Store(true)
			err = fmt.Errorf("bunt: %v", p)
		}
		if err != nil {
			err = s.fail(err)
		}
	}()
	if err := tx.Commit(); err != nil {
		return classify(err)
	}
	s.written = true
	if !synced {
		return nil
	}
	s.marking.Lock()
	defer s.marking.Unlock()
	if err := s.mark(committed); err != nil {
		return err
	}
	for {
		if err := s.file.Sync(); err != nil {
			return err
		}
		if !s.swapping.Load() {
			return nil
		}
		// A compaction that runs may have put a new file in place of the one that was synced.
		followed, err := s.follow()
		if err != nil || !followed {
			return err
		}
	}
}

// fail keeps the first failure, which is the answer to every later Begin and Apply.
func (s *store) fail(err error) error {
	s.failed.Stop(err)
	return s.failed.Err()
}

// follow opens the file that is at the path now, if that is another one than s.file, and marks where it begins to be
// covered. It is called with s.marking held.
func (s *store) follow() (followed bool, err error) {
	now, err := os.Stat(s.path)
	if err != nil {
		return false, err
	}
	if before, err := s.file.Stat(); err != nil || os.SameFile(before, now) {
		return false, err
	}
	f, err := os.OpenFile(s.path, os.O_RDWR, 0)
	if err != nil {
		return false, err
	}
	if err := s.file.Close(); err != nil {
		return false, errors.Join(err, f.Close())
	}
	s.file, s.marked = f, now.Size()
	if !s.options.marks {
		return true, nil
	}
	if s.kind == open {
		return true, s.mark(open)
	}
	return true, s.mark(committed)
}

// announce marks what kind of commits follow, if the last mark says otherwise.
func (s *store) announce(synced bool) error {
	s.marking.Lock()
	defer s.marking.Unlock()
	switch {
	case !s.options.marks:
	case !synced && s.kind != open:
		return s.mark(open)
	case s.kind == closed:
		return s.mark(committed)
	}
	return nil
}
