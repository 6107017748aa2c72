package feedtest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog/feed"
)

func testEmpty(s *suite) {
	f := s.open()
	s.wantAll(f, nil)
	_, err := f.Get(s.Ctx(), 0)
	s.WantKind("get", err, kv.NotFound)
	s.append(f, 0, []byte("first"))
	_, err = f.Get(s.Ctx(), 1)
	s.WantKind("get behind the end", err, kv.NotFound)
}

func testRoundTrip(s *suite) {
	f := s.open()
	all := [][]byte{[]byte("text"), {}, {0, 255, 10}, bytes.Repeat([]byte{0}, 300), []byte("{}")}
	s.append(f, 0, all...)
	s.wantAll(f, all)
	for seq, want := range all {
		if m, err := f.Get(s.Ctx(), uint64(seq)); err != nil || m == nil || !bytes.Equal(m, want) {
			s.Errorf("message %d: got %q, %v, want %q", seq, m, err, want)
		}
	}
}

func testSizes(s *suite) {
	f := s.open()
	var all [][]byte
	for round := range s.some(60) {
		n := 1
		if round%5 == 0 {
			n = 1 + rand.IntN(400)
		}
		messages := batch(len(all), n)
		s.append(f, uint64(len(all)), messages...)
		all = append(all, messages...)
		if round%10 == 0 {
			s.wantAll(f, all)
		}
	}
	s.wantAll(f, all)
}

func testLarge(s *suite) {
	f := s.open()
	noise := make([]byte, 3<<20)
	if largest := s.target.Largest; largest > 0 {
		noise = noise[:min(len(noise), largest)]
	}
	for i := 0; i < len(noise); i += 8 {
		binary.LittleEndian.PutUint64(noise[i:], rand.Uint64())
	}
	all := append(batch(0, 3), noise)
	all = append(all, batch(4, 3)...)
	s.append(f, 0, all...)
	s.wantAll(f, all)
}

func testOwnership(s *suite) {
	f := s.open()
	given := []byte("given")
	s.append(f, 0, given)
	copy(given, "spoil")
	s.append(f, 1, given)
	got, err := f.Get(s.Ctx(), 0)
	s.Must("get", err)
	copy(got, "spoil")
	s.append(f, 2, batch(2, 500)...)
	s.wantAll(f, append([][]byte{[]byte("given"), []byte("spoil")}, batch(2, 500)...))
}

func testNothing(s *suite) {
	f := s.open()
	s.append(f, 0)
	s.append(f, 0, []byte("x"))
	s.append(f, 0)
	s.wantAll(f, [][]byte{[]byte("x")})
}

func testArguments(s *suite) {
	f := s.open()
	_, err := f.Append(s.Ctx(), s.Class, make([][]byte, feed.MaxAppend+1)...)
	s.WantKind("an append of too many", err, kv.TooLarge)
	_, err = f.Append(s.Ctx(), s.Class, []byte("x"), make([]byte, feed.MaxMessage+1))
	s.WantKind("a message too large", err, kv.TooLarge)
	if kv.HintOf(err) == "" {
		s.Errorf("%v: no hint", err)
	}
	_, err = f.Append(s.Ctx(), 17, []byte("x"))
	if err == nil {
		s.Error("an unknown class of durability was taken")
	}
	s.append(f, 0, []byte("x"))
	s.wantAll(f, [][]byte{[]byte("x")})
}

func testCanceled(s *suite) {
	f := s.open()
	ctx, cancel := context.WithCancel(s.Ctx())
	cancel()
	_, err := f.Append(ctx, s.Class, []byte("x"))
	s.WantKind("append", err, kv.Canceled)
	s.WantKind("view", f.View(ctx, func(*feed.Snapshot) error { return nil }), kv.Canceled)
	s.wantAll(f, nil)
}

func testClosed(s *suite) {
	f := s.open()
	s.append(f, 0, []byte("x"))
	s.Must("close", f.Close())
	s.Must("close again", f.Close())
	_, err := f.Append(s.Ctx(), s.Class, []byte("x"))
	s.WantKind("append", err, kv.Closed)
	_, err = f.Get(s.Ctx(), 0)
	s.WantKind("get", err, kv.Closed)
	_, err = f.Len(s.Ctx())
	s.WantKind("len", err, kv.Closed)
}

func testSnapshotEnds(s *suite) {
	f := s.open()
	s.append(f, 0, []byte("x"))
	var kept *feed.Snapshot
	mine := errors.New("mine")
	if err := f.View(s.Ctx(), func(r *feed.Snapshot) error { kept = r; return mine }); !errors.Is(err, mine) {
		s.Errorf("view returned %v, want the function's error", err)
	}
	for range 20 { // for whatever a view uses again
		s.passesOn("within a view", func() {
			_ = f.View(s.Ctx(), func(*feed.Snapshot) error { panic("within a view") })
		})
	}
	_, err := kept.Get(0)
	s.WantKind("get", err, kv.Closed)
	s.Must("view after a panic", f.View(s.Ctx(), func(r *feed.Snapshot) error {
		_, err := r.Get(0)
		return err
	}))
	for range kept.Scan(0, 1) {
		s.Error("a scan of a snapshot that has ended found something")
	}
	s.WantKind("scan", kept.Err(), kv.Closed)
}

// passesOn calls fn, which must panic with value.
func (s *suite) passesOn(value any, fn func()) {
	s.Helper()
	defer func() {
		if got := recover(); got != value {
			s.Errorf("got the panic %v, want %v", got, value)
		}
	}()
	fn()
}

func testScans(s *suite) {
	f := s.open()
	all := batch(0, 700)
	s.append(f, 0, all[:650]...)
	for seq := 650; seq < 700; seq++ {
		s.append(f, uint64(seq), all[seq])
	}
	s.Must("view", f.View(s.Ctx(), func(r *feed.Snapshot) error {
		for _, c := range []struct{ from, to, leave, want int }{
			{0, 700, 0, 700}, {0, 9999, 0, 700}, {699, 700, 0, 1}, {700, 700, 0, 0}, {5, 5, 0, 0}, {9, 3, 0, 0},
			{640, 660, 0, 20}, {0, 1, 0, 1}, {333, 334, 0, 1}, {100, 690, 590, 590}, {100, 690, 1, 1},
			{640, 700, 30, 30},
		} {
			next := c.from
			for seq, m := range r.Scan(uint64(c.from), uint64(c.to)) {
				if seq != uint64(next) || !bytes.Equal(m, all[next]) {
					return fmt.Errorf("%+v: got %d, %.40q, want %d", c, seq, m, next)
				}
				if next++; next-c.from == c.leave {
					break
				}
			}
			if next-c.from != c.want {
				return fmt.Errorf("%+v: got %d messages", c, next-c.from)
			}
		}
		return r.Err()
	}))
}

func testConcurrent(s *suite) {
	f := s.open()
	const writers, each = 6, 7
	appends := s.some(20)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for a := range appends {
				if _, err := f.Append(s.Ctx(), s.Class, batch((w*appends+a)*each, each)...); err != nil {
					s.Errorf("append: %v", err)
				}
			}
		})
	}
	wg.Wait()
	seen := map[int]bool{}
	s.Must("view", f.View(s.Ctx(), func(r *feed.Snapshot) error {
		for seq, m := range r.Scan(0, r.Len()) {
			var number int
			if _, err := fmt.Sscanf(string(m), `{"sequence":%d`, &number); err != nil {
				return err
			}
			if number%each != int(seq)%each {
				return fmt.Errorf("message %d is number %d of its append", seq, number%each)
			}
			seen[number] = true
		}
		return nil
	}))
	if len(seen) != writers*appends*each {
		s.Errorf("got %d different messages, want %d", len(seen), writers*appends*each)
	}
}

func testAtomic(s *suite) {
	f := s.open()
	const each = 9
	appends := s.some(60)
	var acknowledged atomic.Uint64
	done := make(chan struct{})
	go func() {
		defer close(done)
		for a := range appends {
			if _, err := f.Append(s.Ctx(), s.Class, batch(a*each, each)...); err != nil {
				s.Errorf("append: %v", err)
				return
			}
			acknowledged.Store(uint64(a+1) * each)
		}
	}()
	before := uint64(0)
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		least := acknowledged.Load()
		s.Must("view", f.View(s.Ctx(), func(r *feed.Snapshot) error {
			n := r.Len()
			if n%each != 0 || n < before || n < least {
				return fmt.Errorf("%d messages after %d, of which %d were acknowledged", n, before, least)
			}
			before = n
			for range min(n, 3) { // a message that is just being put into a block, and others
				seq := n - 1 - uint64(rand.IntN(int(min(n, 120))))
				if m, err := r.Get(seq); err != nil || !bytes.Equal(m, message(int(seq), 60+int(seq)%300)) {
					return fmt.Errorf("message %d of %d: %.40q, %v", seq, n, m, err)
				}
			}
			next := n - min(n, 150)
			for seq, m := range r.Scan(next, n) {
				if seq != next || !bytes.Equal(m, message(int(seq), 60+int(seq)%300)) {
					return fmt.Errorf("scanned %d of %d: %d, %.40q", next, n, seq, m)
				}
				next++
			}
			if err := r.Err(); err != nil || next != n {
				return fmt.Errorf("the scan ended at %d of %d: %w", next, n, err)
			}
			return nil
		}))
	}
}
