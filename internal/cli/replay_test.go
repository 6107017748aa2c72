package cli

import (
	"testing"

	"github.com/assaydb/assay/lab/replay"
)

// TestAReplaySaysNoMoreThanItCompared has reads that went on beside commits, which have no one
// answer.
func TestAReplaySaysNoMoreThanItCompared(t *testing.T) {
	for _, c := range []struct {
		trace replay.Trace
		pace  string
		want  string
	}{
		{replay.Trace{Reads: 1200, Compared: 1200}, replay.Flat,
			"Every read on every engine was as recorded: 1,200 reads in each pass. The whole store in the end was compared, too."},
		{replay.Trace{Reads: 60, Compared: 58}, replay.Recorded,
			"On every engine 58 of 60 reads in each pass were as recorded; the others, which have no one answer, were alike on all. The whole store in the end was compared, too."},
		{replay.Trace{Reads: 60, Compared: 58}, replay.Together,
			"On every engine 58 of 60 reads in each pass were as recorded; the others, which have no one answer, were not compared. The whole store in the end was compared, too."},
	} {
		if got := asRecorded(&c.trace, c.pace); got != c.want {
			t.Errorf("at %s: %q, want %q", c.pace, got, c.want)
		}
	}
}
