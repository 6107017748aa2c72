package queue

import (
	"encoding/binary"

	"github.com/assaydb/assay/kv"
)

// The keys and values of queues in a key-value store. Numbers are big-endian, of 8 bytes where nothing else is said;
// times are in milliseconds since 1970; "queue" is the name as kv.AppendString writes it; a priority is one byte, 128
// more than the number; attempts are 4 bytes.
//
//	'r' queue priority visible_at id -> body; of a ready job, and of a claimed one whose claim stands in 'q'
//	't' queue until id               -> 'd' body, of a delayed job, which will be ready then;
//	                                    'c' token body, of a claimed one, whose lease ends then; 'x' for 'c' if the claim
//	                                    was extended
//	'x' queue id                     -> until; of a claim in 't' that was extended: its receipt tells an earlier one
//	'd' queue id                     -> when it died, body; of a dead job
//	'j' queue id                     -> payload, if it is longer than 1,024 bytes
//	'q' queue                        -> format (1 byte), version, last id, numbers of ready, delayed, claimed and dead jobs,
//	                                    claims: priority visible_at id of 'r', until, token, attempts, flags (1 byte: 1 if the
//	                                    payload is in 'j', 2 if the claim was extended)
//
// A body is attempts, created, priority, where (1 byte), payload: where is 0 if the payload follows, and 1 if it is in 'j'.
// Every job has one of 'r', 't', 'd'. Every transaction that changes the queue adds 1 to the version.
//
// So a job that is done soon is written once and deleted once: a claim stands in 'q', which every transaction writes
// anyway. When there is no more room for it, all that stand there move, and their jobs from 'r' to 't'.
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
const format = 2

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

// mostInline is how long a payload in a body is at most. A longer one would cost more at each move than it saves.
const mostInline = 1024

// body is what is kept of a job wherever it stands.
type body struct {
	attempts int
	created  int64
	priority uint8  // as in keys
	large    bool   // the payload is in 'j'
	payload  []byte // unless it is large
}

const bodyHeader = 14 // bytes before the payload

func (c body) append(b []byte) []byte {
	b = append(put64(put32(b, c.attempts), uint64(c.created)), c.priority, flagBit(c.large, flagLarge))
	return append(b, c.payload...)
}

// parseBody returns a body whose payload is part of v.
func parseBody(key, v []byte) (c body, err error) {
	if len(v) < bodyHeader || v[13] > flagLarge || v[13] == flagLarge && len(v) > bodyHeader {
		return c, corrupt("key %q: %d bytes instead of a job", key, len(v))
	}
	c = body{attempts: int(binary.BigEndian.Uint32(v)), created: int64(be64(v[4:])), priority: v[12], large: v[13] == flagLarge}
	if len(v) > bodyHeader {
		c.payload = v[bodyHeader:]
	}
	return c, nil
}

const (
	flagLarge    = 1
	flagExtended = 2
)

func flagBit(is bool, flag byte) byte {
	if is {
		return flag
	}
	return 0
}

// timer is the value of 't'. Of a delayed job, token is 0.
type timer struct {
	kind  byte
	token uint64
	body
}

func (t timer) append(b []byte) []byte {
	if b = append(b, t.kind); t.kind != timerDelay {
		b = put64(b, t.token)
	}
	return t.body.append(b)
}

// parseTimer returns a timer whose payload is part of v.
func parseTimer(key, v []byte) (t timer, err error) {
	switch {
	case len(v) > 1 && v[0] == timerDelay:
		t.kind, v = v[0], v[1:]
	case len(v) > 9 && (v[0] == timerClaim || v[0] == timerExtended):
		t.kind, t.token, v = v[0], be64(v[1:]), v[9:]
	default:
		return t, corrupt("key %q: %d bytes instead of a timer", key, len(v))
	}
	t.body, err = parseBody(key, v)
	return t, err
}

// stats is the value of 'q'.
type stats struct {
	version, last uint64
	counts        Counts
	slots         []claimed // whose kind is inSlot
}

// mostSlots is how many claims 'q' holds at most: it is written by every transaction, so that it should stay small.
const mostSlots = 16

const (
	statsHeader = 49 // bytes before the claims
	slotSize    = 38
)

func (s *stats) append(b []byte) []byte {
	b = put64(put64(append(b, format), s.version), s.last)
	for _, state := range States {
		b = put64(b, uint64(*s.counts.Of(state)))
	}
	for i := range s.slots {
		c := &s.slots[i]
		b = put64(put64(append(b, c.priority), uint64(c.at)), c.id)
		b = append(put32(put64(put64(b, uint64(c.until)), c.token), c.attempts), flagBit(c.large, flagLarge)|flagBit(c.extended, flagExtended))
	}
	return b
}

func parseStats(key, v []byte) (s stats, err error) {
	if len(v) > 0 && v[0] != format {
		return s, FormatError(int(v[0]), format)
	}
	if len(v) < statsHeader || (len(v)-statsHeader)%slotSize != 0 {
		return s, corrupt("key %q: %d bytes instead of a queue", key, len(v))
	}
	s.version, s.last = be64(v[1:]), be64(v[9:])
	for i, state := range States {
		*s.counts.Of(state) = int(be64(v[17+8*i:]))
	}
	for v = v[statsHeader:]; len(v) > 0; v = v[slotSize:] {
		s.slots = append(s.slots, claimed{place: place{v[0], int64(be64(v[1:])), be64(v[9:])}, until: int64(be64(v[17:])),
			token: be64(v[25:]), attempts: int(binary.BigEndian.Uint32(v[33:])), large: v[37]&flagLarge != 0, extended: v[37]&flagExtended != 0})
	}
	return s, nil
}

// isStored reports whether v is of the same version, and so the same as s.
func (s *stats) isStored(v []byte) bool {
	return len(v) >= statsHeader && v[0] == format && be64(v[1:]) == s.version
}

// hasSlot reports whether a job's claim stands in 'q'.
func (s *stats) hasSlot(id uint64) bool {
	for i := range s.slots {
		if s.slots[i].id == id {
			return true
		}
	}
	return false
}

// parseDead returns when a job died and what it is.
func parseDead(key, v []byte) (at int64, job body, err error) {
	if len(v) < 8 {
		return 0, job, corrupt("key %q: %d bytes instead of a dead job", key, len(v))
	}
	job, err = parseBody(key, v[8:])
	return int64(be64(v)), job, err
}

// idOf returns the id at the end of a key that has only that after its beginning.
func idOf(key, prefix []byte) (uint64, error) {
	if len(key) != len(prefix)+8 {
		return 0, corrupt("key %q is not that of a job", key)
	}
	return be64(key[len(prefix):]), nil
}
