package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	_ "github.com/assaydb/assay/kv/memkv"
	"github.com/assaydb/assay/lab/bench"
)

func TestWithoutACatalogEveryRegisteredEngineTakesPart(t *testing.T) {
	all, err := whole(nil)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(c Contender) bool { return c.Name == "mem" })
	if i < 0 || !all[i].Default || all[i].Engine != "mem" || all[i].Summary == "" {
		t.Errorf("got %+v", all)
	}
}

func TestAWrongCatalogIsWrongUsageWithWhatToDo(t *testing.T) {
	mem := bench.Entry{Engine: "mem"}
	for hint, catalog := range map[string][]Contender{
		"import its package":     {{Entry: bench.Entry{Engine: "forgotten"}}},
		"give it two names":      {{Entry: mem}, {Entry: mem}},
		"list it, of the same e": {{Entry: bench.Entry{Engine: "mem", Plain: "mem-plain"}}},
	} {
		var out, errs bytes.Buffer
		if status := Run(t.Context(), []string{"engines"}, strings.NewReader(""), &out, &errs,
			catalog); status != exitUsage ||
			!strings.Contains(errs.String(), hint) {
			t.Errorf("%s: status %d, %s", hint, status, &errs)
		}
	}
}

func TestWrongWordsAreAnsweredWithTheNearestRightOne(t *testing.T) {
	refuses(t, map[string]string{
		"run --bugdet 3s":         "did you mean --budget?",
		"run hok":                 "did you mean hook?",
		"run ycsb/redrandom":      "did you mean readrandom?",
		"run ycsb?record=1k":      "did you mean records?",
		"run --engines men":       "did you mean mem?",
		"workloads evnts":         "did you mean events?",
		"run --rate abc":          "--rate abc is not a number",
		"engines mum":             "did you mean mem?",
		"run --durability sync":   "did you mean synced?",
		"prove --faults pwoer":    "did you mean power?",
		"report --html":           "did you mean --format html?",
		"run hook --n 50":         "parameters stand behind a workload: 'hook?n=50'",
		"run hook --x":            "unknown flag -",
		"run mem":                 "--engines mem",
		"advise mem":              "--engines mem",
		"advise hook --open 5":    "--open 5ms",
		"advise hook --memory 60": "--memory 60MB",
		"version":                 "did you mean: assay --version",
		"compare a":               "type: assay compare OLD NEW",
		"run hook?n=2k":           "use a number from 1 to 1000\n",
	})
}

// refuses runs command lines that are wrong: each ends with the status for that, and says what is
// right.
func refuses(t *testing.T, lines map[string]string) {
	t.Helper()
	for line, want := range lines {
		var out, errs bytes.Buffer
		if status := Run(t.Context(), strings.Fields(line), strings.NewReader(""), &out, &errs,
			nil); status != exitUsage ||
			!strings.Contains(errs.String(), want) {
			t.Errorf("%s: status %d, %s", line, status, &errs)
		}
	}
}
