package cli

import (
	"testing"
	"time"
)

func TestALongerCheckComparesMoreOftenAndNotLonger(t *testing.T) {
	sets := []aaSet{{form: "kv"}, {form: "sql"}}
	for budget, want := range map[time.Duration]int{
		time.Second: 2, 100 * time.Second: 2, 199 * time.Second: 2, 200 * time.Second: 4, 410 * time.Second: 8,
	} {
		if got := aaTurns(sets, budget, 100*time.Second); len(got) != want || got[want-1].form != "sql" {
			t.Errorf("%v for what takes 100 s: %d sets, want %d", budget, len(got), want)
		}
	}
}
