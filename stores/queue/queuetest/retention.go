package queuetest

import (
	"time"

	"github.com/assaydb/assay/stores/queue"
)

func testRetention(s *suite) {
	for _, outdated := range []queue.Outdated{queue.Bury, queue.Drop} {
		b := s.bench(queue.Settings{Retention: time.Hour, DeadRetention: 3 * time.Hour, Outdated: outdated,
			MaxAttempts: queue.NoLimit})
		b.publish("claimed", "old")
		job := b.claim(1, "claimed")[0]
		s.Must("extend", b.Extend(s.Ctx(), s.Class, 2*time.Hour, job.Receipt))
		b.publishDrafts(queue.Draft{Payload: []byte("urgent and old"), Priority: -1},
			queue.Draft{Payload: []byte("late"), Delay: 2 * time.Hour})
		b.pass(time.Hour)
		b.publish("exactly")
		b.pass(time.Millisecond)
		b.claim(9, "exactly") // and a claim never gives out what is too old, swept or not
		want := queue.Counts{Delayed: 1, Claimed: 2}
		dead := []string{"old", "urgent and old"}
		if outdated == queue.Drop {
			dead = nil
		}
		want.Dead = len(dead)
		b.wantCounts(want)
		b.list(queue.Dead, dead...)
		b.pass(time.Hour)
		s.Must("ack by its worker, however old", b.Ack(s.Ctx(), s.Class, job.Receipt))
		_, err := b.Sweep(s.Ctx(), s.Class)
		s.Must("sweep", err)
		b.claim(9) // late was too old when its time came, exactly is now
		for _, later := range []struct {
			after time.Duration
			dead  []string
		}{
			{2*time.Hour - time.Minute, []string{"old", "urgent and old", "late",
				"exactly"}}, // for 3 hours less a minute at most
			{2 * time.Minute, []string{"late", "exactly"}}, // an hour less than the others
			{time.Hour, nil},
		} {
			b.pass(later.after)
			_, err = b.Sweep(s.Ctx(), s.Class)
			s.Must("sweep", err)
			if outdated == queue.Drop {
				later.dead = nil
			}
			b.list(queue.Dead, later.dead...)
			b.wantCounts(queue.Counts{Dead: len(later.dead)})
		}
	}
}

// Others wait while a transaction puts jobs aside, so that none deals with all of many.
func testManyOld(s *suite) {
	const old = 2*queue.MostDue + 10
	settings := queue.Settings{Retention: time.Hour, MaxAttempts: queue.NoLimit}
	b := s.bench(settings)
	b.publishDrafts(make([]queue.Draft, old)...)
	b.pass(2 * time.Hour)
	b.publish("young")
	op := queue.Op{Verb: queue.Claim, Queue: b.Name(), Settings: &settings, Clock: b.time, Limit: 1, After: time.Minute}
	s.Must("one transaction", b.Backend().Commit(s.Ctx(), s.Class, []*queue.Op{&op}))
	if op.Done == 0 || op.Done > 2*queue.MostDue || len(op.Jobs) > 0 {
		s.Errorf("a transaction put %d of %d old jobs aside and claimed %d", op.Done, old, len(op.Jobs))
	}
	b.claim(1, "young")
	b.wantCounts(queue.Counts{Claimed: 1, Dead: old})
}

// Others wait while a transaction looks for jobs that have been dead for too long, so that none
// looks at all of many.
func testManyDead(s *suite) {
	const many = queue.MostLooked + 10
	settings := queue.Settings{Retention: time.Hour, DeadRetention: 10 * time.Hour, MaxAttempts: queue.NoLimit}
	b := s.bench(settings)
	b.publishDrafts(make([]queue.Draft, many)...)
	b.pass(20 * time.Hour)
	_, err := b.Sweep(s.Ctx(), s.Class)
	s.Must("sweep", err)
	b.wantCounts(queue.Counts{Dead: many}) // all died just now
	op := queue.Op{Verb: queue.Sweep, Queue: b.Name(), Settings: &settings, Clock: b.time, Limit: 10}
	for range 2 {
		s.Must("one transaction", b.Backend().Commit(s.Ctx(), s.Class, []*queue.Op{&op}))
		if op.From == 0 && op.Last == 0 || op.From != 0 && op.Last != 0 || op.Done != 0 {
			s.Errorf("above %d a transaction has looked up to %d of %d dead jobs, and deleted %d", op.From, op.Last, many,
				op.Done)
		}
		op.From = op.Last
	}
	b.pass(11 * time.Hour)
	s.Must("one transaction", b.Backend().Commit(s.Ctx(), s.Class, []*queue.Op{&op}))
	if op.Done != 10 || op.Last == 0 {
		s.Errorf("a transaction deleted %d of %d, up to %d, want 10", op.Done, many, op.Last)
	}
	b.claim(1) // which looks for them now and then
	const left = many - 10 - 1000
	if n, err := b.Sweep(s.Ctx(), s.Class); n != left || err != nil {
		s.Errorf("swept %d, %v, want %d", n, err, left)
	}
	b.wantCounts(queue.Counts{})
}
