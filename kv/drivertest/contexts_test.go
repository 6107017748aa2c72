package drivertest

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assaydb/assay/kv/driver"
)

// lingering is a log of which an opening goes on for a while behind the end of its context, as one
// may that waits for a disk.
type lingering struct {
	*logDriver
	running atomic.Int32
}

var lingers = &lingering{logDriver: &logDriver{name: "log-lingering"}}

func init() { driver.Register(lingers) }

func (l *lingering) Open(ctx context.Context, c driver.Config) (driver.Store, error) {
	if _, limited := ctx.Deadline(); limited {
		l.running.Add(1)
		defer l.running.Add(-1)
		<-ctx.Done()
		time.Sleep(200 * time.Millisecond)
	}
	return l.logDriver.Open(ctx, c)
}

// TestNoOpeningOutlivesItsCase: one that does writes into a folder that is being removed.
func TestNoOpeningOutlivesItsCase(t *testing.T) {
	runChild()
	s := newSuite(t, Config{Engine: lingers.name})
	r := record(t, s, tcase{"no call outlives its context while another process is in its way", returnsBesideProcesses})
	if left := lingers.running.Load(); left > 0 || r.failed {
		t.Errorf("%d openings went on behind the case, which failed=%v: %s", left, r.failed, r.said())
	}
}
