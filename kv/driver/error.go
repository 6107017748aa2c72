package driver

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
)

// Kind is a class of error. A Kind is itself an error, for errors.Is(err, kv.NotFound).
type Kind uint8

const (
	Other       Kind = iota // none of the kinds below
	NotFound                // the key is absent
	Invalid                 // an argument is wrong: an empty key, an unknown option
	Unsupported             // the engine cannot do what was asked
	TooLarge                // a key, value or transaction is over the engine's limit
	Busy                    // another process or transaction holds a lock
	Conflict                // an expectation about the stored data did not hold
	Corrupt                 // the stored data is damaged
	Closed                  // the store, snapshot or transaction has ended
	NotWritable             // a write to a store that was opened read-only
	NoStore                 // the file or folder does not exist
	Permission              // the operating system refuses access
	Full                    // no space is left on the device
	Canceled                // the context ended
	InDoubt                 // a commit failed so that nobody knows whether it is there; opening the store again tells
	Stopped                 // the handle takes no more commits: an earlier one is in doubt
	Aborted                 // the transaction met another one and was rolled back; it may be run again
)

var kindNames = [...]string{"error", "not found", "invalid", "unsupported", "too large", "busy", "conflict", "corrupt",
	"closed", "read-only", "no store", "permission denied", "no space left", "canceled", "in doubt", "stopped",
	"aborted"}

func (k Kind) Error() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "error"
}

// Error is the one error type of kv and its drivers. It reads "op engine path: cause".
type Error struct {
	Op     string // what was being done: "open", "put"
	Engine string // the engine's name
	Path   string // the file or folder
	Kind   Kind   // the class, for errors.Is
	Hint   string // how to go on: what to change, the next command to type; may be empty
	Err    error  // the cause; may be nil
}

func (e *Error) Error() string {
	text := e.Kind.Error()
	switch {
	case e.Err == nil:
	case e.Kind == Other, strings.Contains(e.Err.Error(), text):
		text = e.Err.Error()
	default:
		text += ": " + e.Err.Error()
	}
	about := slices.DeleteFunc([]string{e.Op, e.Engine, e.Path}, func(s string) bool { return s == "" })
	if len(about) == 0 {
		return text
	}
	return strings.Join(about, " ") + ": " + text
}

func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is the Kind of e.
func (e *Error) Is(target error) bool {
	k, ok := target.(Kind)
	return ok && k == e.Kind
}

// KindOf returns the kind of the first Error or Kind in err's chain; failing that, the kind of an
// error of the operating system or of a context; failing that, Other.
func KindOf(err error) Kind {
	if err == nil {
		return Other // at no cost: callers ask before they look whether there is an error
	}
	var e *Error
	var k Kind
	switch {
	case errors.As(err, &e):
		return e.Kind
	case errors.As(err, &k):
		return k
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Canceled
	case isFull(err):
		return Full
	case errors.Is(err, fs.ErrPermission), isReadOnlyFS(err):
		return Permission
	case errors.Is(err, fs.ErrNotExist):
		return NoStore
	}
	return Other
}

// HintOf returns the first hint in err's tree, or "".
func HintOf(err error) string {
	switch e := err.(type) {
	case nil:
		return ""
	case *Error:
		if e.Hint != "" {
			return e.Hint
		}
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			if hint := HintOf(one); hint != "" {
				return hint
			}
		}
		return ""
	}
	return HintOf(errors.Unwrap(err))
}

// notDone marks the error of a commit of which nothing is there.
type notDone struct{ error }

func (e notDone) Unwrap() error { return e.error }

// NotDone marks err, the failure of Commit or Apply, as one after which nothing of the commit is
// there, now or when the store is opened again, and further commits are safe. Without the mark kv
// takes a failure of kind Other, Corrupt, Full, Permission, NoStore or InDoubt for one in doubt: a
// write or a sync may have failed after others had succeeded.
func NotDone(err error) error {
	if err == nil {
		return nil
	}
	return notDone{err}
}

// IsInDoubt reports whether err, the failure of Commit or Apply, leaves open whether the commit is
// there. See [NotDone].
func IsInDoubt(err error) bool {
	if err == nil || errors.As(err, new(notDone)) {
		return false
	}
	switch KindOf(err) {
	case Other, Corrupt, Full, Permission, NoStore, InDoubt:
		return true
	}
	return false
}

// Recovered makes an error of a panic, as says which. It is deferred around an engine that panics
// over damaged files.
func Recovered(err *error, as func(p any) error) {
	if p := recover(); p != nil {
		*err = as(p)
	}
}
