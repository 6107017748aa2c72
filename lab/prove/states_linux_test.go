package prove

import (
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/workdir"
)

// BenchmarkStates makes distinct states of a recorded run and has them opened and compared, one
// after the other. Beside the time it tells how much of processors one takes, children included.
func BenchmarkStates(b *testing.B) {
	for _, c := range []struct {
		engine string
		class  kv.Durability
	}{
		{"bbolt", kv.Synced}, {"bbolt", kv.Flushed}, {"pebble", kv.Synced}, {"pebble", kv.Buffered}, {"badger", kv.Synced},
		{"badger", kv.Flushed}, {"bunt", kv.Flushed}, {"sqlite", kv.Synced}, {"sqlite", kv.Flushed},
	} {
		b.Run(c.engine+"/"+c.class.String(), func(b *testing.B) {
			l, task := laneOfClass(b, c.engine, c.class, result.FaultPower)
			if memory := workdir.Memory(); memory != "" {
				fast, err := workdir.New(memory)
				if err != nil {
					b.Fatal(err)
				}
				defer fast.Remove() // the next run removes what cannot be removed now
				l.fast = fast.Path
			}
			rec, err := l.record(b.Context(), task, task.fitted(scenes[0]), 7, run{})
			if err != nil {
				b.Fatal(err)
			}
			x := newExplorer(rec, 0, "bench")
			all := x.left
			c := task.newCell(result.FaultPower, "")
			x.cells = func(powerfs.Rule) *cell { return c }
			x.states = func(p *powerfs.Player, rng *rand.Rand) []powerfs.State {
				return few(p.States(powerfs.Ordered, rng), rng)
			}
			before := processors(b)
			b.ResetTimer()
			for task.states < b.N {
				if len(x.left) == 0 {
					x.left = all
				}
				if _, err := l.explore(b.Context(), task, x, time.Now()); err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			l.close() // what its child took counts once it has ended
			b.ReportMetric(float64((processors(b)-before).Microseconds())/1e3/float64(task.states), "cpu-ms/state")
		})
	}
}

// processors returns how long this process and the children that have ended kept processors busy.
func processors(b *testing.B) (busy time.Duration) {
	b.Helper()
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			b.Fatal(err)
		}
		busy += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return busy
}
