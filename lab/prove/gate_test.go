package prove

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Nobody goes through before all have come, and nobody waits for one who has left, or for ever for
// one who does not come.
func TestWritersGoThroughAGateTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		g := newGate(writeSpec{Past: newPast(1, 3)})
		var all sync.WaitGroup
		for w := range 3 {
			all.Go(func() {
				defer g.leave()
				for round := range 3 - w { // one leaves before each round but the first
					time.Sleep(time.Duration(10*w) * time.Millisecond)
					g.wait()
					took, want := time.Since(began), []time.Duration{20, 30, 30}[round]*time.Millisecond
					if took != want {
						t.Errorf("writer %d goes through in round %d after %v, want %v", w, round, took, want)
					}
				}
			})
		}
		all.Wait()
		late := newGate(writeSpec{Past: newPast(1, 2)})
		began = time.Now()
		if late.wait(); time.Since(began) != gateTime {
			t.Errorf("who waits alone goes on after %v, want %v", time.Since(began), gateTime)
		}
	})
}
