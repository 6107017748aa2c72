package pebblekv

import (
	dto "github.com/prometheus/client_model/go"

	"github.com/assaydb/assay/kv/driver"
)

var _ driver.Figured = (*store)(nil)

// Figures tells what Pebble counts. A checkpoint is a table that was written from memory, after
// which its part of the log is not needed any more.
func (s *store) Figures() []driver.Figure {
	m := s.db.Metrics()
	list := []driver.Figure{
		{Name: driver.LogBytes, Value: int64(m.WAL.Size)},
		{Name: driver.Checkpoints, Value: m.Flush.Count},
		{Name: driver.Compactions, Value: m.Compact.Count},
	}
	var syncs dto.Metric
	if h := m.LogWriter.FsyncLatency; h != nil && h.Write(&syncs) == nil {
		list = append(list, driver.Figure{Name: driver.Syncs, Value: int64(syncs.GetHistogram().GetSampleCount())},
			driver.Figure{Name: driver.SyncTime, Value: int64(syncs.GetHistogram().GetSampleSum())})
	}
	return list
}
