package prove

import (
	"fmt"
	"time"
)

// controlError is that a control of the proof itself failed: what rests on it proves nothing.
type controlError struct{ text string }

func (e *controlError) Error() string { return "a control failed: " + e.text }

func errHung(limit time.Duration) error {
	return fmt.Errorf("hung: no commit within %v", limit.Round(time.Second))
}
