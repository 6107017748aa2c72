package bench

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/assaydb/assay/lab/result"
)

// The program that counts contradictions between runs finds those that there are, and no others.
func TestContradictionsBetweenRunsAreCounted(t *testing.T) {
	count := built(t, "contradictions")
	// kept keeps a run in which b takes so many times as long as a, or a so many times as b.
	kept := func(best, other string, r result.Ratio) string {
		dir := t.TempDir()
		r.To = best
		run := &result.Run{Schema: result.Schema, Took: 1}
		for name, ratio := range map[string]result.Ratio{best: {To: best, Lo: 1, Mid: 1, Hi: 1}, other: r} {
			run.Cells = append(run.Cells, result.Cell{Workload: "hook", Operation: "put", Engine: name, Ranked: true,
				Status: result.OK, Promise: result.Promise{Delivered: "synced"}, Ratio: &ratio})
		}
		if err := result.Write(dir, run); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	slower := kept("a", "b", result.Ratio{Lo: 1.2, Mid: 1.3, Hi: 1.4, Different: true})
	for name, c := range map[string]struct {
		other string
		want  string
	}{
		"the same":                    {slower, "0 of 1"},
		"the other way round":         {kept("b", "a", result.Ratio{Lo: 1.2, Mid: 1.3, Hi: 1.4, Different: true}), "1 of 1"},
		"equivalent, far away":        {kept("a", "b", result.Ratio{Lo: 0.95, Mid: 1, Hi: 1.05, Equivalent: true}), "1 of 1"},
		"equivalent, the other first": {kept("b", "a", result.Ratio{Lo: 0.95, Mid: 1, Hi: 1.05, Equivalent: true}), "1 of 1"},
		"equivalent or a bit slower": {kept("a", "b", result.Ratio{Lo: 1.1, Mid: 1.25, Hi: 1.3, Equivalent: true}),
			"0 of 1"},
		"open": {kept("b", "a", result.Ratio{Lo: 0.5, Mid: 1.3, Hi: 3}), "0 of 0"},
	} {
		out, err := exec.Command(count, slower, c.other).CombinedOutput()
		if !strings.Contains(string(out), fmt.Sprintf("contradictions: %s\n", c.want)) ||
			(err == nil) != strings.HasPrefix(c.want, "0") {
			t.Errorf("%s: want %s, got %v\n%s", name, c.want, err, out)
		}
	}
}
