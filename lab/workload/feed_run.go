package workload

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"slices"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog/feed"
)

// feedBatch is how many messages an append of loading holds, as published.
const feedBatch = 5000

// feedPool is how many different messages are appended, each append some that follow each other.
const feedPool = 20_000

// feedRunner runs one operation on one feed.
type feedRunner struct {
	feedStore
	env      Env
	task     feedTask
	null     bool // the engine keeps nothing: reads find nothing, which measures the harness alone
	loaded   int  // messages at the start
	order    feedOrder
	messages feedMessages
	rand     *rand.Rand
	hash     maphash.Seed

	feed   *feed.Feed
	sums   []uint64 // of every message in the feed
	pool   [][]byte // messages to append; those from feedPool on are the first again
	pooled []uint64 // their sums

	// The slice: iteration i appends pool[starts[i]:][:appends], or reads from starts[i], or
	// seqs[i*reads:][:reads].
	first  int // messages before the slice
	starts []int
	seqs   []int
	firsts []uint64

	perMessage float64 // bytes stored, of the loaded feed
	buf        []byte
}

// feedOrder is the order in which iterating goes through a feed.
type feedOrder interface{ at(i int) int }

// bySequence is the order of a feed.
type bySequence struct{}

func (bySequence) at(i int) int { return i }

// readFeed is iteration i, which reads.
type readFeed func(r *feedRunner, s *feed.Snapshot, i int) error

var (
	_ Runner  = (*feedRunner)(nil)
	_ Metered = (*feedRunner)(nil)
)

func newFeedRunner(env Env, task feedTask, name string) (Runner, error) {
	p := env.params(feedParams)
	n := p.count("messages", max(task.reads, 1), 1e8)
	options := feed.Options{Block: p.count("block", 1, feed.MaxBlock)}
	dictionary, variant := p.text("dictionary"), p.text("variant")
	if dictionary != "none" && dictionary != "trained" {
		p.fail("dictionary", dictionary, "use none or trained")
	}
	if variant != "none" && variant != "le-keys" {
		p.fail("variant", variant, "use none or le-keys")
	}
	if p.err != nil {
		return nil, p.err
	}
	r := &feedRunner{env: env, task: task, null: env.Engine == "null", order: bySequence{},
		messages: feedMessages{env.Seed},
		rand:     random(env.Seed, "feed/"+name), hash: maphash.MakeSeed()}
	if task.reads > 0 {
		r.loaded = n
	}
	if env.Form == zstdForm {
		options.Compression = feed.Zstd
	}
	if dictionary == "trained" && env.Form == zstdForm {
		if err := r.train(&options); err != nil {
			return nil, err
		}
	}
	if variant == "le-keys" && env.Form != margaretForm {
		r.order = orderByKey(r.loaded)
	}
	var err error
	r.feedStore, err = newFeedStore(env, options, variant == "le-keys")
	return r, err
}

// train makes a dictionary of messages that the feed does not hold.
func (r *feedRunner) train(o *feed.Options) (err error) {
	samples := make([][]byte, 500)
	for i := range samples {
		samples[i] = feedMessages{r.env.Seed + 1}.append(nil, i)
	}
	o.Dictionary, err = feed.Train(samples, 0)
	return err
}

// Setup creates the feed, appends what is to be read, and makes what is to be appended.
func (r *feedRunner) Setup(ctx context.Context) (err error) {
	r.feed, err = r.create(ctx, func(f *feed.Feed) error {
		var batch [][]byte
		for i := 0; i < r.loaded; i += len(batch) {
			batch = batch[:0]
			for j := i; j < min(i+feedBatch, r.loaded); j++ {
				m := r.messages.append(nil, j)
				batch = append(batch, m)
				r.sums = append(r.sums, maphash.Bytes(r.hash, m))
			}
			first, err := f.Append(ctx, r.env.Durability, batch...)
			if err != nil {
				return err
			}
			if first != uint64(i) && !r.null {
				return fmt.Errorf("append: sequence %d, want %d", first, i)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if r.loaded > 0 {
		size, err := r.Size()
		if err != nil {
			return err
		}
		r.perMessage = float64(size.Allocated) / float64(r.loaded)
	}
	if r.task.appends > 0 {
		for i := range feedPool + r.task.appends {
			if i >= feedPool {
				r.pool = append(r.pool, r.pool[i-feedPool])
			} else {
				r.pool = append(r.pool, r.messages.append(nil, i))
			}
			r.pooled = append(r.pooled, maphash.Bytes(r.hash, r.pool[i]))
		}
	}
	return nil
}

// Prepare draws which messages to append, or to read.
func (r *feedRunner) Prepare(n int) error {
	r.starts = slices.Grow(r.starts[:0], n)[:n]
	if r.first = len(r.sums); r.task.appends > 0 {
		for i := range r.starts {
			r.starts[i] = r.rand.IntN(feedPool)
		}
		r.firsts = slices.Grow(r.firsts[:0], n)[:n]
		return nil
	}
	for i := range r.starts {
		r.starts[i] = r.rand.IntN(r.loaded - r.task.reads + 1)
	}
	r.seqs = slices.Grow(r.seqs[:0], n*r.task.reads)[:n*r.task.reads]
	for i := range r.seqs {
		r.seqs[i] = r.rand.IntN(r.loaded)
	}
	return nil
}

// Do appends or reads once.
func (r *feedRunner) Do(ctx context.Context, _, i int) (err error) {
	if r.task.appends == 0 {
		return r.feed.View(ctx, func(s *feed.Snapshot) error { return r.task.read(r, s, i) })
	}
	r.firsts[i], err = r.feed.Append(ctx, r.env.Durability, r.pool[r.starts[i]:][:r.task.appends]...)
	return err
}

// random reads messages anywhere in the feed.
func (r *feedRunner) random(s *feed.Snapshot, i int) error {
	for _, seq := range r.seqs[i*r.task.reads:][:r.task.reads] {
		if err := r.readOne(s, seq); err != nil {
			return err
		}
	}
	return nil
}

// sequential reads messages that follow each other, one by one.
func (r *feedRunner) sequential(s *feed.Snapshot, i int) error {
	for j := range r.task.reads {
		if err := r.readOne(s, r.starts[i]+j); err != nil {
			return err
		}
	}
	return nil
}

func (r *feedRunner) readOne(s *feed.Snapshot, seq int) (err error) {
	r.buf, err = s.Append(r.buf[:0], uint64(seq))
	if r.null && errors.Is(err, kv.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return r.check(seq, r.buf)
}

// iterate goes through messages that follow each other in the order of the feed.
func (r *feedRunner) iterate(s *feed.Snapshot, i int) error {
	at, end := r.starts[i], r.starts[i]+r.task.reads
	for seq, message := range s.Scan(uint64(at), uint64(end)) {
		want := r.order.at(at)
		if seq != uint64(want) {
			return fmt.Errorf("iterate: message %d, want %d", seq, want)
		}
		if err := r.check(want, message); err != nil {
			return err
		}
		at++
	}
	if err := s.Err(); err != nil {
		return err
	}
	if at != end && !r.null {
		return fmt.Errorf("iterate: %d messages of %d", at-r.starts[i], r.task.reads)
	}
	return nil
}

// check compares a message with the one that was appended.
func (r *feedRunner) check(seq int, message []byte) error {
	if maphash.Bytes(r.hash, message) != r.sums[seq] {
		return fmt.Errorf("message %d is %.60q of %d bytes, which is not what was appended", seq, message, len(message))
	}
	return nil
}

// Verify checks that the appends of the slice lie one behind the other after those before it, and
// reads messages of them back.
func (r *feedRunner) Verify(ctx context.Context) error {
	if r.task.appends == 0 || r.null {
		return nil
	}
	r.sums = r.sums[:r.first]
	for i, start := range r.starts {
		if r.firsts[i] != uint64(len(r.sums)) {
			return fmt.Errorf("append: sequence %d, want %d", r.firsts[i], len(r.sums))
		}
		r.sums = append(r.sums, r.pooled[start:][:r.task.appends]...)
	}
	return r.feed.View(ctx, func(s *feed.Snapshot) error {
		if s.Len() != uint64(len(r.sums)) {
			return fmt.Errorf("after the slice: %d messages, want %d", s.Len(), len(r.sums))
		}
		stride := max(1, (len(r.sums)-r.first)/mostVerified)
		for seq := len(r.sums) - 1; seq >= r.first; seq -= stride {
			if err := r.readOne(s, seq); err != nil {
				return fmt.Errorf("after the slice: %w", err)
			}
		}
		return nil
	})
}

// Metrics returns the bytes that a message of the loaded feed takes on disk.
func (r *feedRunner) Metrics() []Metric {
	if r.perMessage == 0 {
		return nil
	}
	return []Metric{{Name: "message-B", Value: r.perMessage}}
}

// Close closes the feed and what keeps it.
func (r *feedRunner) Close() error {
	var err error
	if r.feed != nil {
		err = r.feed.Close()
	}
	return errors.Join(err, r.feedStore.Close())
}
