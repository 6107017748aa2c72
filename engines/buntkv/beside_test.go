package buntkv

import (
	"testing"

	"github.com/assaydb/assay/kv/driver"
)

// The sync in the background looks at the length of the file while commits add to it: what they are
// just writing is nobody else's.
func TestASyncBesideCommitsTakesThemForOurs(t *testing.T) {
	s := opens(t, config(t.TempDir()+"/s.db"))
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				ended <- nil
				return
			default:
			}
			if err := s.(interface{ sync() error }).sync(); err != nil {
				ended <- err
				return
			}
		}
	}()
	for i := range 3000 {
		must(t, driver.Apply(t.Context(), s, []driver.Op{{Key: []byte{byte(i), byte(i >> 8)},
			Value: make([]byte, 1000)}}, driver.Flushed))
	}
	close(stop)
	must(t, <-ended)
	must(t, s.Close())
}
