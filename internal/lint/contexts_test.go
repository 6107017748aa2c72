package lint

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestTheTableOfCallsIsWhatWasMeasured makes the tables of docs/contexts.md anew, with -update.
func TestTheTableOfCallsIsWhatWasMeasured(t *testing.T) {
	hold(t, "contexts.md", "contexts", func(printed, _ string) (string, error) { return callsTable(printed) })
}

// mostLate is how long a call may go on behind the end of its context.
const mostLate = 100 * time.Millisecond

// lateness is what became of a call of an engine: the latest of several.
type lateness struct {
	late    time.Duration
	outcome string
}

// callsTable makes of what docs/contexts.sh printed a table for each thing that stands in the way,
// of calls by engines. A call that was later than it may be is an error.
func callsTable(printed string) (string, error) {
	var engines, ways []string
	calls := map[string][]string{} // by way
	cells := map[[3]string]lateness{}
	var latest time.Duration
	engine, n := "", 0
	for line := range strings.Lines(printed) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "engine "); ok {
			engine = strings.ReplaceAll(name, "_", " ")
			engines = append(engines, engine)
			continue
		}
		way, list, ok := strings.Cut(line, ": ")
		if !ok || strings.HasPrefix(line, "$ ") {
			continue
		}
		if !slices.Contains(ways, way) {
			ways = append(ways, way)
		}
		for _, one := range strings.Split(list, ", ") {
			call, late, outcome, err := cutCall(one)
			if err != nil {
				return "", err
			}
			if !slices.Contains(calls[way], call) {
				calls[way] = append(calls[way], call)
			}
			cell := [3]string{way, call, engine}
			if before, again := cells[cell]; !again || late >= before.late {
				cells[cell] = lateness{late, outcome}
			}
			n++
			latest = max(latest, late)
		}
	}
	if len(engines) < 5 || len(ways) < 5 {
		return "", fmt.Errorf("there are %d engines and %d ways, at least 5 of each were to be tried", len(engines), len(ways))
	}
	if latest > mostLate {
		return "", fmt.Errorf("a call returned %v after its context had ended, at most %v", latest, mostLate)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s calls; the latest returned %v after its context had ended.\n", thousands(fmt.Sprint(n)), latest)
	for _, way := range ways {
		fmt.Fprintf(&b, "\n### Beside %s\n\n| | %s |\n|---|%s\n", way, strings.Join(engines, " | "),
			strings.Repeat("---|", len(engines)))
		slices.Sort(calls[way])
		for _, call := range calls[way] {
			fmt.Fprintf(&b, "| %s |", call)
			for _, engine := range engines {
				cell, ok := cells[[3]string{way, call, engine}]
				fmt.Fprintf(&b, " %s |", cell.text(ok))
			}
			b.WriteString("\n")
		}
	}
	return b.String(), nil
}

// cutCall reads "large write 2ms canceled".
func cutCall(s string) (call string, late time.Duration, outcome string, err error) {
	words := strings.Fields(s)
	for i, w := range words {
		if late, err = time.ParseDuration(w); err == nil && i > 0 && i < len(words)-1 {
			return strings.Join(words[:i], " "), late, strings.Join(words[i+1:], " "), nil
		}
	}
	return "", 0, "", fmt.Errorf("%q is no call, time and outcome", s)
}

func (l lateness) text(tried bool) string {
	switch {
	case !tried:
		return ""
	case l.outcome == "done" && l.late == 0:
		return "·"
	case l.outcome == "canceled":
		return fmt.Sprint(l.late.Milliseconds(), " ms")
	case l.late == 0:
		return l.outcome
	}
	return fmt.Sprint(l.outcome, ", ", l.late.Milliseconds(), " ms")
}

func TestLateCallsAreFound(t *testing.T) {
	printed := ""
	for _, engine := range []string{"a", "b", "c", "d", "e"} {
		printed += "$ go test\nengine " + engine + "\n"
		for _, way := range []string{"nothing", "a View", "an Update", "a process", "more"} {
			printed += way + ": get 0s done, large write 3ms canceled\n"
		}
	}
	table, err := callsTable(printed)
	if err != nil || !strings.HasPrefix(table, "50 calls; the latest returned 3ms after") ||
		!strings.Contains(table, "### Beside a View\n\n| | a | b | c | d | e |\n|---|---|---|---|---|---|\n"+
			"| get | · | · | · | · | · |\n| large write | 3 ms | 3 ms |") {
		t.Errorf("%v:\n%s", err, table)
	}
	for _, wrong := range []string{"more: get 101ms canceled\n", "more: get canceled\n"} {
		if _, err := callsTable(printed + wrong); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
}
