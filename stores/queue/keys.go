package queue

import (
	"encoding/binary"

	"github.com/assaydb/assay/kv"
)

// The keys and values of queues in a key-value store. Numbers are big-endian, of 8 bytes where
// nothing else is said; times are in milliseconds since 1970; "queue" is the name as
// kv.AppendString writes it; a priority is one byte, 128 more than the number; attempts are 4
// bytes, whose highest bit says that the job has a special.
//
//	'j' queue priority at id         -> created, payload; or created + 1<<63, length of special (4 bytes), special, payload
//	'r' queue priority visible_at id -> attempts, at; of a ready job that 'q' does not tell of
//	't' queue until id               -> 'd' attempts priority at, of a delayed job, which will be ready then;
//	                                    'c' attempts priority at token, of a claimed one, whose lease ends then; 'x' for 'c' if
//	                                    the claim was extended
//	'x' queue id                     -> until; of a claim in 't' that was extended: its receipt tells an earlier one
//	'd' queue id                     -> when it died, attempts, priority, at; of a dead job
//	'e' queue id                     -> failures of a job, as JSON; only one that was tried before has it
//	'u' queue key                    -> id, held until; of a unique job. The id is 0 if that is not there any more
//	'v' queue until key              -> nothing; of a key whose job is not there any more
//	's' queue name                   -> the last tick of a schedule
//	'q' queue                        -> format (1 byte), version, last id, numbers of ready, delayed, claimed and dead jobs, number
//	                                    of 'r', number of marks (2 bytes), marks: priority at id,
//	                                    claims: priority at id until token attempts extended (1 byte)
//
// Format 2 has no special, 'e', 'u', 'v' and 's', and is otherwise the same.
//
// Every job has a 'j', where it stays. Its at is when it was published, or 0 if it was not to be
// given out after all that were. A job whose 'j' is beyond the mark of its priority is ready, and
// has no other key: a claim of the first of them moves the mark over it. Without a mark that is
// what has an at other than 0. All others have one of 'r', 't', 'd', or a claim in 'q'. Every
// transaction that changes the queue adds 1 to the version.
//
// So a job that is done at the first attempt is written once and deleted once: a claim stands in
// 'q', which every transaction writes anyway. When there is no more room for it, those that stand
// there move to 't'.
const (
	jobPrefix    = 'j'
	readyPrefix  = 'r'
	timerPrefix  = 't'
	extendPrefix = 'x'
	deadPrefix   = 'd'
	queuePrefix  = 'q'

	failurePrefix  = 'e'
	keyPrefix      = 'u'
	keyEndPrefix   = 'v'
	schedulePrefix = 's'
)

// The kinds of timer.
const (
	timerDelay    = 'd'
	timerClaim    = 'c'
	timerExtended = 'x'
)

// format is the version of this layout; one of oldFormat is read, and becomes one of format by the
// next change.
const (
	format    = 3
	oldFormat = 2
)

// place is where a job is in a queue's order: entries in the order of claims, and timers, whose
// priority is 0.
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

// keys are the beginnings of one queue's keys, and memory for whole ones. A key holds until the
// next is made.
type keys struct {
	job, ready, timer, extended, dead, queue []byte
	failure, key, keyEnd, schedule           []byte
	buf                                      []byte
}

func newKeys(name string) keys {
	prefix := func(kind byte) []byte { return kv.AppendString([]byte{kind}, name) }
	return keys{job: prefix(jobPrefix), ready: prefix(readyPrefix), timer: prefix(timerPrefix),
		extended: prefix(extendPrefix),
		dead:     prefix(deadPrefix), queue: prefix(queuePrefix), failure: prefix(failurePrefix),
		key:    prefix(keyPrefix),
		keyEnd: prefix(keyEndPrefix), schedule: prefix(schedulePrefix)}
}

// with returns the key of a job after one of the beginnings that only an id follows.
func (k *keys) with(prefix []byte, id uint64) []byte {
	k.buf = put64(append(k.buf[:0], prefix...), id)
	return k.buf
}

// at returns the key of a place after one of the beginnings that such follow: k.job and k.ready.
func (k *keys) at(prefix []byte, p place) []byte {
	k.buf = append(append(k.buf[:0], prefix...), p.priority)
	k.buf = put64(put64(k.buf, uint64(p.at)), p.id)
	return k.buf
}

// named returns the key of a name after one of the beginnings that such follow: k.key and
// k.schedule.
func (k *keys) named(prefix []byte, name string) []byte {
	k.buf = append(append(k.buf[:0], prefix...), name...)
	return k.buf
}

// keyEndAt returns the key that says until when a unique key is held.
func (k *keys) keyEndAt(until int64, name string) []byte {
	k.buf = append(put64(append(k.buf[:0], k.keyEnd...), uint64(until)), name...)
	return k.buf
}

func (k *keys) timerAt(at int64, id uint64) []byte {
	k.buf = put64(put64(append(k.buf[:0], k.timer...), uint64(at)), id)
	return k.buf
}

// parsePlace returns the place that a key tells after k.job or k.ready; parseTimerKey one after
// k.timer.
func parsePlace(key, prefix []byte) (p place, err error) {
	rest := key[len(prefix):]
	if len(rest) != placeSize {
		return p, corrupt("key %q is not that of a place in a queue", key)
	}
	return parsePlaceBytes(rest), nil
}

const placeSize = 17

func (p place) append(b []byte) []byte {
	return put64(put64(append(b, p.priority), uint64(p.at)), p.id)
}

func parsePlaceBytes(b []byte) place {
	return place{priority: b[0], at: int64(be64(b[1:])), id: be64(b[9:])}
}

func (k *keys) parseTimerKey(key []byte) (p place, err error) {
	rest := key[len(k.timer):]
	if len(rest) != 16 {
		return p, corrupt("key %q is not that of a timer", key)
	}
	return place{at: int64(be64(rest)), id: be64(rest[8:])}, nil
}

// The values.

const (
	jobHeader  = 8       // bytes before the payload
	hasSpecial = 1 << 63 // beside when it was published
)

// tried is how often a job was tried, and whether it has a special.
type tried struct {
	attempts int
	special  bool
}

const triedSpecial = 1 << 31

func (t tried) append(b []byte) []byte {
	n := t.attempts
	if t.special {
		n |= triedSpecial
	}
	return put32(b, n)
}

func parseTried(b []byte) tried {
	n := binary.BigEndian.Uint32(b)
	return tried{int(n &^ triedSpecial), n&triedSpecial != 0}
}

// before returns t without the attempt that is running.
func (t tried) before() tried { return tried{t.attempts - 1, t.special} }

// appendJob appends the value of 'j' without its payload.
func appendJob(b []byte, created int64, special []byte) []byte {
	if special == nil {
		return put64(b, uint64(created))
	}
	return append(put32(put64(b, uint64(created)|hasSpecial), len(special)), special...)
}

// parseJob makes a job, without its state, of the value of 'j', which becomes the job's.
func parseJob(home place, v []byte) (Job, error) {
	if len(v) < jobHeader {
		return Job{}, corrupt("job %d: %d bytes instead of a job", home.id, len(v))
	}
	job := Job{ID: home.id, CreatedAt: Millis(int64(be64(v) &^ hasSpecial)), Priority: jobPriority(home.priority)}
	payload := v[jobHeader:]
	if isSpecial(v) {
		text, rest, err := cutSpecial(home.id, payload)
		if err == nil {
			err = job.SetSpecial(text)
		}
		if err != nil {
			return job, err
		}
		payload = rest
	}
	if len(payload) > 0 {
		job.Payload = payload
	}
	return job, nil
}

// isSpecial reports whether a job has a special, of the value of 'j'.
func isSpecial(v []byte) bool { return len(v) >= jobHeader && v[0]&(hasSpecial>>56) != 0 }

func cutSpecial(id uint64, v []byte) (text, payload []byte, err error) {
	if len(v) >= 4 {
		if n := uint64(binary.BigEndian.Uint32(v)); n <= uint64(len(v)-4) {
			return v[4 : 4+n], v[4+n:], nil
		}
	}
	return nil, nil, corrupt("job %d: %d bytes after its header", id, len(v))
}

// timer is the value of 't'. Of a delayed job, token is 0.
type timer struct {
	kind byte
	tried
	priority uint8
	at       int64 // of 'j'
	token    uint64
}

func (t timer) append(b []byte) []byte {
	b = put64(append(t.tried.append(append(b, t.kind)), t.priority), uint64(t.at))
	if t.kind == timerDelay {
		return b
	}
	return put64(b, t.token)
}

func parseTimer(key, v []byte) (t timer, err error) {
	switch {
	case len(v) == 14 && v[0] == timerDelay:
	case len(v) == 22 && (v[0] == timerClaim || v[0] == timerExtended):
		t.token = be64(v[14:])
	default:
		return t, corrupt("key %q: %q instead of a timer", key, v)
	}
	t.kind, t.tried, t.priority, t.at = v[0], parseTried(v[1:]), v[5], int64(be64(v[6:]))
	return t, nil
}

// parseReady returns how often a job was tried, and the at of its 'j'.
func parseReady(key, v []byte) (t tried, at int64, err error) {
	if len(v) != 12 {
		return t, 0, corrupt("key %q: %d bytes instead of a ready job", key, len(v))
	}
	return parseTried(v), int64(be64(v[4:])), nil
}

// parseDead returns when a job died, how often it was tried, and where its 'j' is.
func parseDead(key, v []byte, id uint64) (died int64, t tried, home place, err error) {
	if len(v) != 21 {
		return 0, t, home, corrupt("key %q: %d bytes instead of a dead job", key, len(v))
	}
	return int64(be64(v)), parseTried(v[8:]), place{v[12], int64(be64(v[13:])), id}, nil
}

// idOf returns the id at the end of a key that has only that after its beginning.
func idOf(key, prefix []byte) (uint64, error) {
	if len(key) != len(prefix)+8 {
		return 0, corrupt("key %q is not that of a job", key)
	}
	return be64(key[len(prefix):]), nil
}
