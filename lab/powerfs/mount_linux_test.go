package powerfs

import (
	"testing"
)

// TestOnlySyncsAreDurable does in a process what might make a write durable, and cuts the power. Whatever it was, everything is
// there if everything survives: settling brings pages that are only mapped to the disk.
func TestOnlySyncsAreDurable(t *testing.T) {
	for role, want := range map[string]string{
		"write": "4096×o", "close": "4096×o", "sync_file_range": "4096×o",
		"mmap": "4096×o", "MS_ASYNC": "4096×o", "munmap": "4096×o", "many pages": "16777216×o",
		"fsync": "4096×x", "fdatasync": "4096×x", "O_SYNC": "4096×x", "O_DSYNC": "4096×x", "RWF_DSYNC": "4096×x", "MS_SYNC": "4096×x",
	} {
		t.Run(role, func(t *testing.T) {
			d, m := mounted(t, Options{})
			cmd, lines := start(t, role, m.Dir())
			if !lines.Scan() {
				t.Fatal("the child did not do its work")
			}
			d.CutBefore(d.Ops()+1, func() {
				if err := m.Settle(cmd.Process.Pid); err != nil {
					t.Error(err)
				}
			})
			d.Sync(Root) // the operation before which power fails
			crash := d.Crash()
			for _, entries := range []Entries{Ordered, Strict} {
				if got := tree(t, crash.Image(Rule{entries, Nothing}, 1)); got != "f="+want {
					t.Errorf("%v/nothing: got %s, want %s", entries, got, want)
				}
				whole := want[:len(want)-1] + "x"
				if got := tree(t, crash.Image(Rule{entries, Everything}, 1)); got != "f="+whole {
					t.Errorf("%v/everything: got %s, want %s", entries, got, whole)
				}
			}
		})
	}
}
