package bench

import (
	"slices"
	"strings"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/workload"
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
		{"a=nosync", []Entry{{Name: "a", Engine: "bbolt", Options: "NoSync=true"}}},
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
		{"a=bolt:", `"bolt"; this program has bbolt`, "choose one"},
		{"bbolt:?NoSink=true", `"NoSink"`, "NoSync"},
		{"bbolt,bbolt", "twice", "a=bbolt:"},
		{"bbolt:/data/x.db", "names a file", "leave the path out"},
		{"mine=bbolt:NoSync=true", "names a file", "mine=bbolt:?NoSync=true"},
		{"", `""`, "bbolt"},
		{"=bbolt:", `""`, "mine=bbolt:"},
		{"my own=bbolt:", `"my own"`, "mine=bbolt:"},
		{"x/sql=bbolt:", `"x/sql"`, "mine=bbolt:"},
	} {
		_, err := ParseEntries(c.spec, known)
		checkInvalid(t, c.spec, err, c.text, c.hint)
	}
	for _, c := range []struct{ spec, text, hint string }{
		{"hooks", `"hooks"`, "hook"},
		{"hook/putt", `"putt"`, "put"},
		{"put", `"put"`, "did you mean hook/put?"},
		{"/etc/passwd", `"/etc/passwd"`, ".yaml"},
		{"./mine", `"./mine"`, ".yaml"},
		{"ycsb?rows=3", `"rows"`, "records"},
		{"records?n=100,", `n="100,"`, "n=100,10k"},
		{"records?n=,", `n=","`, "n=100,10k"},
		{"records?n=100,1k,100", "100 twice", "n=100,10k"},
		{"records?n=100&n=1k", "2 times", "n=100,10k"},
		{"records?n=100,many", `n="many"`, "a number"},
		{"records?n=", `n=""`, "a number"},
		{"hook?n=5001", `n="5001"`, "from 1 to 1000"},
		{"hook/storm?n=10k", `n="10k"`, "from 1 to 1000"},
		{"ycsb/A?read=60&update=40", `ycsb/A has no parameter "read"`, "ycsb/mix?read=60&update=40"},
		{"hook/put,get?n=50", `parameter "n" bears on none of the operations`, "hook/processes,storm?n=50"},
		{"events/append1?writers=4", `parameter "writers" bears on none`, "events/append_parallel?writers=4"},
		{"ycsb/mix,C?update=40", `ycsb/C has no parameter "update"`, "ycsb/mix?update=40"},
	} {
		_, err := ParseSelections([]string{c.spec})
		checkInvalid(t, c.spec, err, c.text, c.hint)
	}
}

func checkInvalid(t *testing.T, spec string, err error, text, hint string) {
	t.Helper()
	if kv.KindOf(err) != kv.Invalid || !strings.Contains(err.Error(), text) || !strings.Contains(kv.HintOf(err), hint) {
		t.Errorf("%q: error %v, hint %q; want Invalid with %s and a hint with %s", spec, err, kv.HintOf(err), text,
			hint)
	}
}

func TestAListOfValuesIsASelectionOfEach(t *testing.T) {
	for _, c := range []struct {
		arg  string
		want []string
	}{
		{"records", []string{"n=100", "n=10k"}},
		{"records/read?insert=single", []string{"insert=single&n=100", "insert=single&n=10k"}},
		{"records?n=5", []string{"n=5"}},
		{"hook?value=16", []string{"value=16"}},
		{"hook", []string{""}},
		{"queue/claim?backlog=0,1k,100k", []string{"backlog=0", "backlog=1k", "backlog=100k"}},
		{"hook/get?keys=10,100&value=16,32", []string{"keys=10&value=16", "keys=10&value=32", "keys=100&value=16",
			"keys=100&value=32"}},
	} {
		selections, err := ParseSelections([]string{c.arg})
		if err != nil {
			t.Errorf("%s: %v", c.arg, err)
			continue
		}
		var got []string
		for _, s := range selections {
			got = append(got, s.Query())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.arg, got, c.want)
		}
	}
	for _, s := range DefaultSelections() {
		if len(s.Ops) == 0 || s.Query() != map[string]string{"queue": s.Query()}[s.Workload.Name] {
			t.Errorf("%s by default: %d operations with the parameters %q", s.Workload.Name, len(s.Ops), s.Query())
		}
	}
}

// What is named twice with the same parameters is measured once.
func TestWhatIsNamedTwiceIsMeasuredOnce(t *testing.T) {
	for line, want := range map[string]string{
		"hook/put hook/put":                "hook/put",
		"ycsb/A,A":                         "ycsb/A",
		"hook/get,put hook/put,get,scan20": "hook/get hook/put hook/scan20",
		"hook/put hook/put?keys=10":        "hook/put hook/put?keys=10",
	} {
		selections, err := ParseSelections(strings.Fields(line))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range selections {
			for _, op := range s.Ops {
				name := s.Workload.Name + "/" + op.Name
				if q := s.Query(); q != "" {
					name += "?" + q
				}
				got = append(got, name)
			}
		}
		if g := strings.Join(got, " "); g != want {
			t.Errorf("%s: got %s, want %s", line, g, want)
		}
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
	for _, engine := range []string{"bbolt", "pebble", "badger", "bunt", "sqlite", "null"} {
		for _, s := range core {
			for _, op := range s.Ops {
				i := slices.IndexFunc(s.Workload.Ops, func(o workload.Op) bool { return o.Name == op.Name })
				e := Entry{Engine: engine}
				if got, all := forms(op, e), forms(s.Workload.Ops[i], e); slices.ContainsFunc(got,
					func(f string) bool { return !slices.Contains(all, f) }) {
					t.Errorf("%s %s on %s: the forms %q by default, %q by name", s.Workload.Name, op.Name, engine, got,
						all)
				}
			}
		}
	}
}
