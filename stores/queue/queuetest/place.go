package queuetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/assaydb/assay/stores/queue"
)

// lengths returns payloads around the lengths at which a backend keeps them elsewhere, each unlike
// the others.
func lengths() (all []string) {
	for i, n := range []int{8, 1015, 1016, 1017, 1023, 1024, 1025, 4087, 4088, 4089, 4096, 4097, 70_000} {
		all = append(all, fmt.Sprintf("%07d", i)+strings.Repeat("x", n-7))
	}
	return all
}

// testLengths lets jobs be claimed, given back, die and be requeued.
func testLengths(s *suite) {
	b := s.bench(queue.Settings{MaxAttempts: 3})
	all := lengths()
	b.publish(all...)
	b.list(queue.Ready, all...)
	jobs := b.claim(100, all...)
	b.list(queue.Claimed, all...)
	s.Must("extend", b.Extend(s.Ctx(), s.Class, time.Minute, receipts(jobs)...))
	s.Must("nack", b.Nack(s.Ctx(), s.Class, time.Second, receipts(jobs)...))
	b.list(queue.Delayed, all...)
	b.pass(time.Second)
	b.claim(100, all...)
	b.pass(queue.DefaultLease) // none is given back
	jobs = b.claim(100, all...)
	s.Must("nack", b.Nack(s.Ctx(), s.Class, 0, receipts(jobs)...))
	var ids []uint64
	for _, job := range b.list(queue.Dead, all...) {
		ids = append(ids, job.ID)
	}
	s.Must("requeue", b.Requeue(s.Ctx(), s.Class, ids...))
	b.list(queue.Ready, all...)
	for _, want := range all {
		jobs := b.claim(1, want)
		s.Must("ack", b.Ack(s.Ctx(), s.Class, jobs[0].Receipt))
	}
	b.wantCounts(queue.Counts{})
}

// testManyClaims has more claims than a backend keeps at hand, and ends them in every way.
func testManyClaims(s *suite) {
	b := s.bench(queue.Settings{Lease: time.Minute})
	all := numbered("job ", 40)
	b.publish(all...)
	var jobs []queue.Job
	for i, want := range all {
		jobs = append(jobs, b.claim(1, want)...)
		if i%7 == 3 {
			s.Must("extend", b.Extend(s.Ctx(), s.Class, time.Hour, jobs[i-2].Receipt))
		}
	}
	b.wantCounts(queue.Counts{Claimed: len(all)})
	acked, nacked := receipts(jobs[:10]), receipts(jobs[30:])
	s.Must("ack", b.Ack(s.Ctx(), s.Class, acked...))
	s.Must("nack", b.Nack(s.Ctx(), s.Class, 0, nacked...))
	s.wantStale("ack again", b.Ack(s.Ctx(), s.Class, acked[1], jobs[20].Receipt), acked[1])
	s.wantStale("ack of what was given back", b.Ack(s.Ctx(), s.Class, nacked[3]), nacked[3])
	b.wantCounts(queue.Counts{Ready: 10, Claimed: 20})
	b.pass(2 * time.Minute)
	var extended, ended []string
	for i := 10; i < 30; i++ {
		if (i+2)%7 == 3 {
			extended = append(extended, all[i])
		} else {
			ended = append(ended, all[i])
		}
	}
	b.claim(100, slices.Concat(all[30:], ended)...)
	for i := 10; i < 30; i++ {
		if (i+2)%7 == 3 {
			s.Must("ack of an extended claim", b.Ack(s.Ctx(), s.Class, jobs[i].Receipt))
		} else {
			s.wantStale("ack after the lease", b.Ack(s.Ctx(), s.Class, jobs[i].Receipt), jobs[i].Receipt)
		}
	}
	b.wantCounts(queue.Counts{Claimed: 40 - 10 - len(extended)})
}

// testMixedOrder claims one by one, while jobs come in before and behind those that were claimed:
// of several priorities, given back, due, and published by a clock that was set back.
func testMixedOrder(s *suite) {
	b := s.bench(queue.Settings{Lease: time.Hour})
	b.publish("a", "b", "c")
	first := b.claim(2, "a", "b")
	b.publishDrafts(queue.Draft{Payload: []byte("urgent 1"), Priority: -5},
		queue.Draft{Payload: []byte("urgent 2"), Priority: -5},
		queue.Draft{Payload: []byte("late"), Priority: 9})
	b.claim(1, "urgent 1")
	b.publishDrafts(queue.Draft{Payload: []byte("urgent 3"), Priority: -6})
	b.claim(2, "urgent 3", "urgent 2")
	b.pass(-time.Minute)
	b.publish("of a minute ago")
	b.publishDrafts(queue.Draft{Payload: []byte("urgent, of a minute ago"), Priority: -5})
	b.claim(2, "urgent, of a minute ago", "of a minute ago")
	b.pass(time.Minute)
	s.Must("nack", b.Nack(s.Ctx(), s.Class, 0, first[0].Receipt)) // its id is the smallest of this millisecond
	b.list(queue.Ready, "a", "c", "late")
	b.claim(1, "a")
	b.claim(3, "c", "late")
	b.publish("d")
	b.publishDrafts(queue.Draft{Payload: []byte("late 2"), Priority: 9})
	b.list(queue.Ready, "d", "late 2")
	n, err := b.Purge(s.Ctx(), s.Class, queue.Ready)
	if s.Must("purge", err); n != 2 {
		s.Errorf("purged %d jobs, want 2", n)
	}
	b.publish("e")
	b.claim(9, "e")
	b.wantCounts(queue.Counts{Claimed: 10})
}

// testReopenClaims closes the queue while jobs of every length are in every state.
func testReopenClaims(s *suite) {
	dir := s.TempDir()
	b := &bench{suite: s, clock: &clock{now: start}}
	open := func() (closeAll func()) {
		b.store, closeAll = s.openIn(dir, queue.Options{Clock: b.time})
		b.Queue = s.queue(b.store, "work", queue.Settings{Lease: time.Minute, MaxAttempts: 2})
		return closeAll
	}
	closeAll := open()
	all := lengths()
	b.publish(all...)
	jobs := b.claim(100, all...)
	rand.Shuffle(len(jobs), func(i, j int) { jobs[i], jobs[j] = jobs[j], jobs[i] })
	s.Must("extend", b.Extend(s.Ctx(), s.Class, time.Hour, receipts(jobs[:6])...))
	s.Must("nack", b.Nack(s.Ctx(), s.Class, 0, receipts(jobs[6:8])...))
	closeAll()
	closeAll = open()
	s.Must("ack of an extended claim", b.Ack(s.Ctx(), s.Class, receipts(jobs[:3])...))
	s.Must("extend again", b.Extend(s.Ctx(), s.Class, 2*time.Hour, receipts(jobs[3:6])...))
	closeAll()
	open()
	s.Must("ack of a claim that was extended twice", b.Ack(s.Ctx(), s.Class, receipts(jobs[3:5])...))
	b.pass(3 * time.Hour)
	again, err := b.Claim(s.Ctx(), s.Class, 100)
	s.Must("claim", err)
	got, want := texts(again), texts(jobs[5:])
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		s.Fatalf("%d jobs came back after their leases, want %d with their payloads", len(got), len(want))
	}
	s.Must("nack", b.Nack(s.Ctx(), s.Class, 0, receipts(again)...))
	b.wantCounts(queue.Counts{Dead: len(want)})
}
