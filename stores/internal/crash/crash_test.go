package crash

import (
	"encoding/json"
	"os"
	"testing"
)

// A suite's test makes folders before it comes to Work, as a child too.
func TestChildrenLeaveNothingBehind(t *testing.T) {
	t.TempDir()
	Work(t, func(forever bool) error {
		if _, err := os.MkdirTemp("", "made"); err != nil {
			return err
		}
		if err := json.NewEncoder(os.Stdout).Encode(os.Getpid()); err != nil {
			return err
		}
		if forever {
			Await()
		}
		return nil
	})

	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Run("ended by itself", func(t *testing.T) {
		c, err := Spawn[int](t, false)
		if err != nil {
			t.Fatal(err)
		}
		for range c.Reports {
		}
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	})
	t.Run("killed", func(t *testing.T) { AfterReports[int](t, true, 1) })
	t.Run("alive at the end", func(t *testing.T) { <-Start[int](t, true).Reports })
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("the children left %v, %v", left, err)
	}
}
