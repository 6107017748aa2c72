package workload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/eventlog/sqllog"
)

// eventsRunner runs one operation on one event log. The event with index i is the i-th drawn, from
// 0; where several workers append at once, positions are in another order than indexes.
type eventsRunner struct {
	eventStore
	env    Env
	task   eventTask
	null   bool   // the engine keeps nothing: reads find nothing, which measures the harness alone
	loaded int    // events at the start, each with its index + 1 as its position
	byName bool   // events belong to streams, of which the log keeps an index
	values values // data of events, of the size 0 if they are the index
	rand   *rand.Rand

	log     *eventlog.Log
	indexes []int32 // of the event at each position above loaded, set by Verify; -1 is none

	// The slice: iteration i appends drafts[i*appends:][:appends], or reads from starts[i].
	first  int // index of the first event of the slice
	drafts []eventlog.Draft
	data   []byte
	placed []uint64 // position of the first event of each iteration
	starts []int

	want  []byte // memory of check
	whole bool   // every event that is read is checked
}

// readEvents is one iteration that reads, from the event with index start where that can be chosen.
type readEvents func(r *eventsRunner, ctx context.Context, start int) error

var (
	_ Runner = (*eventsRunner)(nil)
	_ Weaker = (*eventsRunner)(nil)
)

func newEventsRunner(env Env, task eventTask, name string) (Runner, error) {
	p := env.params(eventsParams)
	load := p.count("events", 1000, 1e8)
	index := p.text("index")
	if index != "none" && index != "stream" {
		p.fail("index", index, "use none or stream")
	}
	writers := p.count("writers", 1, 1000)
	v := values{seed: env.Seed}
	if p.text("data") != indexData {
		v.size = p.count("data", minValue, 1<<20)
	}
	variant := p.text("variant")
	if variant != "none" && variant != "ebuse" {
		p.fail("variant", variant, "use none or ebuse")
	}
	if p.err != nil {
		return nil, p.err
	}
	if task.load != given {
		load = task.load
	}
	byName := index == "stream"
	options := sqllog.Options{Options: eventlog.Options{Streams: byName}}
	if variant == "ebuse" {
		options.Indexes = []string{"stream", "time", "type"}
	}
	store, err := newEventStore(env, options)
	if err != nil {
		return nil, err
	}
	r := &eventsRunner{
		eventStore: store,
		env:        env,
		task:       task,
		null:       env.Engine == "null",
		loaded:     load,
		byName:     byName,
		values:     v,
		rand:       random(env.Seed, "events/"+name),
	}
	if task.crowd {
		return eventsCrowd{r, writers}, nil
	}
	return r, nil
}

// eventsCrowd is done by several writers at once.
type eventsCrowd struct {
	*eventsRunner
	writers int
}

var _ Crowd = eventsCrowd{}

// Workers returns how many there are.
func (r eventsCrowd) Workers() int { return r.writers }

// Setup creates the log and appends what is to be read, 1,000 events at a time.
func (r *eventsRunner) Setup(ctx context.Context) (err error) {
	r.log, err = r.create(ctx, func(log *eventlog.Log) error {
		var drafts []eventlog.Draft
		for i := 0; i < r.loaded; i += len(drafts) {
			drafts = drafts[:0]
			for j := i; j < min(i+loadBatch, r.loaded); j++ {
				_, d := r.draft(nil, j)
				drafts = append(drafts, d)
			}
			done, err := log.Append(ctx, r.env.Durability, r.stream(i), eventlog.Any, drafts...)
			if err != nil {
				return err
			}
			if want := uint64(i + 1); done.First != want || done.Last != want+uint64(len(drafts)-1) {
				return fmt.Errorf("append: positions %d to %d, want %d events from %d", done.First, done.Last,
					len(drafts), want)
			}
		}
		return nil
	})
	return err
}

// appendData appends the data of event index to dst.
func (r *eventsRunner) appendData(dst []byte, index int) []byte {
	if r.values.size == 0 {
		return appendEventData(dst, index)
	}
	return r.values.append(dst, uint64(index), 0)
}

// stream returns the name of the stream that the event with an index belongs to: the same for one
// append.
func (r *eventsRunner) stream(index int) string {
	switch {
	case !r.byName:
		return ""
	case index < r.loaded:
		return eventStreams[index/loadBatch%len(eventStreams)]
	}
	return eventStreams[(index-r.loaded)/r.task.appends%len(eventStreams)]
}

// Prepare draws the events to append, or where to read.
func (r *eventsRunner) Prepare(n int) error {
	if r.task.appends == 0 {
		r.starts = slices.Grow(r.starts[:0], n)[:n]
		for i := range r.starts {
			r.starts[i] = r.rand.IntN(r.loaded - r.task.reads + 1)
		}
		return nil
	}
	r.first = r.loaded + len(r.indexes)
	total := n * r.task.appends
	r.drafts, r.data = slices.Grow(r.drafts[:0], total), r.data[:0]
	for i := range total {
		var d eventlog.Draft
		r.data, d = r.draft(r.data, r.first+i)
		r.drafts = append(r.drafts, d)
	}
	r.indexes = slices.Grow(r.indexes, total)[:len(r.indexes)+total]
	r.placed = slices.Grow(r.placed[:0], n)[:n]
	clear(r.placed)
	return nil
}

// Commit is that of Weaker.
func (r *eventsRunner) Commit(d kv.Durability) (before kv.Durability) {
	before, r.env.Durability = r.env.Durability, d
	return before
}

// Do appends or reads once.
func (r *eventsRunner) Do(ctx context.Context, _, i int) error {
	if r.task.appends == 0 {
		r.whole = i%wholeEvery == 0
		return r.task.read(r, ctx, r.starts[i])
	}
	n := r.task.appends
	done, err := r.log.Append(ctx, r.env.Durability, r.stream(r.first+i*n), eventlog.Any, r.drafts[i*n:][:n]...)
	if err != nil {
		return err
	}
	if done.Last-done.First != uint64(n-1) {
		return fmt.Errorf("append of %d: positions %d to %d", n, done.First, done.Last)
	}
	r.placed[i] = done.First
	return nil
}

// loadFirst loads the first events at once.
func (r *eventsRunner) loadFirst(ctx context.Context, _ int) error { return r.loadFrom(ctx, 0) }

// loadAnywhere loads events from the drawn place on.
func (r *eventsRunner) loadAnywhere(ctx context.Context, start int) error {
	return r.loadFrom(ctx, start)
}

func (r *eventsRunner) loadFrom(ctx context.Context, start int) error {
	from, to := uint64(start+1), uint64(start+r.task.reads)
	list, err := r.log.Load(ctx, eventlog.Range{From: from}.To(to))
	if err != nil {
		return err
	}
	return r.checkAll(list, from, r.task.reads)
}

// walk goes through the whole log.
func (r *eventsRunner) walk(ctx context.Context, _ int) error {
	next := uint64(1)
	for list, err := range r.log.Batches(ctx, eventlog.Range{}, 1000) {
		if err != nil {
			return err
		}
		if err := r.checkAll(list, next, len(list)); err != nil {
			return err
		}
		next += uint64(len(list))
	}
	if got := int(next - 1); got != r.loaded && !r.null {
		return fmt.Errorf("stream: %d events, want %d", got, r.loaded)
	}
	return nil
}

func (r *eventsRunner) lastPosition(ctx context.Context, _ int) error {
	last, err := r.log.LastPosition(ctx)
	if err != nil {
		return err
	}
	if want := uint64(r.loaded + len(r.indexes)); last != want && !r.null {
		return fmt.Errorf("last position %d, want %d", last, want)
	}
	return nil
}

// checkAll compares n events, or the first and the last of them, with those appended at the
// positions from a first one on.
func (r *eventsRunner) checkAll(list []eventlog.Event, from uint64, n int) error {
	if r.null {
		return nil
	}
	if len(list) != n {
		return fmt.Errorf("load: %d events from position %d, want %d", len(list), from, n)
	}
	stride := 1
	if !r.whole {
		stride = max(1, n-1)
	}
	for i := 0; i < n; i += stride {
		if err := r.check(&list[i], from+uint64(i)); err != nil {
			return err
		}
	}
	return nil
}

// check compares an event with the one appended at a position.
func (r *eventsRunner) check(e *eventlog.Event, position uint64) error {
	index := int(position) - 1
	if index >= r.loaded {
		index = int(r.indexes[index-r.loaded])
	}
	r.want = r.appendData(r.want[:0], index)
	switch {
	case e.Position != position:
		return fmt.Errorf("event at position %d, want %d", e.Position, position)
	case e.Type != eventType || !bytes.Equal(e.Data, r.want):
		return fmt.Errorf("event %d: %s %s, want %s %s", position, e.Type, e.Data, eventType, r.want)
	case !e.Time.Equal(eventTime(index)):
		return fmt.Errorf("event %d: time %v, want %v", position, e.Time, eventTime(index))
	case r.byName && e.Stream != r.stream(index):
		return fmt.Errorf("event %d: stream %q, want %q", position, e.Stream, r.stream(index))
	}
	return nil
}

// Verify checks that the appends of the slice got the positions after those before it, each its
// own, and reads events of them back.
func (r *eventsRunner) Verify(ctx context.Context) error {
	if r.task.appends == 0 {
		return nil
	}
	for i := range r.drafts {
		r.indexes[r.first-r.loaded+i] = -1
	}
	for i, first := range r.placed {
		for j := range r.task.appends {
			if err := r.place(first+uint64(j), r.first+i*r.task.appends+j); err != nil {
				return err
			}
		}
	}
	if err := r.lastPosition(ctx, 0); err != nil {
		return err
	}
	return r.readBack(ctx)
}

// place notes that the event with an index is at a position, which must be one that the slice could
// get.
func (r *eventsRunner) place(position uint64, index int) error {
	at := int(position) - 1
	if at < r.first || at >= r.first+len(r.drafts) {
		return fmt.Errorf("append: position %d, want one of %d to %d", position, r.first+1, r.first+len(r.drafts))
	}
	if other := r.indexes[at-r.loaded]; other >= 0 {
		return fmt.Errorf("append: events %d and %d both got position %d", other, index, position)
	}
	r.indexes[at-r.loaded] = int32(index)
	return nil
}

// readBack reads what the slice appended, 1,000 events at a time: all of it, or, of more than
// 2,000, parts at even distances, the last among them. All of the 8,000 that appends of 100 make in
// a slice took a sixth of its time.
func (r *eventsRunner) readBack(ctx context.Context) error {
	const part, most = 1000, 2000
	r.whole = true
	stride := part * max(1, (len(r.drafts)+most-1)/most)
	for end := r.first + len(r.drafts); end > r.first; end -= stride {
		from := uint64(max(r.first, end-part)) + 1
		list, err := r.log.Load(ctx, eventlog.Range{From: from}.To(uint64(end)))
		if err != nil {
			return err
		}
		if err := r.checkAll(list, from, end+1-int(from)); err != nil {
			return fmt.Errorf("after the slice: %w", err)
		}
	}
	return nil
}

// Close closes the log and what keeps it.
func (r *eventsRunner) Close() error {
	var err error
	if r.log != nil {
		err = r.log.Close()
	}
	return errors.Join(err, r.eventStore.Close())
}
