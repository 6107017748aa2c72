package live_test

import (
	"fmt"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/queue"
	"github.com/assaydb/assay/transfer/live"
)

// TestStoresStandOnASwitch appends events and publishes jobs while the truth changes twice, and
// finds all of them in the new store when that is opened by itself.
func TestStoresStandOnASwitch(t *testing.T) {
	dir, old, new := urls(t, "bbolt", "sqlite")
	db, s := open(t, dir, old, new)
	l, err := eventlog.Open(t.Context(), db.Namespace([]byte("log/")), &eventlog.Options{Streams: true})
	must(t, err)
	jobs, err := queue.New(db.Namespace([]byte("jobs/")), nil)
	must(t, err)
	mail, err := jobs.Queue("mail", nil)
	must(t, err)
	const each = 50
	n, moved := 0, make(chan error, 1)
	work := func() {
		for range each {
			n++
			_, err := l.Append(t.Context(), kv.Synced, fmt.Sprint("stream", n%3), eventlog.Any,
				eventlog.Draft{Type: "Counted", Data: fmt.Append(nil, n)})
			must(t, err)
			_, err = mail.Publish(t.Context(), kv.Synced, queue.Draft{Payload: fmt.Append(nil, n)})
			must(t, err)
		}
	}
	for _, phase := range []live.Phase{live.Flipped, live.Shadowed, live.Flipped} {
		go func() { moved <- s.Move(t.Context(), phase) }()
		work()
		must(t, <-moved)
	}
	claimed, err := mail.Claim(t.Context(), kv.Synced, 10)
	must(t, err)
	for _, job := range claimed {
		must(t, mail.Ack(t.Context(), kv.Synced, job.Receipt))
	}
	must(t, s.Move(t.Context(), live.Dropped))
	work()
	must(t, l.Close())
	must(t, jobs.Close())
	must(t, db.Close())

	db, err = kv.Open(t.Context(), new)
	must(t, err)
	defer db.Close()
	l, err = eventlog.Open(t.Context(), db.Namespace([]byte("log/")), &eventlog.Options{Streams: true})
	must(t, err)
	got := 0
	for e, err := range l.All(t.Context(), eventlog.Range{}) {
		must(t, err)
		if got++; string(e.Data) != fmt.Sprint(got) {
			t.Fatalf("event %d is %q", got, e.Data)
		}
	}
	jobs, err = queue.New(db.Namespace([]byte("jobs/")), nil)
	must(t, err)
	mail, err = jobs.Queue("mail", nil)
	must(t, err)
	counts, err := mail.Counts(t.Context())
	must(t, err)
	if got != n || counts.Ready != n-len(claimed) || len(claimed) != 10 {
		t.Errorf("%d events of %d, %d jobs of %d", got, n, counts.Ready, n-len(claimed))
	}
	must(t, l.Close())
	must(t, jobs.Close())
}
