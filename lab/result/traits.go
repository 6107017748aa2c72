package result

import (
	_ "embed"
	"encoding/json"
	"sync"
	"time"
)

// TraitsSchema names the format of measured traits.
const TraitsSchema = "assay.traits/1"

// Traits is what engines are found to be like, beside their speed, by trying it.
type Traits struct {
	Schema      string         `json:"schema"`
	Started     time.Time      `json:"started"`
	Environment Environment    `json:"environment"`
	Engines     []EngineTraits `json:"engines"`
}

// EngineTraits is what one engine is like. What was not measured is absent.
type EngineTraits struct {
	Name  string `json:"name"`
	URL   string `json:"url"`
	Error string `json:"error,omitempty"` // why nothing more was measured

	// What a second process can do while a first one has the store open and rests, and while the
	// first one has a transaction open in which it has written.
	BesideIdle   *Beside `json:"beside_idle,omitempty"`
	BesideWriter *Beside `json:"beside_writer,omitempty"`

	Goroutines int   `json:"goroutines"`   // more than before, with one store open
	Left       int   `json:"left"`         // more than before, one second after it was closed
	Memory     int64 `json:"memory_bytes"` // of the process, more than before, with one empty store open
	Opens      []At  `json:"opens,omitempty"`

	Churned   *Churn `json:"churn,omitempty"`
	Key       Most   `json:"key"`
	Value     Most   `json:"value"`
	Txn       Most   `json:"transaction"`
	Binary    *int64 `json:"binary_bytes,omitempty"` // more than a program without it has, stripped
	BuildsNoC *bool  `json:"builds_without_cgo,omitempty"`
}

// Beside is what a second process can do: "yes", or why not: the kind of the error.
type Beside struct {
	Reads  string `json:"reads"`
	Writes string `json:"writes"`
	Waits  string `json:"waits"` // it writes once the first one has let go, if it is given time
}

// At is the opening of a store that holds so many records.
type At struct {
	Records int   `json:"records"`
	NS      int64 `json:"ns"` // the least of up to five stores
	Size    int64 `json:"bytes"`
}

// Churn is what a store grows to whose records are all written again, in random order.
type Churn struct {
	Records   int   `json:"records"`
	Times     int   `json:"times"`
	Data      int64 `json:"data_bytes"` // in keys and values
	Loaded    int64 `json:"loaded_bytes"`
	After     int64 `json:"after_bytes"`
	Reopened  int64 `json:"reopened_bytes"`
	Compacted int64 `json:"compacted_bytes"`
}

// Most is the largest size in bytes that was written and read back, of sizes that double; Refused
// is what the next one met, "" if none larger was tried.
type Most struct {
	Bytes   int64  `json:"bytes"`
	Refused string `json:"refused,omitempty"`
}

//go:embed traits.json
var shippedTraits []byte

// ShippedTraits returns the traits that the program was built with. They are not to be changed.
var ShippedTraits = sync.OnceValues(func() (*Traits, error) {
	var t Traits
	if err := json.Unmarshal(shippedTraits, &t); err != nil {
		return nil, &Error{Op: "read traits", Path: "traits.json", Err: err}
	}
	return &t, nil
})
