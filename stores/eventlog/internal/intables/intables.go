// Package intables is what event logs in tables have in common, whichever the database.
package intables

import (
	"encoding/json"
	"fmt"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
)

// Tables is what a database does within one transaction.
type Tables interface {
	// Version returns the version of the stream's last event, 0 if there is none.
	Version(stream string) (uint64, error)

	// Find looks an id up, as that of [eventlog.Again].
	Find(id string) (position, version uint64, sum uint32, err error)

	// Insert inserts the events of p, at the place that p.Appended says.
	Insert(p *eventlog.Pending) error
}

// State is what positions depend on.
type State struct {
	Floor    uint64 // positions up to it are used, lost or skipped
	Reserved uint64
	Last     uint64 // of the last event
}

// Appender appends to tables.
type Appender struct {
	Tables  Tables
	Streams bool // versions are kept

	versions map[string]uint64
	parts    []*eventlog.Pending
}

// Append plans the appends of a group, and inserts their events, within one transaction. It returns
// up to what position must be reserved, and whether one of them was done before: then the commit
// must make durable what is there, also if the transaction changes nothing.
func (a *Appender) Append(s State, group []*eventlog.Pending) (needed uint64, repeated bool, err error) {
	if a.versions == nil {
		a.versions = map[string]uint64{}
	}
	clear(a.versions)
	assigned, reserve := max(s.Floor, s.Last), uint64(0)
	for _, pending := range group {
		parts := pending.Parts(a.parts)
		a.parts, reserve = parts, max(reserve, pending.Reserve)
		for _, p := range parts {
			p.Appended, p.Err = eventlog.Appended{}, nil
		}
		again, err := a.check(s, parts)
		if err != nil && kv.KindOf(err) != kv.Conflict {
			return 0, false, err
		}
		repeated = repeated || again
		for _, p := range parts {
			n := uint64(len(p.Drafts))
			if p.Err = err; err != nil || again || n == 0 {
				continue
			}
			p.Appended = eventlog.Appended{First: assigned + 1, Last: assigned + n}
			assigned += n
			if s.Last = assigned; a.Streams && p.Stream != "" {
				a.versions[p.Stream] += n
				p.Appended.Version = a.versions[p.Stream]
			}
			if err := a.Tables.Insert(p); err != nil {
				return 0, false, err
			}
		}
	}
	return assigned + reserve, repeated, nil
}

// check reports whether an append was done before, and otherwise whether all is as it expects.
func (a *Appender) check(s State, parts []*eventlog.Pending) (again bool, err error) {
	if again, err = eventlog.Again(parts, a.Tables.Find); again || err != nil {
		return again, err
	}
	for _, p := range parts {
		version, err := a.version(p.Stream)
		if err == nil {
			err = p.Expected.Check(p.Stream, s.Last, version)
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

// version returns the version of a stream with the group's appends so far.
func (a *Appender) version(stream string) (uint64, error) {
	if !a.Streams || stream == "" {
		return 0, nil
	}
	if v, ok := a.versions[stream]; ok {
		return v, nil
	}
	v, err := a.Tables.Version(stream)
	if err == nil {
		a.versions[stream] = v
	}
	return v, err
}

// Refill returns how many positions to reserve soon after an append in a transaction of the
// program's, of a class that a crash can lose: it needed the positions up to needed, and first are
// reserved first. Where they are not reserved it is an error.
func (s State) Refill(needed, first uint64, class kv.Durability) (refill uint64, err error) {
	switch {
	case class == kv.Synced || first == 0 || needed == max(s.Floor, s.Last):
		return 0, nil
	case needed > max(s.Reserved, s.Floor):
		return 0, eventlog.NotReserved(class)
	case s.Reserved-needed < first:
		return 4 * first, nil
	}
	return 0, nil
}

// extra is what a column holds as JSON.
type extra struct {
	ID   string            `json:"id,omitempty"`
	Meta map[string]string `json:"meta,omitempty"`
}

// HasExtra reports whether an event has an id or metadata.
func HasExtra(id string, meta map[string]string) bool { return id != "" || len(meta) > 0 }

// Extra returns the id and the metadata of an event as JSON, nil if there are none.
func Extra(id string, meta map[string]string) ([]byte, error) {
	if !HasExtra(id, meta) {
		return nil, nil
	}
	return json.Marshal(extra{id, meta})
}

// ParseExtra sets the ID and the Meta of e.
func ParseExtra(e *eventlog.Event, text []byte) error {
	if text == nil {
		return nil
	}
	var x extra
	if err := json.Unmarshal(text, &x); err != nil {
		return &kv.Error{Kind: kv.Corrupt, Err: fmt.Errorf("event %d: column extra: %w", e.Position, err)}
	}
	e.ID, e.Meta = x.ID, x.Meta
	return nil
}

// Stored returns data as a column takes it that has no NULL.
func Stored(data []byte) []byte {
	if data == nil {
		return []byte{}
	}
	return data
}
