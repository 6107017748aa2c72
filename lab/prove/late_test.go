package prove

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/result"
)

// What was late while much else ran is asked once more at the end, and proves something then. What
// is late there, too, is kept.
func TestLateStatesAreAskedAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		engine       string
		first, again time.Duration // that a verifier gets
		late         bool
		interrupted  bool // while it is asked again
	}{
		{engine: "bbolt", first: time.Nanosecond, again: time.Minute},
		{engine: "hanging", first: time.Second, again: time.Second, late: true},
		{engine: "hanging", first: time.Second, again: time.Minute, late: true, interrupted: true},
	} {
		t.Run(fmt.Sprint(c.engine, " interrupted ", c.interrupted), func(t *testing.T) {
			t.Parallel()
			l, task := laneOf(t, c.engine, result.FaultKill)
			rec, err := l.record(t.Context(), task, scene{writers: 1, legs: []leg{{"", 3}}}, 7, run{})
			if err != nil {
				t.Fatal(err)
			}
			x := newExplorer(rec, len(rec.steps), "late")
			x.cells, x.states = task.cellOf, task.only(powerfs.Everything)
			p, err := rec.tape.Play()
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Forward(len(rec.steps)); err != nil {
				t.Fatal(err)
			}
			l.Hang = c.first
			if err := l.exploreMoment(t.Context(), task, x, p, len(rec.steps)); err != nil {
				t.Fatal(err)
			}
			cell := task.cells[0]
			if cell.Late != 1 || cell.Images != 0 {
				t.Fatalf("the first time %d were late, and %d not", cell.Late, cell.Images)
			}
			l.Hang, l.Evidence, l.tasks = c.again, filepath.Join(t.TempDir(), "evidence"), append(l.tasks, task)
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			if c.interrupted {
				time.AfterFunc(200*time.Millisecond, interrupt)
			}
			if err := l.askAgain(ctx); err != nil {
				t.Fatal(err)
			}
			if err := l.keepEvidence(); err != nil {
				t.Fatal(err)
			}
			keeps := l.runner.finish(task, cell).Keeps
			if !c.late {
				if cell.Late != 0 || cell.Images != 1 || cell.States != 1 || keeps.Verdict != result.Proved {
					t.Errorf("asked again: %d late, %d not, %d states, %+v", cell.Late, cell.Images, cell.States, keeps)
				}
				return
			}
			story, err := os.ReadFile(filepath.Join(l.Evidence, "1", tellsName))
			if err != nil || !strings.Contains(string(story), "found: no answer in time") {
				t.Errorf("what is kept: %s, %v", story, err)
			}
			if cell.Late != 1 || cell.Images+int(cell.Lost) != 0 || keeps.Verdict != result.Unproved || !strings.Contains(keeps.Why, "assay prove --again") {
				t.Errorf("asked again: %d late, %+v", cell.Late, keeps)
			}
		})
	}
}
