package queue

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Failure is an attempt that failed.
type Failure struct {
	At      time.Time // when it ended
	Attempt int       // the how many-th it was
	Error   string    // why, at most [MostError] bytes of it
}

// What is kept of failures.
const (
	MostFailures = 10    // of one job
	MostError    = 1_000 // bytes of one error
)

// LeaseEnded is the error of an attempt whose worker did not say anything until its lease ended.
const LeaseEnded = "the lease ended"

// storedFailure is a Failure as backends keep it.
type storedFailure struct {
	At      int64  `json:"at"` // in milliseconds since 1970
	Attempt int    `json:"attempt"`
	Error   string `json:"error"`
}

// parseFailures returns the failures that are kept as text.
func parseFailures(id uint64, text []byte) ([]Failure, error) {
	if len(text) == 0 {
		return nil, nil
	}
	var stored []storedFailure
	if err := json.Unmarshal(text, &stored); err != nil {
		return nil, corrupt("job %d: failures: %w", id, err)
	}
	var all []Failure
	for _, f := range stored {
		all = append(all, Failure{Millis(f.At), f.Attempt, f.Error})
	}
	return all, nil
}

// addFailure returns the text of failures that parseFailures reads, with another one.
func addFailure(id uint64, text []byte, f storedFailure) ([]byte, error) {
	var all []storedFailure
	if len(text) > 0 {
		if err := json.Unmarshal(text, &all); err != nil {
			return nil, corrupt("job %d: failures: %w", id, err)
		}
	}
	all = append(all, f)
	return json.Marshal(all[max(0, len(all)-MostFailures):])
}

// errorText returns what is kept of an error. It is not empty.
func errorText(err error) string {
	text := strings.ToValidUTF8(err.Error(), "\uFFFD")
	if text == "" {
		text = fmt.Sprintf("%T without a text", err)
	}
	if len(text) > MostError {
		const more = " ..."
		text = strings.ToValidUTF8(text[:MostError-len(more)], "") + more
	}
	return text
}
