package queue

import (
	"encoding/binary"

	"github.com/assaydb/assay/kv"
)

// The keys and values of queues in a key-value store. Numbers are big-endian, of 8 bytes where nothing else is said;
// times are in milliseconds since 1970; "queue" is the name as kv.AppendString writes it; a priority is one byte, 128
// more than the number; attempts are 4 bytes.
//
//	'j' queue id                     -> created, priority, payload
//	'r' queue priority visible_at id -> attempts; of a ready job
//	't' queue until id               -> 'd' attempts of a delayed job, which will be ready then;
//	                                    'c' attempts token priority of a claimed one, whose lease ends then; 'x' for 'c'
//	                                    if the claim was extended
//	'x' queue id                     -> until; of a claim that was extended: its receipt tells an earlier one
//	'd' queue id                     -> when it died, attempts; of a dead job
//	'q' queue                        -> format (1 byte), version, last id, numbers of ready, delayed, claimed and dead jobs
//
// Every job has a 'j' and one of 'r', 't', 'd'. Every transaction that changes the queue adds 1 to the version.
const (
	jobPrefix    = 'j'
	readyPrefix  = 'r'
	timerPrefix  = 't'
	extendPrefix = 'x'
	deadPrefix   = 'd'
	queuePrefix  = 'q'
)

// The kinds of timer.
const (
	timerDelay    = 'd'
	timerClaim    = 'c'
	timerExtended = 'x'
)

// format is the version of this layout.
const format = 1

// place is where a job is in a queue's order: entries in the order of claims, and timers, whose priority is 0.
type place struct {
	priority uint8 // as in keys
	at       int64
	id       uint64
}

func (p place) less(q place) bool {
	if p.priority != q.priority {
		return p.priority < q.priority
	}
	if p.at != q.at {
		return p.at < q.at
	}
	return p.id < q.id
}

func keyPriority(p int8) uint8        { return uint8(int(p) + 128) }
func jobPriority(key uint8) int8      { return int8(int(key) - 128) }
func be64(b []byte) uint64            { return binary.BigEndian.Uint64(b) }
func put64(b []byte, n uint64) []byte { return binary.BigEndian.AppendUint64(b, n) }
func put32(b []byte, n int) []byte    { return binary.BigEndian.AppendUint32(b, uint32(n)) }

// keys are the beginnings of one queue's keys, and memory for whole ones. A key holds until the next is made.
type keys struct {
	job, ready, timer, extended, dead, queue []byte
	buf                                      []byte
}

func newKeys(name string) keys {
	prefix := func(kind byte) []byte { return kv.AppendString([]byte{kind}, name) }
	return keys{job: prefix(jobPrefix), ready: prefix(readyPrefix), timer: prefix(timerPrefix), extended: prefix(extendPrefix),
		dead: prefix(deadPrefix), queue: prefix(queuePrefix)}
}

// with returns the key of a job after one of the beginnings that only an id follows.
func (k *keys) with(prefix []byte, id uint64) []byte {
	k.buf = put64(append(k.buf[:0], prefix...), id)
	return k.buf
}

func (k *keys) readyAt(p place) []byte {
	k.buf = append(append(k.buf[:0], k.ready...), p.priority)
	k.buf = put64(put64(k.buf, uint64(p.at)), p.id)
	return k.buf
}

func (k *keys) timerAt(at int64, id uint64) []byte {
	k.buf = put64(put64(append(k.buf[:0], k.timer...), uint64(at)), id)
	return k.buf
}

// parseReady returns the place that a key after k.ready tells; parseTimerKey one after k.timer.
func (k *keys) parseReady(key []byte) (p place, err error) {
	rest := key[len(k.ready):]
	if len(rest) != 17 {
		return p, corrupt("key %q is not that of a ready job", key)
	}
	return place{priority: rest[0], at: int64(be64(rest[1:])), id: be64(rest[9:])}, nil
}

func (k *keys) parseTimerKey(key []byte) (p place, err error) {
	rest := key[len(k.timer):]
	if len(rest) != 16 {
		return p, corrupt("key %q is not that of a timer", key)
	}
	return place{at: int64(be64(rest)), id: be64(rest[8:])}, nil
}

// The values.

const jobHeader = 9 // bytes before the payload

// timer is the value of 't'. Of a delayed job, token and priority are 0.
type timer struct {
	kind     byte
	attempts int
	token    uint64
	priority uint8
}

func (t timer) append(b []byte) []byte {
	b = put32(append(b, t.kind), t.attempts)
	if t.kind == timerDelay {
		return b
	}
	return append(put64(b, t.token), t.priority)
}

func parseTimer(key, v []byte) (t timer, err error) {
	switch {
	case len(v) == 5 && v[0] == timerDelay:
	case len(v) == 14 && (v[0] == timerClaim || v[0] == timerExtended):
		t.token, t.priority = be64(v[5:]), v[13]
	default:
		return t, corrupt("key %q: %q instead of a timer", key, v)
	}
	t.kind, t.attempts = v[0], int(binary.BigEndian.Uint32(v[1:]))
	return t, nil
}

// stats is the value of 'q'.
type stats struct {
	version, last uint64
	counts        Counts
}

func (s *stats) append(b []byte) []byte {
	b = put64(put64(append(b, format), s.version), s.last)
	for _, state := range States {
		b = put64(b, uint64(*s.counts.Of(state)))
	}
	return b
}

func parseStats(key, v []byte) (s stats, err error) {
	if len(v) > 0 && v[0] != format {
		return s, FormatError(int(v[0]), format)
	}
	if len(v) != 49 {
		return s, corrupt("key %q: %d bytes instead of a queue", key, len(v))
	}
	s.version, s.last = be64(v[1:]), be64(v[9:])
	for i, state := range States {
		*s.counts.Of(state) = int(be64(v[17+8*i:]))
	}
	return s, nil
}

func attemptsOf(key, v []byte) (int, error) {
	if len(v) != 4 {
		return 0, corrupt("key %q: %d bytes instead of attempts", key, len(v))
	}
	return int(binary.BigEndian.Uint32(v)), nil
}
