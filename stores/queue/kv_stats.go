package queue

import (
	"encoding/binary"
	"math"
)

// stats is the value of 'q'.
type stats struct {
	version, last uint64
	counts        Counts
	readies       int       // how many 'r' there are
	marks         []place   // one for a priority
	slots         []claimed // whose kind is inSlot
}

// mostSlots is how many claims 'q' holds at most: it is written by every transaction, so that it
// should stay small.
const mostSlots = 4

const (
	statsHeader = 59 // bytes before the marks
	slotSize    = placeSize + 21
)

func (s *stats) append(b []byte) []byte {
	b = put64(put64(append(b, format), s.version), s.last)
	for _, state := range States {
		b = put64(b, uint64(*s.counts.Of(state)))
	}
	b = binary.BigEndian.AppendUint16(put64(b, uint64(s.readies)), uint16(len(s.marks)))
	for _, p := range s.marks {
		b = p.append(b)
	}
	for i := range s.slots {
		c := &s.slots[i]
		b = c.tried.append(put64(put64(c.place.append(b), uint64(c.until)), c.token))
		if c.extended {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
	}
	return b
}

func parseStats(key, v []byte) (s stats, err error) {
	if len(v) > 0 && v[0] != format && v[0] != oldFormat {
		return s, FormatError(int(v[0]), format)
	}
	size := len(v)
	if size < statsHeader {
		return s, badStats(key, size)
	}
	s.version, s.last = be64(v[1:]), be64(v[9:])
	for i, state := range States {
		*s.counts.Of(state) = int(be64(v[17+8*i:]))
	}
	s.readies = int(be64(v[49:]))
	marks := int(binary.BigEndian.Uint16(v[57:]))
	v = v[statsHeader:]
	if len(v) < marks*placeSize || (len(v)-marks*placeSize)%slotSize != 0 {
		return s, badStats(key, size)
	}
	for range marks {
		s.marks = append(s.marks, parsePlaceBytes(v))
		v = v[placeSize:]
	}
	for ; len(v) > 0; v = v[slotSize:] {
		c := claimed{place: parsePlaceBytes(v)}
		rest := v[placeSize:]
		c.until, c.token, c.tried, c.extended = int64(be64(rest)), be64(rest[8:]), parseTried(rest[16:]), rest[20] != 0
		s.slots = append(s.slots, c)
	}
	return s, nil
}

func badStats(key []byte, size int) error {
	return corrupt("key %q: %d bytes instead of a queue", key, size)
}

// isStored reports whether v, which is empty if there is none, is of the same version, and so the
// same as s.
func (s *stats) isStored(v []byte) bool {
	if len(v) == 0 {
		return s.version == 0
	}
	return len(v) >= statsHeader && v[0] <= format && be64(v[1:]) == s.version
}

// mark returns the last place in a priority whose job is not ready by that alone.
func (s *stats) mark(priority uint8) place {
	for _, p := range s.marks {
		if p.priority == priority {
			return p
		}
	}
	return place{priority: priority, id: math.MaxUint64}
}

// setMark moves a mark to a place, over the first job beyond it.
func (s *stats) setMark(to place) {
	for i := range s.marks {
		if s.marks[i].priority == to.priority {
			s.marks[i] = to
			return
		}
	}
	s.marks = append(s.marks, to)
}

// isFresh reports whether the job whose 'j' is at a place is ready by that.
func (s *stats) isFresh(p place) bool { return s.mark(p.priority).less(p) }
