package kv

import (
	"context"

	"github.com/assaydb/assay/kv/driver"
)

// Figure is one number that an engine counts of its own work.
type Figure = driver.Figure

// The names of figures that mean the same in all engines. All but LogBytes only grow.
const (
	Syncs       = driver.Syncs       // syncs of the log
	SyncTime    = driver.SyncTime    // what they took, in ns
	LogBytes    = driver.LogBytes    // in the log that a recovery would read
	Checkpoints = driver.Checkpoints // times that the log's content was brought to its place and the log began anew
	Compactions = driver.Compactions // rewritings of data that is in its place
	Foreign     = driver.Foreign     // times that commits were found that are not of this DB; one may stand for several
)

// Figures tells what the engine counts of its own work since the store was opened; none where the
// engine tells nothing, and after Close.
func (db *DB) Figures() []Figure {
	f, ok := db.store.(driver.Figured)
	if !ok || db.enter(context.Background(), "figures") != nil {
		return nil
	}
	defer db.leave()
	return f.Figures()
}
