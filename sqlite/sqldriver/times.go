//go:build cgo

package sqldriver

import (
	"cmp"
	"strings"
	"time"
)

// A TimeFormat says how times are written. Texts of all forms are read, whatever it is.
type TimeFormat int

// Formats of times. Integers count from 1970.
const (
	TimeWithZone  TimeFormat = iota // 2006-01-02 15:04:05.999999999-07:00
	TimeInSeconds                   // 2006-01-02 15:04:05, as datetime() has it, in Options.Zone or UTC
	TimeUnix                        // an integer of seconds, as which integers are also read
	TimeUnixMilli                   // the same of milliseconds
	TimeUnixMicro                   // of microseconds
	TimeUnixNano                    // of nanoseconds
)

// bindTime gives parameter i a time.
func (s *stmt) bindTime(i int, t time.Time) {
	o := s.c.o
	if o.Zone != nil {
		t = t.In(o.Zone)
	}
	switch o.Times {
	case TimeInSeconds:
		if o.Zone == nil { // as which it is read
			t = t.UTC()
		}
		s.BindText(i, t.Format(time.DateTime))
	case TimeUnix:
		s.BindInt(i, t.Unix())
	case TimeUnixMilli:
		s.BindInt(i, t.UnixMilli())
	case TimeUnixMicro:
		s.BindInt(i, t.UnixMicro())
	case TimeUnixNano:
		s.BindInt(i, t.UnixNano())
	default:
		if _, offset := t.Zone(); offset%60 != 0 { // the format has no seconds of a zone
			t = t.UTC()
		}
		s.BindText(i, t.Format(timeFormats[0]))
	}
}

// timeFormats are those in which times are read; they are written in the first, unless Options say
// otherwise.
var timeFormats = []string{
	"2006-01-02 15:04:05.999999999-07:00",
	"2006-01-02T15:04:05.999999999-07:00",
	"2006-01-02 15:04:05.999999999",
	"2006-01-02T15:04:05.999999999",
	"2006-01-02 15:04",
	"2006-01-02T15:04",
	"2006-01-02",
	"2006-01-02 15:04:05.999999999 -0700 MST", // time.Time.String, which modernc writes
}

// fromText reads a time; one without a zone is of o.Zone or UTC's.
func (o *Options) fromText(text string) (time.Time, bool) {
	if len(text) < len(time.DateOnly) || text[4] != '-' { // most texts that are none
		return time.Time{}, false
	}
	trimmed, utc := strings.CutSuffix(text, "Z")
	trimmed, _, _ = strings.Cut(trimmed, " m=")
	zone := o.Zone
	if utc || zone == nil {
		zone = time.UTC
	}
	for _, format := range timeFormats {
		t, err := time.ParseInLocation(format, trimmed, zone)
		if err == nil {
			return o.moved(t), true
		}
	}
	return time.Time{}, false
}

// fromInteger reads an integer as o.Times writes it. Otherwise it is seconds since 1970, or
// milliseconds if they are so many that it were after the year 33658.
func (o *Options) fromInteger(v int64) time.Time {
	t := time.Unix(v, 0)
	switch {
	case o.Times == TimeUnix:
	case o.Times == TimeUnixMicro:
		t = time.UnixMicro(v)
	case o.Times == TimeUnixNano:
		t = time.Unix(0, v)
	case o.Times == TimeUnixMilli, v > 1e12, v < -1e12:
		t = time.UnixMilli(v)
	}
	return o.moved(t.UTC())
}

func (o *Options) moved(t time.Time) time.Time {
	if in := cmp.Or(o.Location, o.Zone); in != nil {
		return t.In(in)
	}
	return t
}
