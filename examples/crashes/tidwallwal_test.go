package crashes

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/tidwall/wal"

	"github.com/assaydb/assay/crashtest"
)

// tidwall is a log of github.com/tidwall/wal, with segments so small that there are several.
func tidwall() crashtest.Store[*wal.Log] {
	return crashtest.Store[*wal.Log]{
		Open: func(dir string) (*wal.Log, error) {
			o := *wal.DefaultOptions
			o.SegmentSize = 16 << 10
			return wal.Open(dir, &o)
		},

		Do: func(l *wal.Log, i int) error {
			last, err := l.LastIndex()
			if err != nil {
				return err
			}
			return l.Write(last+1, record(i))
		},

		Check: func(l *wal.Log, h crashtest.History) error {
			last, err := l.LastIndex()
			if err != nil {
				return err
			}
			all := append(append([]int{}, h.Done...), h.Maybe...)
			if int(last) < len(h.Done) || int(last) > len(all) {
				return fmt.Errorf("the log ends at entry %d, after %d that were written and %d that may be", last,
					len(h.Done), len(h.Maybe))
			}
			for i := range last {
				got, err := l.Read(i + 1)
				if err != nil {
					return fmt.Errorf("entry %d: %w", i+1, err)
				}
				if !bytes.Equal(got, record(all[i])) {
					return fmt.Errorf("entry %d is not what was written", i+1)
				}
			}
			return nil
		},
	}
}

// TestTidwallWAL fails: a log that a kill -9 has interrupted in a write does not open any more, see
// https://github.com/tidwall/wal/issues/21. With power cuts there is more: the log has no
// checksums, so that zeroes in a page that was never written are read as empty entries.
func TestTidwallWAL(t *testing.T) { known(t, tidwall(), &crashtest.Options{KillsAlone: true}) }
