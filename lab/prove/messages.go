package prove

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math/rand/v2"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/stores/eventlog/feed"
)

// logDriver is a driver whose stores are logs of messages and have no keys. What it returns is one
// store: the feed reads and writes it, the driver.Store checks and closes it.
type logDriver interface {
	driver.Driver
	OpenFeed(ctx context.Context, c driver.Config) (*feed.Feed, driver.Store, error)
}

// messages is a log, with the history of its one writer: every commit appends some messages.
type messages struct {
	driver.Store
	feed  *feed.Feed
	tape  tape
	tried stamp
}

var _ subject = (*messages)(nil)

// upkeep does nothing: a log is not compacted.
func (s *messages) upkeep(context.Context, string, string) error { return nil }

// hold holds nothing: a log's messages do not change.
func (s *messages) hold(context.Context) (release func() error) { return func() error { return nil } }

// Check runs the log's own check.
func (s *messages) Check(ctx context.Context) error { return s.Store.(driver.Checker).Check(ctx) }

func openMessages(ctx context.Context, d logDriver, spec storeSpec, seed uint64) (subject, error) {
	f, s, err := d.OpenFeed(ctx, driver.Config{Path: spec.path(), Mode: driver.Exclusive,
		Weakest: spec.Class,
		Logger:  slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	return &messages{Store: s, feed: f, tape: tape{seed: seed}}, nil
}

func (s *messages) seek(_ int, n uint64, c chain) { s.tried = stamp{n, c.salt(n)} }

func (s *messages) goOn(past) {} // what is appended follows from the seed, which is the same

func (s *messages) last(int) stamp { return s.tried }

func (s *messages) next(ctx context.Context, _ int, salt uint64, class kv.Durability) error {
	want := s.tape.end(s.tried.n)
	s.tried = stamp{s.tried.n + 1, salt}
	var batch [][]byte
	for seq := want; seq < s.tape.end(s.tried.n); seq++ {
		batch = append(batch, messageOf(s.tape.seed, seq, salt))
	}
	first, err := s.feed.Append(ctx, class, batch...)
	if err == nil && first != want {
		return fmt.Errorf("%w: the messages of commit %d begin at %d, not %d", errWrong, s.tried.n, first, want)
	}
	return err
}

func (s *messages) nothing(context.Context, kv.Durability) error { return kv.Unsupported }

func (s *messages) count(ctx context.Context, _ int) (at stamp, err error) {
	found, err := s.feed.Len(ctx)
	if err != nil {
		return at, err
	}
	at.n = s.tape.commits(found)
	if end := s.tape.end(at.n); end != found {
		return at, fmt.Errorf("%w: %d messages end within commit %d", errWrong, found, at.n+1)
	}
	return at, nil
}

func (s *messages) compare(ctx context.Context, p past) (outcome, error) {
	var found [][]byte
	err := s.feed.View(ctx, func(v *feed.Snapshot) error {
		for seq, m := range v.Scan(0, v.Len()) {
			if seq != uint64(len(found)) {
				return fmt.Errorf("message %d comes after %d others", seq, len(found))
			}
			found = append(found, bytes.Clone(m))
		}
		if v.Err() == nil && uint64(len(found)) != v.Len() {
			return fmt.Errorf("%d messages of %d can be read", len(found), v.Len())
		}
		return nil
	})
	if err != nil {
		return outcome{}, err
	}
	return p.compareMessages(found), nil
}

// tape knows which messages each commit appends: their number follows from the seed and the
// commit's number alone, so that a log of some length ends in the same commit under every salt.
type tape struct {
	seed uint64
	ends []uint64 // of each commit, the number of messages with it
}

// Half of the commits append one message, the others some at once, and those many that are large
// ones of keys.
const (
	someMessages = 6
	manyMessages = 60
)

// end returns the number of messages that the first n commits append.
func (t *tape) end(n uint64) uint64 {
	for uint64(len(t.ends)) < n {
		c := len(t.ends) + 1
		r := rand.New(rand.NewPCG(mix(t.seed, "batch", c), t.seed))
		size := uint64(1)
		switch {
		case c%batchEvery == 3:
			size = manyMessages
		case r.IntN(2) == 0:
			size += r.Uint64N(someMessages)
		}
		if c > 1 {
			size += t.ends[c-2]
		}
		t.ends = append(t.ends, size)
	}
	if n == 0 {
		return 0
	}
	return t.ends[n-1]
}

// commits returns how many whole commits a number of messages is.
func (t *tape) commits(messages uint64) (n uint64) {
	for t.end(n+1) <= messages {
		n++
	}
	return n
}

// messageOf returns the message with a sequence under a salt. Most are small, some empty, some some
// hundred bytes, and a few longer than a page.
func messageOf(seed, seq, salt uint64) []byte {
	r := rand.New(rand.NewPCG(mix(seed, "message", seq, salt), seq))
	size := r.IntN(400)
	switch kind := r.IntN(40); {
	case kind == 0:
		size = 8<<10 + r.IntN(12<<10)
	case kind < 4:
		size = 0
	case kind < 8:
		size = r.IntN(2 << 10)
	}
	m := fmt.Appendf(make([]byte, 0, size+64), "message %d %d ", seq, salt)
	for len(m) < size {
		m = binary.LittleEndian.AppendUint64(m, r.Uint64())
	}
	return m[:size]
}

// compareMessages holds all messages of a log against what the commits appended.
func (p past) compareMessages(found [][]byte) outcome {
	t := tape{seed: p.Seed}
	best := p.compareChain(&t, found, p.Chains[0], 0)
	for w := range p.Unsure {
		for _, u := range p.Unsure[w] {
			// A commit that returned an error may be there, and then nothing follows it that its
			// writer did not know of.
			if o := p.compareChain(&t, found, p.Chains[0].from(u.N-1, u.Salt), u.N); better(o, best) {
				best = o
			}
		}
	}
	return best
}

// compareChain is compareMessages if the commits were those of chain c, of which there are no more
// than most, if that is not 0.
func (p past) compareChain(t *tape, found [][]byte, c chain, most uint64) outcome {
	o := outcome{N: []uint64{0}, chains: []chain{c}}
	n := uint64(0)
	for seq, m := range found {
		if uint64(seq) == t.end(n+1) {
			n++
		}
		o.N[0] = n
		if most > 0 && n == most {
			o.broken(fmt.Sprintf("no prefix: message %d follows commit %d, which returned an error", seq, n))
			return o
		}
		if want := messageOf(p.Seed, uint64(seq), c.salt(n+1)); m == nil || !bytes.Equal(m, want) {
			o.broken(fmt.Sprintf("no prefix: message %d, of commit %d, %s", seq, n+1, unlike(m, want)))
			return o
		}
	}
	length := uint64(len(found))
	if o.N[0] = t.commits(length); t.end(o.N[0]) != length {
		o.torn(fmt.Sprintf("commit %d is there in part: %d of its %d messages", o.N[0]+1, length-t.end(o.N[0]),
			t.end(o.N[0]+1)-t.end(o.N[0])))
	}
	return o
}

// unlike says how a message differs from what was appended.
func unlike(m, want []byte) string {
	if m == nil {
		return "was erased"
	}
	at := 0
	for at < min(len(m), len(want)) && m[at] == want[at] {
		at++
	}
	return fmt.Sprintf("has %d bytes, not %d, and from byte %d on %q, not %q", len(m), len(want), at, clip(m[at:]),
		clip(want[at:]))
}

// better reports whether o explains more of a log than other does.
func better(o, other outcome) bool {
	bad := func(o outcome) int {
		switch {
		case o.Broken != "":
			return 2
		case o.Torn != "":
			return 1
		}
		return 0
	}
	return bad(o) < bad(other) || bad(o) == bad(other) && o.N[0] > other.N[0]
}
