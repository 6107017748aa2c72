package queuetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/queue"
)

// soon is a backoff for jobs that are to be tried again at once.
func soon(queue.Job, error) time.Duration { return 0 }

// wait calls ready until it reports that it is so.
func (s *suite) wait(what string, ready func() bool) {
	s.Helper()
	for ctx := s.Ctx(); !ready(); time.Sleep(time.Millisecond) {
		if ctx.Err() != nil {
			s.Fatalf("%s: not after %v", what, patience)
		}
	}
}

// testFailures has a job fail more often than is kept, once by the end of its lease.
func testFailures(s *suite) {
	b := s.bench(queue.Settings{MaxAttempts: queue.MostFailures + 3})
	b.publish("bad", "good")
	var want []queue.Failure
	for i := 1; i <= queue.MostFailures+3; i++ {
		b.pass(time.Second)
		why := fmt.Sprintf("reason %d", i)
		job := b.claim(1, "bad")[0]
		switch i {
		case 5:
			why = queue.LeaseEnded
			b.pass(queue.DefaultLease)
			_, err := b.Sweep(s.Ctx(), s.Class)
			s.Must("sweep", err)
		case 8:
			long := strings.Repeat("ä", queue.MostError)
			s.Must("fail", b.Fail(s.Ctx(), s.Class, errors.New(long), 0, job.Receipt))
			why = long
		default:
			s.Must("fail", b.Fail(s.Ctx(), s.Class, errors.New(why), 0, job.Receipt))
		}
		want = append(want, queue.Failure{At: b.time(), Attempt: i, Error: why})
		if i == 1 { // so that it is first again
			good := b.claim(1, "good")[0]
			s.Must("ack", b.Ack(s.Ctx(), s.Class, good.Receipt))
		}
	}
	dead := b.list(queue.Dead, "bad")[0]
	want = want[3:]
	if len(dead.Failures()) != len(want) {
		s.Fatalf("%d failures, want the last %d: %+v", len(dead.Failures()), len(want), dead.Failures())
	}
	for i, got := range dead.Failures() {
		text := want[i].Error
		if len(text) > queue.MostError {
			if len(got.Error) > queue.MostError || len(got.Error) < queue.MostError-8 ||
				!strings.HasPrefix(got.Error, "ää") {
				s.Errorf("a long error is kept as %d bytes", len(got.Error))
			}
			text = got.Error
		}
		if !got.At.Equal(want[i].At) || got.Attempt != want[i].Attempt || got.Error != text {
			s.Errorf("failure %d: got %+v, want %+v", i, got, want[i])
		}
	}
	s.Must("requeue", b.Requeue(s.Ctx(), s.Class, dead.ID))
	if job, err := b.Find(s.Ctx(), dead.ID); err != nil || job.Failures() != nil || job.Attempts != 0 {
		s.Errorf("after a requeue: %+v, %v", job, err)
	}
	s.WantKind("fail without a cause", b.Fail(s.Ctx(), s.Class, nil, 0, queue.Receipt{ID: 1, Token: 1}), kv.Invalid)
}

// testVerdicts has functions end in every way, and jobs with attempts and timeouts of their own.
func testVerdicts(s *suite) {
	var mu sync.Mutex
	var results []string
	store := s.open(queue.Options{Ended: func(o queue.Outcome) {
		mu.Lock()
		defer mu.Unlock()
		results = append(results, fmt.Sprintf("%s %d %v", o.Job.Payload, o.Job.Attempts, o.Result))
		if o.Wait < 0 || o.Run < 0 || (o.Err == nil) != (o.Result == queue.Done) {
			s.Errorf("outcome %+v", o)
		}
	}})
	q := s.queue(store, "work", queue.Settings{MaxAttempts: 2, Backoff: soon, Timeout: time.Hour})
	b := &bench{suite: s, Queue: q, store: store}
	b.publishDrafts(queue.Draft{Payload: []byte("good")}, queue.Draft{Payload: []byte("bad")},
		queue.Draft{Payload: []byte("stubborn"), MaxAttempts: 4},
		queue.Draft{Payload: []byte("fragile"), MaxAttempts: 1},
		queue.Draft{Payload: []byte("hopeless")}, queue.Draft{Payload: []byte("early"), MaxAttempts: 1},
		queue.Draft{Payload: []byte("slow"), Timeout: time.Millisecond, MaxAttempts: 1})
	naps := 0
	stop := b.working(func(ctx context.Context, job queue.Job) error {
		switch string(job.Payload) {
		case "good":
			return nil
		case "hopeless":
			return fmt.Errorf("no way: %w", queue.Never(errors.New("it cannot be")))
		case "early":
			if naps++; naps < 4 {
				return queue.Later(time.Millisecond)
			}
			return nil
		case "slow":
			<-ctx.Done()
			return context.Cause(ctx)
		}
		return errors.New("not this time")
	})
	want := []string{"bad 1 retried", "bad 2 buried", "early 1 done", "early 1 snoozed", "early 1 snoozed",
		"early 1 snoozed", "fragile 1 buried", "good 1 done",
		"hopeless 1 buried", "slow 1 buried", "stubborn 1 retried", "stubborn 2 retried", "stubborn 3 retried",
		"stubborn 4 buried"}
	s.wait("all outcomes", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(results) >= len(want)
	})
	stop()
	slices.Sort(results)
	if !slices.Equal(results, want) {
		s.Errorf("outcomes:\ngot  %q\nwant %q", results, want)
	}
	b.wantCounts(queue.Counts{Dead: 5})
	if got := q.Stats(); got.Done != 2 || got.Retried != 4 || got.Buried != 5 || got.Snoozed != 3 ||
		got.Ended() != int64(len(want)) || got.Run < time.Millisecond {
		s.Errorf("stats %+v", got)
	}
	whys := map[string]string{"bad": "not this time", "hopeless": "no way: it cannot be", "slow": "longer than 1ms"}
	dead, err := q.List(s.Ctx(), queue.Dead, 10)
	s.Must("list", err)
	for _, job := range dead {
		all := job.Failures()
		if last := all[len(all)-1]; !strings.Contains(last.Error, whys[string(job.Payload)]) ||
			last.Attempt != job.Attempts {
			s.Errorf("%s: failure %+v", job.Payload, last)
		}
	}
}

// testUnique publishes jobs with keys. The clock stands unless it is moved.
func testUnique(s *suite) {
	b := s.bench(queue.Settings{MaxAttempts: 1})
	publish := func(key string, period time.Duration, want bool) uint64 {
		s.Helper()
		ids := b.publishDrafts(queue.Draft{Payload: []byte(key)},
			queue.Draft{Payload: []byte(key), Key: key, KeyFor: period})
		if ids[0] == 0 || (ids[1] != 0) != want {
			s.Fatalf("published as %v, want it to be there: %t", ids, want)
		}
		s.Must("delete", b.Delete(s.Ctx(), s.Class, ids[0]))
		return ids[1]
	}
	claim := func(key string) queue.Receipt {
		s.Helper()
		job := b.claim(1, key)[0]
		if got, _ := job.Key(); got != key {
			s.Errorf("key %q, want %q", got, key)
		}
		return job.Receipt
	}

	// While it is in the queue, whatever its state.
	id := publish("a", 0, true)
	publish("a", 0, false)
	r := claim("a")
	publish("a", 0, false)
	s.Must("snooze", b.Snooze(s.Ctx(), s.Class, time.Second, r))
	publish("a", 0, false)
	b.pass(time.Second)
	s.Must("ack", b.Ack(s.Ctx(), s.Class, claim("a")))
	again := publish("a", 0, true)
	if again <= id {
		s.Errorf("id %d follows %d", again, id)
	}

	// A dead job gives its key up, and gets it back only from nobody.
	s.Must("fail", b.Fail(s.Ctx(), s.Class, errors.New("bad"), 0, claim("a")))
	other := publish("a", 0, true)
	s.WantKind("requeue", b.Requeue(s.Ctx(), s.Class, again), kv.Conflict)
	b.wantCounts(queue.Counts{Ready: 1, Dead: 1})
	s.Must("delete", b.Delete(s.Ctx(), s.Class, other))
	s.Must("requeue", b.Requeue(s.Ctx(), s.Class, again))
	publish("a", 0, false)
	n, err := b.Purge(s.Ctx(), s.Class)
	if s.Must("purge", err); n != 1 {
		s.Errorf("purged %d", n)
	}

	// For a period, even if it is done.
	publish("b", time.Minute, true)
	s.Must("ack", b.Ack(s.Ctx(), s.Class, claim("b")))
	publish("b", 0, false)
	b.pass(time.Minute)
	publish("b", time.Minute, true)
	b.pass(time.Hour)
	publish("b", 0, false) // it is still there
	s.Must("ack", b.Ack(s.Ctx(), s.Class, claim("b")))
	for i := range 20 { // others come and go
		publish(fmt.Sprint("c", i), time.Second, true)
		s.Must("ack", b.Ack(s.Ctx(), s.Class, claim(fmt.Sprint("c", i))))
		b.pass(2 * time.Second)
	}
	publish("b", 0, true)

	// One of a batch.
	ids := b.publishDrafts(queue.Draft{Key: "d"}, queue.Draft{Key: "d"}, queue.Draft{Key: "e"})
	if ids[0] == 0 || ids[1] != 0 || ids[2] == 0 {
		s.Errorf("of one batch: %v", ids)
	}
	for what, d := range map[string]queue.Draft{"a period without a key": {KeyFor: time.Second},
		"a key that is no text": {Key: "\xff"},
		"a negative period":     {Key: "k", KeyFor: -1}, "a timeout": {Timeout: 1}, "attempts": {MaxAttempts: -2}} {
		_, err := b.Publish(s.Ctx(), s.Class, d)
		s.WantKind(what, err, kv.Invalid)
	}
	_, err = b.Publish(s.Ctx(), s.Class, queue.Draft{Key: strings.Repeat("k", queue.MaxKey+1)})
	s.WantKind("a long key", err, kv.TooLarge)
}

// testUniqueTogether has several publish one key at once.
func testUniqueTogether(s *suite) {
	b := s.bench(queue.Settings{})
	var wg sync.WaitGroup
	var mu sync.Mutex
	published := map[int]int{}
	for range 8 {
		wg.Go(func() {
			for key := range 20 {
				ids, err := b.Publish(s.Ctx(), s.Class, queue.Draft{Key: fmt.Sprint(key)})
				if err != nil {
					s.Errorf("publish: %v", err)
					return
				}
				if ids[0] != 0 {
					mu.Lock()
					published[key]++
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	for key, n := range published {
		if n != 1 {
			s.Errorf("key %d was published %d times", key, n)
		}
	}
	b.wantCounts(queue.Counts{Ready: 20})
}

// testKeyTexts has keys be held and given up whose bytes have a meaning elsewhere, and that differ
// in what follows.
func testKeyTexts(s *suite) {
	b := s.bench(queue.Settings{})
	keys := []string{"\x00", "\x00\x00", "a\x00", "a\x00b", "a\x00c", "a", `a"b\c`, "\u2028</\uFFFD", "\x01\x7f", "k'; --", "ä𝄞"}
	for range 3 {
		for _, key := range keys {
			ids := b.publishDrafts(queue.Draft{Payload: []byte(key), Key: key, KeyFor: time.Second},
				queue.Draft{Key: key})
			if ids[0] == 0 || ids[1] != 0 {
				s.Fatalf("key %q: published as %v, want the first alone", key, ids)
			}
		}
		for _, job := range b.claim(100, keys...) {
			if got, _ := job.Key(); got != string(job.Payload) {
				s.Errorf("key %q, want %q", got, job.Payload)
			}
			s.Must("ack", b.Ack(s.Ctx(), s.Class, job.Receipt))
		}
		b.pass(time.Minute)
	}
}

// testEarlyClock has jobs live through all that may happen to them before 1970, until after it.
func testEarlyClock(s *suite) {
	b := &bench{suite: s, clock: &clock{now: time.UnixMilli(-5000)}}
	b.store = s.open(queue.Options{Clock: b.time})
	b.Queue = s.queue(b.store, "work", queue.Settings{MaxAttempts: 2, Lease: time.Second, Retention: time.Hour,
		DeadRetention: time.Hour})
	b.publish("a", "b")
	b.publishDrafts(queue.Draft{Payload: []byte("first"), Priority: -1, Key: "key", KeyFor: time.Minute},
		queue.Draft{Payload: []byte("later"), Delay: time.Second})
	b.list(queue.Ready, "first", "a", "b")
	jobs := b.claim(2, "first", "a")
	b.pass(time.Second)
	s.Must("extend", b.Extend(s.Ctx(), s.Class, 0, jobs[0].Receipt))
	s.Must("nack", b.Nack(s.Ctx(), s.Class, 0, jobs[1].Receipt))
	b.list(queue.Ready, "a", "b")
	s.Must("ack", b.Ack(s.Ctx(), s.Class, jobs[0].Receipt))
	if ids := b.publishDrafts(queue.Draft{Key: "key"}); ids[0] != 0 {
		s.Errorf("a key that is held: id %d", ids[0])
	}
	b.pass(time.Hour / 2)
	b.claim(4, "a", "b", "later")
	b.wantCounts(queue.Counts{Claimed: 3})
	b.pass(time.Minute)
	b.claim(4, "b", "later")
	b.list(queue.Dead, "a")
	for _, dead := range []int{2, 0} {
		b.pass(2 * time.Hour)
		_, err := b.Sweep(s.Ctx(), s.Class)
		s.Must("sweep", err)
		b.wantCounts(queue.Counts{Dead: dead})
	}
	b.publish("c")
	b.claim(1, "c")
}

// testDeleted has jobs with failures and keys be deleted in every state.
func testDeleted(s *suite) {
	b := s.bench(queue.Settings{MaxAttempts: 2, Lease: time.Hour})
	states := []queue.State{queue.Ready, queue.Delayed, queue.Claimed, queue.Dead}
	var ids []uint64
	for _, state := range states {
		key := state.String()
		ids = append(ids, b.publishDrafts(queue.Draft{Payload: []byte(key), Key: key, Priority: int8(state)})...)
		s.Must("fail", b.Fail(s.Ctx(), s.Class, errors.New("once"), 0, b.claim(1, key)[0].Receipt))
		switch state {
		case queue.Delayed:
			s.Must("snooze", b.Snooze(s.Ctx(), s.Class, time.Hour, b.claim(1, key)[0].Receipt))
		case queue.Claimed:
			b.claim(1, key)
		case queue.Dead:
			s.Must("fail", b.Fail(s.Ctx(), s.Class, errors.New("twice"), 0, b.claim(1, key)[0].Receipt))
		case queue.Ready: // out of the way of the others
			s.Must("delay", b.Snooze(s.Ctx(), s.Class, time.Minute, b.claim(1, key)[0].Receipt))
		}
	}
	b.pass(time.Minute)
	_, err := b.Sweep(s.Ctx(), s.Class)
	s.Must("sweep", err)
	b.wantCounts(queue.Counts{Ready: 1, Delayed: 1, Claimed: 1, Dead: 1})
	for i, id := range ids {
		job, err := b.Find(s.Ctx(), id)
		if s.Must("find", err); job.State != states[i] || len(job.Failures()) != 1+int(states[i])/3 ||
			job.Failures()[0].Error != "once" {
			s.Errorf("found %+v", job)
		}
	}
	s.Must("delete", b.Delete(s.Ctx(), s.Class, ids...))
	b.wantCounts(queue.Counts{})
	for i, state := range states {
		if again := b.publishDrafts(queue.Draft{Key: state.String()}); again[0] == 0 {
			s.Errorf("the key of job %d is still held", i)
		}
	}
}

// testDeletedAmongMany deletes jobs that were never claimed, before, among and after others.
func testDeletedAmongMany(s *suite) {
	b := s.bench(queue.Settings{})
	ids := b.publish(numbered("", 10)...)
	b.claim(1, "0")
	s.Must("delete", b.Delete(s.Ctx(), s.Class, ids[1], ids[5], ids[9]))
	b.wantCounts(queue.Counts{Ready: 6, Claimed: 1})
	b.list(queue.Ready, "2", "3", "4", "6", "7", "8")
	s.WantKind("delete of what is not there", b.Delete(s.Ctx(), s.Class, ids[2], ids[5]), kv.NotFound)
	b.publish("10")
	b.claim(20, "2", "3", "4", "6", "7", "8", "10")
}
