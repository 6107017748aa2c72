package queue

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/assaydb/assay/kv"
)

// StaleError says which receipts are of claims that are not live any more. Nothing was done with
// any receipt of the call. The error that holds it is of kind Conflict.
type StaleError struct {
	Queue    string
	Receipts []Receipt
}

func (e *StaleError) Error() string {
	const most = 3
	var names []string
	for _, r := range e.Receipts[:min(most, len(e.Receipts))] {
		names = append(names, r.String())
	}
	more := ""
	if n := len(e.Receipts) - most; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("queue %q: stale receipt %s%s", e.Queue, strings.Join(names, ", "), more)
}

// Stale is the Conflict of receipts that are not live. It is for backends.
func Stale(op, queue string, receipts []Receipt) error {
	return &kv.Error{Op: op, Kind: kv.Conflict, Err: &StaleError{Queue: queue, Receipts: receipts},
		Hint: "the job was acknowledged, or its lease ended and it is being done again: Extend in time, or use a longer lease"}
}

// NotDead is the NotFound of a job that is to be requeued. It is for backends.
func NotDead(queue string, id uint64) error {
	return &kv.Error{Op: "requeue", Kind: kv.NotFound, Err: fmt.Errorf("queue %q has no dead job %d", queue, id),
		Hint: "list the dead jobs"}
}

// NoJob is the NotFound of a job that is to be deleted or shown. It is for backends.
func NoJob(op, queue string, id uint64) error {
	return &kv.Error{Op: op, Kind: kv.NotFound, Err: fmt.Errorf("queue %q has no job %d", queue, id),
		Hint: "it is done, or was deleted; list the jobs"}
}

// KeyTaken is the Conflict of a job that is to be requeued and whose key another has. It is for
// backends.
func KeyTaken(queue string, id uint64, key string) error {
	return &kv.Error{Op: "requeue", Kind: kv.Conflict,
		Err:  fmt.Errorf("queue %q: another job has the key %q of job %d", queue, key, id),
		Hint: "wait until that is done, or delete one of the two"}
}

func invalid(op string, err error, hint string) error {
	return &kv.Error{Op: op, Kind: kv.Invalid, Err: err, Hint: hint}
}

func corrupt(format string, args ...any) error {
	return &kv.Error{Op: "read queue", Kind: kv.Corrupt, Err: fmt.Errorf(format, args...)}
}

// MaxName is the longest name of a queue, in bytes.
const MaxName = 255

// checkName refuses a name that no queue can have.
func checkName(name string) error {
	switch {
	case name == "":
		return invalid("open queue", fmt.Errorf("no name"), "name the queue after the work that its jobs are")
	case !utf8.ValidString(name):
		return invalid("open queue", fmt.Errorf("name %q is not UTF-8", name), "")
	case len(name) > MaxName:
		return &kv.Error{Op: "open queue", Kind: kv.TooLarge,
			Err: fmt.Errorf("name of %d bytes, at most %d", len(name), MaxName)}
	}
	return nil
}

// FormatError is the Unsupported of queues in a format that this program does not know. It is for
// backends.
func FormatError(stored, known int) error {
	return &kv.Error{Op: "open queue", Kind: kv.Unsupported,
		Err:  fmt.Errorf("format %d, this program knows %d", stored, known),
		Hint: "use a newer program"}
}
