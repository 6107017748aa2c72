package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/assaydb/assay/kv/driver"
)

// interruptible is [Conn.Interruptible]. What ctx has ended says so: SQLite's Interrupted does not.
func (c *conn) interruptible(ctx context.Context, fn func() error) error {
	err := c.db.Interruptible(ctx, fn)
	if driver.KindOf(err) == driver.Canceled {
		err = fmt.Errorf("%w: %w", err, ctx.Err())
	}
	return err
}

// Interrupting is [Conn.Interruptible] by a call that interrupts the connection from another
// goroutine. SQLite forgets an interrupt that comes before the statement has begun; therefore it is
// repeated until fn returns.
func Interrupting(ctx context.Context, interrupt func(), fn func() error) error {
	returned, ended := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		for {
			interrupt()
			select {
			case <-returned:
				return
			case <-time.After(time.Millisecond):
			}
		}
	})
	err := fn()
	close(returned)
	if !stop() {
		<-ended // before the connection can be closed
	}
	return err
}
