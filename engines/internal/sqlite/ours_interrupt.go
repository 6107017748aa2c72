package sqlite

import (
	"context"
	"fmt"
	"time"
)

// interruptible is [Conn.Interruptible]. What fails when ctx has ended says so, too: SQLite's
// Interrupted does not say by what.
func (c *conn) interruptible(ctx context.Context, fn func() error) error {
	err := c.db.Interruptible(ctx, fn)
	if err != nil && ctx.Err() != nil {
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
