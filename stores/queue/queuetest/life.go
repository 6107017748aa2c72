package queuetest

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/queue"
)

func testEmpty(s *suite) {
	b := s.bench(queue.Settings{})
	b.claim(1)
	b.wantCounts(queue.Counts{})
	for _, state := range queue.States {
		b.list(state)
	}
	names, err := b.store.Queues(s.Ctx())
	if len(names) != 0 || err != nil {
		s.Errorf("queues %q, %v, want none", names, err)
	}
	for _, verb := range []func() (int, error){
		func() (int, error) { return b.Purge(s.Ctx(), s.Class) },
		func() (int, error) { return b.Sweep(s.Ctx(), s.Class) },
	} {
		if n, err := verb(); n != 0 || err != nil {
			s.Errorf("%d jobs, %v, want none", n, err)
		}
	}
	if ids, err := b.Publish(s.Ctx(), s.Class); len(ids) != 0 || err != nil {
		s.Errorf("publishing nothing: %d, %v", ids, err)
	}
	s.Must("ack of nothing", b.Ack(s.Ctx(), s.Class))
}

func testRoundTrip(s *suite) {
	b := s.bench(queue.Settings{})
	payloads := [][]byte{nil, {}, {0}, []byte("text"), {0xff, 0, 0xfe}, bytes.Repeat([]byte("x"), 5000), []byte("日本")}
	var drafts []queue.Draft
	for i, p := range payloads {
		drafts = append(drafts, queue.Draft{Payload: p, Priority: int8(i)})
	}
	ids := b.publishDrafts(drafts...)
	jobs, err := b.Claim(s.Ctx(), s.Class, 100)
	s.Must("claim", err)
	if len(jobs) != len(payloads) {
		s.Fatalf("claimed %d jobs, want %d", len(jobs), len(payloads))
	}
	tokens := map[uint64]bool{}
	for i, job := range jobs {
		if len(payloads[i]) == 0 && job.Payload != nil || !bytes.Equal(job.Payload, payloads[i]) {
			s.Errorf("payload %q, want %q", job.Payload, payloads[i])
		}
		job.Payload = nil
		want := modelJob{ID: ids[i], State: queue.Claimed, Priority: int8(i), Attempts: 1, CreatedAt: start,
			VisibleAt: start.Add(queue.DefaultLease), ReadyAt: start, Receipt: job.Receipt}
		if got := asModel(job); fmt.Sprint(got) != fmt.Sprint(want) || job.Receipt.ID != job.ID ||
			job.Receipt.Token == 0 || tokens[job.Receipt.Token] {
			s.Errorf("got  %+v\nwant %+v", got, want)
		}
		tokens[job.Receipt.Token] = true
		if i > 0 && ids[i] <= ids[i-1] {
			s.Errorf("id %d follows %d", ids[i], ids[i-1])
		}
		text, err := job.Receipt.MarshalText()
		var back queue.Receipt
		if err := back.UnmarshalText(text); err != nil || back != job.Receipt {
			s.Errorf("receipt %v came back from %q as %v, %v", job.Receipt, text, back, err)
		}
		s.Must("receipt as text", err)
	}
}

func testLarge(s *suite) {
	b := s.bench(queue.Settings{})
	// Engines differ in what they can hold; half a mebibyte is below the limit of all.
	large := string(bytes.Repeat([]byte("0123456789abcdef"), 32<<10))
	b.publish("before", large, "after")
	jobs := b.claim(3, "before", large, "after")
	s.Must("nack", b.Nack(s.Ctx(), s.Class, 0, jobs[1].Receipt))
	b.claim(3, large)
}

func testOrder(s *suite) {
	b := s.bench(queue.Settings{})
	for _, p := range []int8{0, 127, -128, 5, -1} {
		b.publishDrafts(queue.Draft{Payload: fmt.Appendf(nil, "%d first", p), Priority: p},
			queue.Draft{Payload: fmt.Appendf(nil, "%d second", p), Priority: p})
	}
	b.pass(-time.Hour) // a clock that was set back: earlier by time, though published later
	b.publish("earlier")
	b.pass(2 * time.Hour)
	b.publish("later")
	b.claim(1, "-128 first")
	b.publishDrafts(queue.Draft{Payload: []byte("urgent"), Priority: -128})
	want := []string{"-128 second", "urgent", "-1 first", "-1 second", "earlier", "0 first", "0 second", "later",
		"5 first", "5 second", "127 first", "127 second"}
	b.list(queue.Ready, want...)
	for _, w := range want[:4] {
		b.claim(1, w)
	}
	b.claim(3, want[4:7]...)
	b.claim(100, want[7:]...)
}

func testAck(s *suite) {
	b := s.bench(queue.Settings{})
	b.publish("one", "two")
	one := b.claim(1, "one")
	two := b.claim(2, "two")
	b.claim(1)
	s.Must("ack", b.Ack(s.Ctx(), s.Class, one[0].Receipt))
	b.wantCounts(queue.Counts{Claimed: 1})
	s.wantStale("ack again", b.Ack(s.Ctx(), s.Class, one[0].Receipt), one[0].Receipt)
	s.Must("ack of both mentions", b.Ack(s.Ctx(), s.Class, two[0].Receipt, two[0].Receipt))
	b.wantCounts(queue.Counts{})
	b.pass(time.Hour)
	b.claim(1)
}

func testDelay(s *suite) {
	b := s.bench(queue.Settings{})
	d := func(text string, delay time.Duration, p int8) queue.Draft {
		return queue.Draft{Payload: []byte(text), Delay: delay, Priority: p}
	}
	b.publishDrafts(d("third", 2*time.Second, 0), d("second", time.Second, 0), d("now", 0, 0),
		d("urgent", 2*time.Second, -1))
	b.wantCounts(queue.Counts{Ready: 1, Delayed: 3})
	b.list(queue.Delayed, "second", "third", "urgent")
	b.claim(9, "now")
	b.pass(999 * time.Millisecond)
	b.claim(9)
	b.pass(time.Millisecond)
	b.wantCounts(queue.Counts{Ready: 1, Delayed: 2, Claimed: 1})
	b.claim(9, "second")
	b.publish("behind")
	b.pass(time.Second)
	b.claim(1, "urgent")
	jobs := b.claim(9, "behind", "third") // published before third became ready
	if jobs[1].Attempts != 1 || !jobs[1].CreatedAt.Equal(start) {
		s.Errorf("a delayed job is %+v", jobs[1])
	}
}

func testLease(s *suite) {
	b := s.bench(queue.Settings{Lease: 10 * time.Second})
	b.publish("job", "other")
	first := b.claim(1, "job")
	b.pass(10*time.Second - time.Millisecond)
	b.claim(1, "other")
	b.claim(1)
	b.pass(time.Millisecond)
	b.wantCounts(queue.Counts{Ready: 1, Claimed: 1})
	again := b.claim(9, "job")
	if again[0].Attempts != 2 || again[0].Receipt == first[0].Receipt {
		s.Errorf("given out again as %+v", again[0])
	}
	old := first[0].Receipt
	s.wantStale("ack", b.Ack(s.Ctx(), s.Class, old), old)
	s.wantStale("nack", b.Nack(s.Ctx(), s.Class, 0, old), old)
	s.wantStale("extend", b.Extend(s.Ctx(), s.Class, 0, old), old)
	b.wantCounts(queue.Counts{Claimed: 2})
	s.Must("ack", b.Ack(s.Ctx(), s.Class, again[0].Receipt))
}

func testLateAck(s *suite) {
	b := s.bench(queue.Settings{})
	b.publish("job")
	jobs := b.claim(1, "job")
	b.pass(time.Hour)
	s.Must("ack after the end of the lease", b.Ack(s.Ctx(), s.Class, jobs[0].Receipt))
	b.claim(1)
	b.publish("swept")
	jobs = b.claim(1, "swept")
	b.pass(time.Hour)
	_, err := b.Sweep(s.Ctx(), s.Class)
	s.Must("sweep", err)
	s.wantStale("ack after a sweep", b.Ack(s.Ctx(), s.Class, jobs[0].Receipt), jobs[0].Receipt)
	b.claim(1, "swept")
}

func testExtend(s *suite) {
	b := s.bench(queue.Settings{Lease: 10 * time.Second})
	b.publish("job")
	job := b.claim(1, "job")[0]
	for range 5 {
		b.pass(9 * time.Second)
		s.Must("extend", b.Extend(s.Ctx(), s.Class, 0, job.Receipt))
		b.claim(1)
	}
	s.Must("extend", b.Extend(s.Ctx(), s.Class, time.Hour, job.Receipt))
	b.pass(time.Hour - time.Second)
	b.claim(1)
	listed := b.list(queue.Claimed, "job")
	if want := b.time().Add(time.Second); !listed[0].VisibleAt.Equal(want) || listed[0].Attempts != 1 {
		s.Errorf("listed as %+v, want its lease to end at %v", listed[0], want)
	}
	b.publish("other")
	other := b.claim(1, "other")[0]
	s.wantStale("ack with both receipts of one claim and a stale one",
		b.Ack(s.Ctx(), s.Class, job.Receipt, listed[0].Receipt,
			queue.Receipt{ID: other.ID, Token: other.Receipt.Token ^ 2}),
		queue.Receipt{ID: other.ID, Token: other.Receipt.Token ^ 2})
	s.Must("nack with both receipts of one claim", b.Nack(s.Ctx(), s.Class, 0, other.Receipt,
		queue.Receipt{ID: other.ID, Until: other.Receipt.Until, Token: other.Receipt.Token}))
	s.Must("ack", b.Ack(s.Ctx(), s.Class, b.claim(1, "other")[0].Receipt))
	s.Must("extend with both receipts of one claim", b.Extend(s.Ctx(), s.Class, time.Second, job.Receipt,
		listed[0].Receipt))
	b.wantCounts(queue.Counts{Claimed: 1})
	s.Must("make the lease shorter", b.Extend(s.Ctx(), s.Class, time.Millisecond, listed[0].Receipt))
	b.pass(time.Millisecond)
	again := b.claim(1, "job")[0]
	s.wantStale("extend", b.Extend(s.Ctx(), s.Class, 0, job.Receipt), job.Receipt)
	s.Must("extend", b.Extend(s.Ctx(), s.Class, time.Hour, again.Receipt))
	s.Must("nack of an extended claim", b.Nack(s.Ctx(), s.Class, 0, again.Receipt))
	last := b.claim(1, "job")[0]
	s.wantStale("ack", b.Ack(s.Ctx(), s.Class, again.Receipt), again.Receipt)
	s.Must("extend", b.Extend(s.Ctx(), s.Class, time.Minute, last.Receipt))
	s.Must("ack of an extended claim", b.Ack(s.Ctx(), s.Class, last.Receipt))
	b.wantCounts(queue.Counts{})
}

func testNack(s *suite) {
	b := s.bench(queue.Settings{MaxAttempts: queue.NoLimit})
	b.publish("a", "b", "c")
	b.pass(time.Second)
	a := b.claim(1, "a")
	s.Must("nack", b.Nack(s.Ctx(), s.Class, 0, a[0].Receipt))
	s.wantStale("nack again", b.Nack(s.Ctx(), s.Class, 0, a[0].Receipt), a[0].Receipt)
	jobs := b.claim(3, "b", "c", "a")
	if jobs[2].Attempts != 2 {
		s.Errorf("attempts %d, want 2", jobs[2].Attempts)
	}
	s.Must("nack with a delay", b.Nack(s.Ctx(), s.Class, time.Second, receipts(jobs)...))
	b.wantCounts(queue.Counts{Delayed: 3})
	b.pass(time.Second)
	for i := range 20 {
		for _, job := range b.claim(3, "a", "b", "c") { // at the same time, by id
			want := 2 + i
			if string(job.Payload) == "a" {
				want++
			}
			if job.Attempts != want {
				s.Errorf("%s: attempts %d, want %d", job.Payload, job.Attempts, want)
			}
			s.Must("nack", b.Nack(s.Ctx(), s.Class, 0, job.Receipt))
		}
	}
}

func testDead(s *suite) {
	b := s.bench(queue.Settings{MaxAttempts: 2, Lease: time.Minute})
	b.publish("nacked", "left", "fine")
	for attempt := 1; attempt <= 2; attempt++ {
		jobs, err := b.Claim(s.Ctx(), s.Class, 3)
		s.Must("claim", err)
		for _, job := range jobs {
			if job.Attempts != attempt {
				s.Errorf("%s: attempts %d, want %d", job.Payload, job.Attempts, attempt)
			}
			switch {
			case string(job.Payload) == "nacked":
				s.Must("nack", b.Nack(s.Ctx(), s.Class, time.Second, job.Receipt))
			case attempt == 2 && string(job.Payload) == "fine":
				s.Must("ack", b.Ack(s.Ctx(), s.Class, job.Receipt))
			}
		}
		b.pass(time.Minute)
	}
	b.claim(9)
	b.wantCounts(queue.Counts{Dead: 2})
	dead := b.list(queue.Dead, "nacked", "left")
	if job := dead[0]; job.Attempts != 2 || !job.VisibleAt.Equal(start.Add(time.Minute)) ||
		job.Receipt != (queue.Receipt{}) {
		s.Errorf("a dead job is %+v", job)
	}
	s.wantHint("requeue of a job that is not dead", b.Requeue(s.Ctx(), s.Class, dead[0].ID, dead[1].ID+1000),
		kv.NotFound)
	b.wantCounts(queue.Counts{Dead: 2})
	b.publish("before")
	b.pass(time.Millisecond)
	s.Must("requeue", b.Requeue(s.Ctx(), s.Class, dead[1].ID, dead[1].ID))
	b.wantCounts(queue.Counts{Ready: 2, Dead: 1})
	jobs := b.claim(9, "before", "left")
	if jobs[1].Attempts != 1 || !jobs[1].CreatedAt.Equal(start) {
		s.Errorf("requeued as %+v", jobs[1])
	}
	s.wantHint("requeue of a job that is claimed", b.Requeue(s.Ctx(), s.Class, dead[1].ID), kv.NotFound)
}

func testStale(s *suite) {
	b := s.bench(queue.Settings{})
	b.publish("a", "b", "c")
	jobs := b.claim(3, "a", "b", "c")
	r := receipts(jobs)
	s.Must("ack", b.Ack(s.Ctx(), s.Class, r[1]))
	before := queue.Counts{Claimed: 2}
	wrong := r[0]
	wrong.Token ^= 2
	s.wantStale("ack", b.Ack(s.Ctx(), s.Class, r...), r[1])
	s.wantStale("nack", b.Nack(s.Ctx(), s.Class, 0, r[0], r[1], wrong), r[1], wrong)
	s.wantStale("extend", b.Extend(s.Ctx(), s.Class, time.Hour, wrong, r[2]), wrong)
	b.wantCounts(before)
	other := s.queue(b.store, "other", queue.Settings{})
	s.wantStale("ack in another queue", other.Ack(s.Ctx(), s.Class, r[0]), r[0])
	b.pass(queue.DefaultLease - time.Millisecond)
	b.claim(1) // nothing was given back
	s.Must("ack", b.Ack(s.Ctx(), s.Class, r[0], r[2]))
	b.wantCounts(queue.Counts{})
}

func testCounts(s *suite) {
	b := s.bench(queue.Settings{MaxAttempts: 1})
	b.publish(numbered("dead", 4)...)
	s.Must("nack", b.Nack(s.Ctx(), s.Class, 0, receipts(b.claim(4, numbered("dead", 4)...))...))
	b.publish(numbered("claimed", 3)...)
	b.claim(3, numbered("claimed", 3)...)
	for _, text := range numbered("delayed", 2) {
		b.publishDrafts(queue.Draft{Payload: []byte(text), Delay: time.Hour})
	}
	b.publish("ready")
	b.wantCounts(queue.Counts{Ready: 1, Delayed: 2, Claimed: 3, Dead: 4})
	b.list(queue.Ready, "ready")
	b.list(queue.Delayed, numbered("delayed", 2)...)
	b.list(queue.Claimed, numbered("claimed", 3)...)
	b.list(queue.Dead, numbered("dead", 4)...)
	if jobs, err := b.List(s.Ctx(), queue.Dead, 2); len(jobs) != 2 || err != nil {
		s.Errorf("a list of at most 2: %d, %v", len(jobs), err)
	}
	b.pass(2 * time.Hour) // what is due counts as ready, listed as it was
	b.wantCounts(queue.Counts{Ready: 6, Dead: 4})
	b.list(queue.Delayed, numbered("delayed", 2)...)
}

func testPurge(s *suite) {
	fill := func(b *bench) queue.Receipt {
		b.publish("dead")
		s.Must("nack", b.Nack(s.Ctx(), s.Class, 0, b.claim(1, "dead")[0].Receipt))
		b.publish("claimed")
		job := b.claim(1, "claimed")[0]
		b.publish("ready", "ready")
		b.publishDrafts(queue.Draft{Payload: []byte("delayed"), Delay: time.Hour})
		return job.Receipt
	}
	full := queue.Counts{Ready: 2, Delayed: 1, Claimed: 1, Dead: 1}
	for _, state := range queue.States {
		b := s.bench(queue.Settings{MaxAttempts: 1})
		receipt := fill(b)
		want, left := *full.Of(state), full
		*left.Of(state) = 0
		n, err := b.Purge(s.Ctx(), s.Class, state)
		if n != want || err != nil {
			s.Errorf("purge of %v: %d, %v, want %d", state, n, err, want)
		}
		b.wantCounts(left)
		b.list(state)
		err = b.Ack(s.Ctx(), s.Class, receipt)
		if state == queue.Claimed {
			s.wantStale("ack of what was purged", err, receipt)
		} else {
			s.Must("ack", err)
		}
		if n, err := b.Purge(s.Ctx(), s.Class); n != left.Total()-min(1, left.Claimed) || err != nil {
			s.Errorf("purge of the rest: %d, %v", n, err)
		}
		b.wantCounts(queue.Counts{})
		b.pass(2 * time.Hour)
		b.claim(9)
		b.publish("new")
		b.claim(9, "new")
	}
	b := s.bench(queue.Settings{})
	var many []queue.Draft
	for range 1500 { // more than a transaction of a purge
		many = append(many, queue.Draft{})
	}
	b.publishDrafts(many...)
	if n, err := b.Purge(s.Ctx(), s.Class, queue.Ready); n != 1500 || err != nil {
		s.Errorf("purge: %d, %v", n, err)
	}
	b.wantCounts(queue.Counts{})
}

func testManyDue(s *suite) {
	b := s.bench(queue.Settings{})
	var drafts []queue.Draft
	const n = queue.MostDue + 75
	for i := range n {
		drafts = append(drafts, queue.Draft{Payload: fmt.Appendf(nil, "%d", n-1-i),
			Delay: time.Duration(n-i) * time.Millisecond})
	}
	b.publishDrafts(drafts...)
	b.pass(time.Hour)
	b.wantCounts(queue.Counts{Ready: n})
	next := 0
	for next < n {
		jobs, err := b.Claim(s.Ctx(), s.Class, 70)
		s.Must("claim", err)
		if len(jobs) == 0 {
			s.Fatalf("no job after %d", next)
		}
		for _, job := range jobs {
			if got := string(job.Payload); got != fmt.Sprint(next) {
				s.Fatalf("got job %s, want %d", got, next)
			}
			next++
		}
	}
	b.claim(1)
}

func testNames(s *suite) {
	b := s.bench(queue.Settings{})
	names := []string{"a", "a\x00", "a\x00\x01", "aa", "b", "work ", "é"}
	for _, name := range names {
		_, err := s.queue(b.store, name, queue.Settings{}).Publish(s.Ctx(), s.Class, queue.Draft{Payload: []byte(name)})
		s.Must("publish", err)
	}
	got, err := b.store.Queues(s.Ctx())
	if !slices.Equal(got, names) || err != nil {
		s.Errorf("queues %q, %v, want %q", got, err, names)
	}
	for _, name := range names {
		jobs, err := s.queue(b.store, name, queue.Settings{}).Claim(s.Ctx(), s.Class, 9)
		s.Must("claim", err)
		b.wantJobs("claim from "+name, jobs, name)
	}
	b.claim(1)
}

func testOwnership(s *suite) {
	b := s.bench(queue.Settings{})
	given := []queue.Draft{{Payload: []byte("one")}, {Payload: []byte("two")}}
	b.publishDrafts(given...)
	for i := range given {
		clear(given[i].Payload)
		given[i] = queue.Draft{}
	}
	listed := b.list(queue.Ready, "one", "two")
	for i := range listed {
		clear(listed[i].Payload)
		_ = append(listed[i].Payload, "overwrites the next"...)
	}
	jobs := b.claim(2, "one", "two")
	_ = append(jobs[0].Payload, "overwrites the next"...)
	b.wantJobs("claim", jobs, "one", "two")
	clear(jobs[0].Payload)
	s.Must("nack", b.Nack(s.Ctx(), s.Class, 0, receipts(jobs)...))
	b.claim(2, "one", "two")
}

// wantHint checks the kind of an error, and that it says how to go on.
func (s *suite) wantHint(what string, err error, kind kv.Kind) {
	s.Helper()
	s.WantKind(what, err, kind)
	if kv.HintOf(err) == "" {
		s.Errorf("%s: %v has no hint", what, err)
	}
}
