package pgqueue

import (
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

// wake returns what wakes those who wait, when others say that there are jobs.
func wake(store *queue.Store) func(payload string) {
	return func(payload string) {
		if name, err := url.PathUnescape(payload); err == nil {
			store.Wake(name)
		}
	}
}
