package state

import (
	"log/slog"
	"time"
)

// Incident is something that happened to a file, and that whoever looks after the program may want
// to know.
type Incident struct {
	What string // "set aside", "migrated", "not migrated", "mode tightened"
	Path string // the file
	Kept string // what it is called now, where it was kept under another name; "" if it was removed
	Err  error  // why; nil of a migration
	Time time.Time
}

// Incidents returns what happened to files in calls of this Store, the oldest first.
func (s *Store) Incidents() []Incident {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Incident(nil), s.incidents...)
}

func (s *Store) report(i Incident) {
	i.Time = s.options.Now()
	s.mu.Lock()
	s.incidents = append(s.incidents, i)
	s.mu.Unlock()
	attrs := []any{slog.String("path", i.Path)}
	if i.Kept != "" {
		attrs = append(attrs, slog.String("kept", i.Kept))
	}
	if i.Err != nil {
		attrs = append(attrs, slog.Any("err", i.Err))
	}
	s.options.Logger.Warn("state: "+i.What, attrs...)
}
