package powerfs

import (
	"bytes"
	"fmt"
	"syscall"
	"testing"

	"pgregory.net/rapid"
)

// TestRandomFailedSyncsLoseTheirPages does random operations on two files, some of whose syncs
// fail. A later sync writes out only what was changed after the failure, page by page.
func TestRandomFailedSyncsLoseTheirPages(t *testing.T) {
	spill := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, spill)
		for _, s := range rapid.SliceOfN(rapid.Custom(drawFileStep), 5, 30).Draw(t, "steps") {
			w.do(s)
		}
		crash := w.d.Crash()
		for _, r := range []Rule{{Strict, Everything}, {Strict, Nothing}} {
			found, why := w.h.files(crash.Image(r, 0), w.live())
			if why != "" {
				t.Fatal(why)
			}
			for _, file := range w.linked(ModeFile, false) {
				got, err := found[file].Bytes()
				want := w.h.content(file, everything)
				if r.Survivors == Nothing {
					want = w.h.afterFailures(file)
				}
				if err != nil || !bytes.Equal(got, want) {
					t.Fatalf("%v, file %d: %v\n got %s\nwant %s", r, file, err, brief(got), brief(want))
				}
			}
		}
		for _, s := range []Survivors{Nothing, Everything} {
			w.mustBePlayedAgain(Rule{Ordered, s}, crash.Image(Rule{Ordered, s}, 0))
		}
		for seed := range uint64(3) {
			for _, r := range Rules() {
				w.mustBeADiskAgain(crash.Image(r, seed))
			}
		}
	})
}

func drawFileStep(t *rapid.T) step {
	s := drawStep(t)
	s.do = rapid.SampledFrom([]string{"write", "write", "write", "back", "truncate", "allocate", "sync",
		"fail"}).Draw(t, "file")
	return s
}

// afterFailures returns what is durable of a file: of each page what the last sync has written that
// found it changed since the sync before, failed or not; less what was cut off or cleared since,
// until any of its syncs.
func (h *history) afterFailures(file int) []byte {
	b, size := make([]byte, room), 0
	var changed [room / pageSize]bool
	for _, a := range h.acts {
		if a.file != file {
			continue
		}
		for index := range changed {
			changed[index] = changed[index] || h.changes(a, index)
		}
		if a.kind != syncing && a.kind != failing {
			continue
		}
		if a.kind == syncing {
			size = h.size(file, until(a.at))
			live := h.bytes(file, until(a.at))
			for index, changed := range changed {
				if changed {
					copy(b[index*pageSize:(index+1)*pageSize], live[index*pageSize:])
				}
			}
		} else {
			size = h.cutOff(b, size, file, a.at)
		}
		clear(changed[:])
	}
	return b[:size]
}

// changes reports whether a sync has to write out the page after the act.
func (h *history) changes(a act, index int) bool {
	from, to := index*pageSize, (index+1)*pageSize
	switch a.kind {
	case writing, clearing:
		return a.off < to && from < a.off+a.n
	case resizing:
		return max(a.n, from) < min(h.size(a.file, until(a.at-1)), to)
	}
	return false
}

// cutOff does to b what the journal holds of the file's acts since its sync before the failed one,
// and returns the size.
func (h *history) cutOff(b []byte, size, file, failed int) int {
	before := 0
	for _, a := range h.acts {
		if a.file == file && (a.kind == syncing || a.kind == failing) && a.at < failed {
			before = a.at
		}
	}
	for _, a := range h.acts {
		switch {
		case a.file != file || a.at < before || a.at > failed:
		case a.kind == clearing:
			clear(b[a.off:min(a.off+a.n, room)])
		case a.kind == resizing:
			clear(b[a.n:])
			size = a.n
		}
	}
	return size
}

// What fails again is of the same kind, or of any, on files that match, whatever it is to write.
func TestOperationsThatFailAgain(t *testing.T) {
	for _, c := range []struct {
		again int
		any   bool
		until string
		want  string
	}{{1, false, "", "wSwSw."}, {2, true, "", "wSWSw."}, {1, true, "closing-*", "wSW.w."}, {1, true, "closing-3", "wSWSWS"},
		{1, true, "closing-2", "wSWSW."}, {1, true, "closing-1", "wSW.w."}, {1, false, "closing-1", "wSwSw."}} {
		d, err := New(Options{Faults: []Fault{{Op: OnSync, Nth: 1, Match: "f", Again: c.again, Any: c.any, Until: c.until}}})
		if err != nil {
			t.Fatal(err)
		}
		f, err := d.Create(Root, "f", 0o600, Owner{})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for i := range 3 { // an upper letter is a failure
			if _, err := d.Lookup(Root, fmt.Sprint("closing-", i)); err != syscall.ENOENT {
				t.Fatal(err)
			}
			_, err := d.Write(f.ID, 0, []byte("bytes"), FromCall)
			got += map[bool]string{true: "w", false: "W"}[err == nil]
			got += map[bool]string{true: ".", false: "S"}[d.Sync(f.ID) == nil]
		}
		if got != c.want {
			t.Errorf("of any kind %v, until %q: got %s, want %s", c.any, c.until, got, c.want)
		}
	}
}
