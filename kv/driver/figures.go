package driver

// Figured is a Store that tells what its engine counts of its own work. Figures may be called at
// any time before Close, and takes no longer than looking up what is counted.
type Figured interface {
	Figures() []Figure
}

// Figure is one number that an engine counts, under one of the names below or another one.
type Figure struct {
	Name  string `json:"name"`
	Value int64  `json:"value"`
}

// The names of figures that mean the same in all engines. All but LogBytes only grow.
const (
	Syncs       = "syncs"           // syncs of the log
	SyncTime    = "sync_ns"         // what they took, in ns
	LogBytes    = "log_bytes"       // in the log that a recovery would read
	Checkpoints = "checkpoints"     // times that the log's content was brought to its place and the log began anew
	Compactions = "compactions"     // rewritings of data that is in its place
	Foreign     = "foreign_commits" // times that commits were found that are not of this Store; one may stand for several
)
