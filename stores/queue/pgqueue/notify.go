package pgqueue

import (
	"context"
	"net/url"
	"time"

	"github.com/assaydb/assay/stores/queue"
)

// channel is where who publishes tells who waits.
const channel = "assay_jobs"

// notifyEvery is how soon after one notification of a queue there is another: those who wait look
// for more jobs by themselves.
const notifyEvery = 2 * time.Millisecond

// notify tells other processes of jobs that are ready. PostgreSQL: a transaction that notifies
// holds a lock of the whole server while it commits. This is one that has nothing to commit.
func (s *session) notify(group []*queue.Op) error {
	for _, op := range group {
		if op.Err != nil || op.Ready == 0 || op.Verb == queue.Claim {
			continue
		}
		if now := time.Now(); now.Sub(s.notified[op.Queue]) >= notifyEvery {
			s.notified[op.Queue] = now
			if err := s.exec("SELECT pg_notify($1, $2)", channel, url.PathEscape(op.Queue)); err != nil {
				return err
			}
		}
	}
	return nil
}

// listen wakes those who wait, until ctx ends. While there is no connection they look by
// themselves.
func (b *backend) listen(ctx context.Context, store *queue.Store) {
	for ctx.Err() == nil {
		b.listenOnce(ctx, store)
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

func (b *backend) listenOnce(ctx context.Context, store *queue.Store) {
	pooled, err := b.pool.Acquire(ctx)
	if err != nil {
		return
	}
	conn := pooled.Hijack() // it is not to be used by others, who would listen as well
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return
	}
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return
		}
		if name, err := url.PathUnescape(n.Payload); err == nil {
			store.Wake(name)
		}
	}
}
