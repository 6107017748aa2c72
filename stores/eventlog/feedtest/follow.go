package feedtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog/feed"
	"github.com/assaydb/assay/stores/internal/crash"
)

var errEnough = errors.New("enough")

func testFollow(s *suite) {
	f := s.open()
	total := s.some(1500)
	all := batch(0, total)
	before := total / 3
	s.append(f, 0, all[:before]...)
	const from = 7
	next := from
	followed := make(chan error, 1)
	caughtUp := make(chan struct{})
	go func() {
		followed <- f.Follow(s.Ctx(), from, func(seq uint64, m []byte) error {
			if seq != uint64(next) || !bytes.Equal(m, all[seq]) {
				return fmt.Errorf("got %d, %.40q, want %d", seq, m, next)
			}
			if next++; next == before {
				close(caughtUp)
			}
			if next == total {
				return errEnough
			}
			return nil
		})
	}()
	<-caughtUp
	for at := before; at < total; {
		n := min(1+at%5, total-at)
		s.append(f, uint64(at), all[at:at+n]...)
		at += n
	}
	if err := <-followed; !errors.Is(err, errEnough) {
		s.Errorf("follow: %v", err)
	}

	ctx, cancel := context.WithCancel(s.Ctx())
	stopped := make(chan error, 1)
	go func() {
		stopped <- f.Follow(ctx, uint64(total)-1, func(uint64, []byte) error { cancel(); return nil })
	}()
	s.WantKind("follow until the context ends", <-stopped, kv.Canceled)
	started := make(chan struct{})
	go func() {
		stopped <- f.Follow(s.Ctx(), uint64(total)-1, func(uint64, []byte) error { close(started); return nil })
	}()
	<-started
	s.Must("close", f.Close())
	s.WantKind("follow until the feed is closed", <-stopped, kv.Closed)
}

func testFollowProcess(s *suite) {
	appends := s.some(50)
	dir := s.TempDir()
	f, _ := s.openIn(dir)
	total := 0
	for i := range appends {
		total += killSizes[i%len(killSizes)]
	}
	c := crash.Start[report](s.T, task{Dir: dir, Class: s.Class, Appends: appends})
	var got [][]byte
	err := f.Follow(s.Ctx(), 0, func(seq uint64, m []byte) error {
		if seq != uint64(len(got)) {
			return fmt.Errorf("got %d, want %d", seq, len(got))
		}
		if got = append(got, bytes.Clone(m)); len(got) == total {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		s.Fatalf("follow: %v after %d messages", err, len(got))
	}
	for r := range c.Reports {
		for i, want := range killed(0, r.First, r.Count) {
			if m := got[r.First+uint64(i)]; !bytes.Equal(m, want) {
				s.Fatalf("message %d is %.60q, want %.60q", r.First+uint64(i), m, want)
			}
		}
	}
	s.Must("child", c.Wait())
}

// wantTrimmed checks that the feed is all, without the first messages.
func (s *suite) wantTrimmed(f *feed.Feed, all [][]byte, first int) {
	s.Helper()
	s.Must("view", f.View(s.Ctx(), func(r *feed.Snapshot) error {
		if r.First() != uint64(first) || r.Len() != uint64(len(all)) {
			return fmt.Errorf("from %d to %d, want %d to %d", r.First(), r.Len(), first, len(all))
		}
		for _, from := range []int{0, first, (first + len(all)) / 2} {
			next := max(from, first)
			for seq, m := range r.Scan(uint64(from), r.Len()) {
				if seq != uint64(next) || !bytes.Equal(m, all[seq]) {
					return fmt.Errorf("scan from %d: got %d, %.40q, want %d", from, seq, m, next)
				}
				next++
			}
			if err := r.Err(); err != nil || next != len(all) {
				return fmt.Errorf("scan from %d: it ended at %d: %w", from, next, err)
			}
		}
		for seq := max(0, first-50); seq < min(len(all), first+50); seq++ {
			m, err := r.Get(uint64(seq))
			if seq < first && kv.KindOf(err) != kv.NotFound || seq >= first &&
				(err != nil || !bytes.Equal(m, all[seq])) {
				return fmt.Errorf("message %d, trimmed before %d: %.40q, %w", seq, first, m, err)
			}
		}
		return nil
	}))
}

// trims trims f, or is false where that is refused, with a reason.
func (s *suite) trims(f *feed.Feed, before int) bool {
	s.Helper()
	err := f.Trim(s.Ctx(), s.Class, uint64(before))
	if s.target.NoTrim {
		if kv.KindOf(err) != kv.Unsupported || kv.HintOf(err) == "" {
			s.Errorf("trim: %v, want unsupported with a hint", err)
		}
		return false
	}
	s.Must("trim", err)
	return true
}

func testTrim(s *suite) {
	f := s.open()
	all := batch(0, 600)
	s.append(f, 0, all[:300]...)
	for i := 300; i < 600; i++ {
		s.append(f, uint64(i), all[i])
	}
	for _, before := range []int{0, 1, 155, 100, 301, 590} { // in and between blocks, and less than before
		if !s.trims(f, before) {
			return
		}
		if before == 100 {
			before = 155
		}
		s.wantTrimmed(f, all, before)
	}
	s.WantKind("trim of more than there is", f.Trim(s.Ctx(), s.Class, 601), kv.Invalid)
	s.WantKind("follow what is trimmed", f.Follow(s.Ctx(), 100, func(uint64, []byte) error { return errEnough }),
		kv.NotFound)
	s.trims(f, 600)
	s.wantTrimmed(f, all, 600)
	more := batch(600, 200)
	for i, m := range more {
		s.append(f, uint64(600+i), m)
	}
	s.wantTrimmed(f, append(all, more...), 600)
}

func testTrimReopen(s *suite) {
	dir := s.TempDir()
	var all [][]byte
	for round := range 8 {
		f, closeAll := s.openIn(dir)
		messages := batch(len(all), []int{1, 333, 40, 0}[round%4])
		s.append(f, map[bool]uint64{true: uint64(len(all))}[len(messages) > 0], messages...)
		all = append(all, messages...)
		first := len(all) * round / 7 // at last all of them
		if !s.trims(f, first) {
			return
		}
		closeAll()
		f, closeAll = s.openIn(dir)
		s.wantTrimmed(f, all, first)
		closeAll()
	}
}

func testTrimConcurrent(s *suite) {
	f := s.open()
	if !s.trims(f, 0) {
		return
	}
	total := s.some(2000)
	all := batch(0, total)
	done := make(chan error, 2)
	go func() {
		for at := 0; at < total; at += 5 {
			if _, err := f.Append(s.Ctx(), s.Class, all[at:at+5]...); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	go func() {
		for {
			n, err := f.Len(s.Ctx())
			if err == nil {
				err = f.Trim(s.Ctx(), s.Class, n-n/4)
			}
			if err != nil || n == uint64(total) {
				done <- err
				return
			}
		}
	}()
	for n := 0; n < total; {
		s.Must("view", f.View(s.Ctx(), func(r *feed.Snapshot) error {
			n = int(r.Len())
			next := uint64(0)
			for seq, m := range r.Scan(0, r.Len()) {
				if next > 0 && seq != next || !bytes.Equal(m, all[seq]) {
					return fmt.Errorf("scan of %d to %d: got %d, %.40q, want %d", r.First(), n, seq, m, next)
				}
				next = seq + 1
			}
			if err := r.Err(); err != nil {
				return err
			}
			if r.First() < r.Len() {
				seq := r.Len() - 1
				if m, err := r.Get(seq); kv.KindOf(err) != kv.NotFound && (err != nil || !bytes.Equal(m, all[seq])) {
					return fmt.Errorf("message %d: %.40q, %w", seq, m, err)
				}
			}
			return nil
		}))
	}
	s.Must("append or trim", errors.Join(<-done, <-done))
	s.wantTrimmed(f, all, total-total/4)
}
