package queue

import (
	"context"
	"fmt"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/assaydb/assay/kv"
)

// Schedule publishes jobs by the clock. Any number of processes may run the same one: for each tick
// one of them publishes one job. The last tick is kept in the store, so that one that comes while
// nobody runs the schedule is known later.
type Schedule struct {
	Name   string                              // one for each schedule of a queue, at most MaxName bytes
	Ticks  Ticks                               // when: see Cron and Every
	Draft  func(tick time.Time) (Draft, error) // what; its error ends the schedule
	Missed Missed                              // what becomes of ticks that nobody saw
}

// Ticks tells when a schedule ticks. Schedules of github.com/robfig/cron/v3 are Ticks.
type Ticks interface {
	// Next returns the first tick after t, which is in UTC; the zero time if there is none. Every
	// process must get the same.
	Next(t time.Time) time.Time
}

// Missed is what becomes of ticks that came while nobody ran their schedule.
type Missed uint8

// What becomes of missed ticks. The first time that a schedule is run, no tick before that is
// missed.
const (
	MissedOnce Missed = iota // one job for the last of them
	MissedEach               // a job for each of them, the first tick first
	MissedNone               // no job
)

// Cron returns the ticks of a cron expression: five fields (minute, hour, day of month, month, day
// of week), or "@hourly", "@daily", "@weekly", "@monthly", "@yearly", "@every 90s". Times are in
// UTC, or where "CRON_TZ=Europe/Berlin " before it says: there a tick that a change of the clock
// leaves out does not come.
func Cron(expression string) (Ticks, error) {
	s, err := cron.ParseStandard(expression)
	if err != nil {
		return nil, invalid("schedule", fmt.Errorf("cron expression %q: %w", expression, err),
			`give five fields, as "30 4 * * *" for 4:30 each day`)
	}
	if every, ok := s.(cron.ConstantDelaySchedule); ok {
		return Every(every.Delay), nil
	}
	return s, nil
}

// Every returns ticks that are d apart, rounded to milliseconds, the same in all processes. A d
// that is not positive is none: the schedule is Invalid.
func Every(d time.Duration) Ticks {
	if d <= 0 {
		return every(0)
	}
	return every(max(d.Round(time.Millisecond), time.Millisecond))
}

type every time.Duration

func (e every) Next(t time.Time) time.Time { return t.Truncate(time.Duration(e)).Add(time.Duration(e)) }

func (s *Schedule) check() error {
	if err := checkName(s.Name); err != nil {
		return err
	}
	if s.Ticks == nil || s.Ticks == every(0) || s.Draft == nil || s.Missed > MissedNone {
		return invalid("schedule", fmt.Errorf("schedule %s: Ticks, Draft or Missed is not set right", s.Name),
			"give Cron or Every, a function, and one of the Missed")
	}
	return nil
}

// RunSchedule publishes the jobs of a schedule until ctx ends, and returns Canceled then.
func (q *Queue) RunSchedule(ctx context.Context, d kv.Durability, s Schedule) error {
	if err := s.check(); err != nil {
		return err
	}
	began := q.store.now()
	last, err := q.tick(ctx, d, s.Name, noTick, 0, nil)
	if err == nil && last == 0 { // nobody ran it before
		last, err = q.tick(ctx, d, s.Name, 0, began, nil)
	}
	for err == nil {
		now := q.store.options.Clock()
		next := s.Ticks.Next(Millis(last))
		if next.IsZero() || next.After(now) {
			err = q.sleepUntil(ctx, next, now)
			continue
		}
		if next.UnixMilli() <= last {
			return invalid("schedule", fmt.Errorf("schedule %s: no tick after %v but %v", s.Name, Millis(last), next),
				"Next must return a time that is later, by a millisecond at least")
		}
		var drafts []Draft
		if s.Missed != MissedEach {
			next = latest(s.Ticks, next, now)
		}
		if s.Missed != MissedNone || next.UnixMilli() >= began {
			var draft Draft
			if draft, err = s.Draft(next); err != nil {
				return invalid("schedule", fmt.Errorf("schedule %s: %w", s.Name, err), "")
			}
			drafts = append(drafts, draft)
		}
		last, err = q.tick(ctx, d, s.Name, last, next.UnixMilli(), drafts)
	}
	return err
}

// noTick is From of a Tick that only reads.
const noTick = -1

// tick does a Tick, and returns what is stored then.
func (q *Queue) tick(
	ctx context.Context, d kv.Durability, name string, from, at int64, drafts []Draft,
) (last int64, err error) {
	if err := checkDrafts(drafts); err != nil {
		return 0, err
	}
	r := q.request(Tick)
	defer r.release()
	r.Schedule, r.From, r.At = name, from, at
	r.Drafts = append(r.Drafts[:0], drafts...)
	err = q.store.do(ctx, d, r)
	return r.Last, err
}

// latest returns the last tick up to now, of which first is one. It does not step through what may
// be millions.
func latest(ticks Ticks, first, now time.Time) time.Time {
	for back := time.Second; ; back *= 2 {
		from := now.Add(-back)
		if back <= 0 || from.Before(first) {
			break
		}
		if next := ticks.Next(from.UTC()); !next.IsZero() && !next.After(now) {
			first = next
			break
		}
	}
	for {
		next := ticks.Next(first.UTC())
		if next.IsZero() || next.After(now) {
			return first
		}
		first = next
	}
}

// sleepUntil waits until it may be time, or ctx ends.
func (q *Queue) sleepUntil(ctx context.Context, at, now time.Time) error {
	wait := longestSleep
	if !at.IsZero() {
		wait = min(wait, at.Sub(now))
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return canceled("schedule", ctx)
	case <-q.store.done:
		return errClosed("schedule")
	}
}
