package bench

import (
	"slices"
	"strings"
	"testing"

	"github.com/assaydb/assay/kv"
)

func TestParseEntriesNamesContenders(t *testing.T) {
	known := []Entry{{Name: "bbolt", Engine: "bbolt"}, {Name: "nosync", Engine: "bbolt", Options: "NoSync=true"}}
	for _, c := range []struct {
		spec string
		want []Entry
	}{
		{"bbolt", known[:1]},
		{"nosync, bbolt", []Entry{known[1], known[0]}},
		{"a=bbolt:,b=bbolt:", []Entry{{Name: "a", Engine: "bbolt"}, {Name: "b", Engine: "bbolt"}}},
		{"x=bbolt:?NoSync=true", []Entry{{Name: "x", Engine: "bbolt", Options: "NoSync=true"}}},
		{"bbolt:?NoSync=true", []Entry{{Name: "bbolt:?NoSync=true", Engine: "bbolt", Options: "NoSync=true"}}},
	} {
		got, err := ParseEntries(c.spec, known)
		if err != nil {
			t.Errorf("%q: %v", c.spec, err)
			continue
		}
		if len(got) != len(c.want) {
			t.Errorf("%q: got %v, want %v", c.spec, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%q: got %+v, want %+v", c.spec, got[i], c.want[i])
			}
		}
	}
}

func TestWrongEntriesAndSelectionsSayWhatThereIs(t *testing.T) {
	known := []Entry{{Name: "bbolt", Engine: "bbolt"}}
	for _, c := range []struct{ spec, text, hint string }{
		{"bolt", `"bolt"`, "bbolt"},
		{"a=bolt:", `"bolt"`, "bbolt"},
		{"bbolt:?NoSink=true", `"NoSink"`, "NoSync"},
		{"bbolt,bbolt", "twice", "a=bbolt:"},
		{"bbolt:/data/x.db", "names a file", "leave the path out"},
		{"", `""`, "bbolt"},
	} {
		_, err := ParseEntries(c.spec, known)
		checkInvalid(t, c.spec, err, c.text, c.hint)
	}
	for _, c := range []struct{ spec, text, hint string }{
		{"hooks", `"hooks"`, "hook"},
		{"hook/putt", `"putt"`, "put"},
		{"ycsb?rows=3", `"rows"`, "records"},
	} {
		_, err := ParseSelections([]string{c.spec})
		checkInvalid(t, c.spec, err, c.text, c.hint)
	}
}

func checkInvalid(t *testing.T, spec string, err error, text, hint string) {
	t.Helper()
	if kv.KindOf(err) != kv.Invalid || !strings.Contains(err.Error(), text) || !strings.Contains(kv.HintOf(err), hint) {
		t.Errorf("%q: error %v, hint %q; want Invalid with %s and a hint with %s", spec, err, kv.HintOf(err), text, hint)
	}
}

func TestARunWithoutArgumentsKeepsToTheCoreForms(t *testing.T) {
	bbolt := Entry{Name: "bbolt", Engine: "bbolt"}
	named, err := ParseSelections([]string{"hook"})
	if err != nil {
		t.Fatal(err)
	}
	if got := Forms(bbolt, named); !slices.Equal(got, []string{"kv", "state"}) {
		t.Errorf("hook by name has the forms %q, want kv and state", got)
	}
	core := DefaultSelections()
	if got := Forms(bbolt, core[:1]); core[0].Workload.Name != "hook" || !slices.Equal(got, []string{"kv"}) {
		t.Errorf("%s by default has the forms %q, want kv alone of hook", core[0].Workload.Name, got)
	}
}
