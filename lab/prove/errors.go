package prove

import (
	"errors"
	"fmt"
	"time"

	"github.com/assaydb/assay/lab/child"
)

// controlError is that a control of the proof itself failed: what rests on it proves nothing.
type controlError struct{ text string }

func (e *controlError) Error() string { return "a control failed: " + e.text }

// lateError is that a process gave no answer in time. The engine hangs, or the machine is slow.
type lateError struct{ limit time.Duration }

func (e *lateError) Error() string {
	return fmt.Sprintf("no answer within %v", e.limit.Round(time.Second))
}

// late reports whether err is no more than that, or that somebody else has killed the process.
func late(err error) bool {
	var e *lateError
	var gone *child.Error
	return errors.As(err, &e) || errors.As(err, &gone) && gone.Killed
}
