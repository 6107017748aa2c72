package mosskv

import (
	"github.com/couchbase/moss"
)

// start makes a collection over the file. moss's own OpenCollection gives up the file's first state
// once more than it took it: whoever reads it when the first commit is written finds nothing, and
// no error.
func (s *store) start(o moss.CollectionOptions) (err error) {
	if o.LowerLevelInit, err = s.disk.Snapshot(); err != nil {
		return err
	}
	o.LowerLevelUpdate = func(higher moss.Snapshot) (moss.Snapshot, error) {
		return s.disk.Persist(higher, moss.StorePersistOptions{CompactionConcern: moss.CompactionAllow})
	}
	o.OnError = s.failed
	o.OnEvent = func(e moss.Event) {
		if e.Kind == moss.EventKindPersisterProgress {
			s.wrote()
		}
	}
	if s.collection, err = moss.NewCollection(o); err != nil {
		return err
	}
	return s.collection.Start()
}

// failed is called by a goroutine of moss, which would otherwise try again at once, for ever.
func (s *store) failed(err error) {
	if s.failure.Stop(err) {
		s.cause <- err
	}
	<-s.closing
}

// wrote is called by the goroutine of moss that has written something.
func (s *store) wrote() {
	select {
	case s.progress <- struct{}{}:
	default:
	}
}

// drain waits until everything is written and synced.
func (s *store) drain() error {
	for {
		stats, err := s.collection.Stats()
		if err != nil || stats.CurDirtyOps == 0 {
			return err
		}
		select {
		case err := <-s.cause:
			return err
		case <-s.progress:
		}
	}
}
