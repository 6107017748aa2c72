// Package crashes holds crash tests of stores that are not assay's: logs that other programs keep
// their state in. Each is three functions. Copy them.
package crashes

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/hashicorp/raft"
	raftwal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/metadb"

	"github.com/assaydb/assay/crashtest"
)

// record returns what change i appends. The sizes are about those of pages and sectors.
func record(i int) []byte {
	return bytes.Repeat([]byte(fmt.Sprintf("record %d.", i)), 1+i*i%700)
}

// raftLog is a log and what it keeps its segments' names in, which its own Close leaves open.
type raftLog struct {
	*raftwal.WAL
	meta *metadb.BoltMetaDB
}

func openRaftLog(dir string, segment int) (raftLog, error) {
	meta := &metadb.BoltMetaDB{}
	w, err := raftwal.Open(dir, raftwal.WithSegmentSize(segment), raftwal.WithMetaStore(meta))
	if err != nil {
		return raftLog{}, errors.Join(err, meta.Close())
	}
	return raftLog{w, meta}, nil
}

func (l raftLog) Close() error { return errors.Join(l.WAL.Close(), l.meta.Close()) }

// raftStore is the log in which Consul and Vault keep what their nodes have agreed on, with
// segments of so many bytes. Each change appends an entry; if cut is set every tenth takes the last
// one away, as a node does whose leader has agreed on something else with others.
func raftStore(segment int, cut bool) crashtest.Store[raftLog] {
	return crashtest.Store[raftLog]{
		Open: func(dir string) (raftLog, error) { return openRaftLog(dir, segment) },

		Do: func(l raftLog, i int) error {
			last, err := l.LastIndex()
			if err != nil {
				return err
			}
			if cut && i%10 == 9 {
				return l.DeleteRange(last, last)
			}
			return l.StoreLog(&raft.Log{Index: last + 1, Term: 1, Data: record(i)})
		},

		Check: func(l raftLog, h crashtest.History) error {
			err := l.holds(entries(h.Done, cut))
			if err != nil && len(h.Maybe) > 0 && l.holds(entries(slices.Concat(h.Done, h.Maybe), cut)) == nil {
				return nil
			}
			return err
		},
	}
}

// entries returns which changes a log holds an entry of, after all of some.
func entries(changes []int, cut bool) (log []int) {
	for _, i := range changes {
		if cut && i%10 == 9 {
			log = log[:len(log)-1]
		} else {
			log = append(log, i)
		}
	}
	return log
}

func TestRaftWAL(t *testing.T) { crashtest.Run(t, raftStore(1<<20, false), nil) }

// TestRaftWALFull fails: a crash that comes when a segment is full, and before the next one is
// there, leaves a log that opens, and takes no more entries. So may a Close that comes then.
func TestRaftWALFull(t *testing.T) { known(t, raftStore(64<<10, false), nil) }

// TestRaftWALCut fails in the same way, where the end of the log is taken away. In v0.4.0 there was
// more: https://github.com/hashicorp/raft-wal/issues/31.
func TestRaftWALCut(t *testing.T) { known(t, raftStore(1<<20, true), nil) }

// holds checks that the log ends as want does, and holds nothing else.
func (l raftLog) holds(want []int) error {
	first, err := l.FirstIndex()
	if err != nil {
		return err
	}
	last, err := l.LastIndex()
	if err != nil {
		return err
	}
	if int(last) != len(want) {
		return fmt.Errorf("the log ends at entry %d, want %d", last, len(want))
	}
	for i := first; last > 0 && i <= last; i++ {
		var entry raft.Log
		if err := l.GetLog(i, &entry); err != nil {
			return fmt.Errorf("entry %d: %w", i, err)
		}
		if !bytes.Equal(entry.Data, record(want[i-1])) {
			return fmt.Errorf("entry %d is not what was stored", i)
		}
	}
	return nil
}
