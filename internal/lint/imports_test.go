package lint

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/assaydb/assay"

// root is the repository's root, seen from this package.
const root = "../.."

// rule says what the packages below from may not import, and what to do instead.
type rule struct {
	from   string
	except []string // packages below from that the rule does not bind
	never  []string // prefixes within the module
	but    []string // prefixes of which never does not hold
	tests  bool     // tests are bound too: elsewhere a test may use an engine to try what it tests
	why    string
}

var rules = []rule{
	{from: "kv/driver", never: []string{"."}, why: "the driver contract stands alone: standard library only"},
	{from: "kv", never: []string{"engines", "stores", "observe", "transfer", "lab", "internal", "cmd"},
		why: "the contract knows no engine and no user; move what needs them above it"},
	{from: "sqlite", never: []string{"engines", "stores", "observe", "transfer", "lab", "internal", "cmd"},
		why: "a driver of SQLite is for any program; of kv it has the kinds of errors"},
	{from: "engines", never: []string{"engines", "stores", "observe", "transfer", "lab", "internal", "cmd"},
		but: []string{"engines/internal"},
		except: []string{"engines/duckdbkv/assay/main.go", "engines/mosskv/assay/main.go",
			"engines/servers/assay/main.go", "engines/servers/assay/servers.go", "engines/servers/assay/order.go"}, // mains of modules of their own
		why: "an engine knows the contract alone; what engines share belongs into kv/driver, or below engines/internal if it is of one kind of engine"},
	{from: "stores", never: []string{"engines", "observe", "transfer", "lab", "internal", "cmd"},
		why: "a store runs on any engine: the program that uses it imports the engine"},
	{from: "observe", never: []string{"engines", "stores", "transfer", "lab", "internal", "cmd"},
		why: "any store of any engine is observed: what only an engine knows, it tells by driver.Figured"},
	{from: "transfer", never: []string{"engines", "stores", "lab", "internal", "cmd"},
		why: "data moves between any two engines"},
	{from: "lab/workload", never: []string{"engines", "transfer", "lab/bench", "lab/prove", "lab/result", "lab/stats",
		"lab/report", "lab/advise", "internal", "cmd"},
		why: "a workload knows kv and the stores, and nothing of how it is measured"},
	{from: "lab/result", never: []string{"."}, why: "a result can be read with nothing else at hand"},
	{from: "lab/stats", never: []string{"kv", "engines", "stores", "transfer", "lab/workload", "lab/bench", "lab/prove",
		"lab/report", "internal", "cmd"},
		why: "statistics are functions of samples"},
	{from: "lab/replay", never: []string{"."}, but: []string{"kv", "observe/capture", "lab/workload"},
		why: "a recording is a workload: it knows kv, and nothing of how it is measured"},
	{from: "lab/traits", never: []string{"."}, but: []string{"kv", "lab/bench", "lab/child", "lab/result"},
		why: "any engine is tried; cmd/assay/engines.go says which are in the binary"},
	{from: "lab/powerfs", never: []string{"."}, but: []string{"kv/driver"},
		why: "a disk knows no engine, and nothing of who proves or measures on it; of kv it has the error type"},
	{from: "lab/powertest", never: []string{"."}, but: []string{"lab/powerfs", "lab/child"},
		why: "a power cut is tried on anything that keeps files; the test that uses it says what must be left"},
	{from: "lab/upstream", never: []string{"."}, but: []string{"lab/powerfs", "lab/powertest"}, tests: true,
		why: "a fault of an engine is shown on the engine alone: no code of ours may be what is wrong"},
	{from: "lab/releases", never: []string{"engines", "stores", "transfer", "internal", "cmd"},
		why: "an old release is proved behind the contract and the least driver: no driver of ours may mend it"},
	{from: "crashtest", never: []string{"."}, but: []string{"lab/powerfs", "lab/child", "lab/workdir"},
		why: "a program's own store is tried, whatever it is; the program's test says what it promises"},
	{from: "lab/report", never: []string{"kv", "engines", "stores", "transfer", "lab/workload", "lab/bench",
		"lab/prove", "internal", "cmd"},
		why: "a report renders from the result alone"},
	{from: "lab/bench", never: []string{"engines", "transfer", "lab/report", "internal", "cmd"},
		why: "the bench takes any engine; cmd/assay/engines.go says which are in the binary"},
	{from: "lab/published", never: []string{"engines", "transfer", "lab/prove", "lab/report", "internal", "cmd"},
		why: "publications name engines as text; cmd/assay/engines.go says which are in the binary"},
	{from: "lab/advise", never: []string{"engines", "stores", "transfer", "lab/workload", "lab/bench", "lab/prove",
		"lab/report", "internal", "cmd"},
		why: "advice follows from results and from what engines say of themselves; internal/cli measures what is missing"},
	{from: ".", never: []string{"engines", "stores", "transfer", "cmd"},
		why: "which engines are in an assay is for its main to say"},
	{from: "examples", never: []string{"internal", "cmd"}, why: "an example uses what everybody may import"},
	{from: "lab/child", never: []string{"."}, why: "a child process is driven without knowing what it does"},
	{from: "lab/workdir", never: []string{"engines", "stores", "transfer", "lab/workload", "lab/bench", "lab/prove",
		"lab/result", "lab/stats", "lab/report", "internal", "cmd"},
		why: "a run's folder is made before anything is run"},
	{from: "lab/prove", never: []string{"engines", "stores", "transfer", "lab/workload", "lab/report", "internal",
		"cmd"},
		but: []string{"stores/eventlog/feed"}, // by whose type a log is written and read; it knows no engine either
		why: "the proof takes any engine, of keys or of messages; cmd/assay/engines.go says which are in the binary"},
	{from: "foreign", never: []string{"engines", "stores", "transfer", "lab", "internal", "cmd"},
		except: []string{"foreign/internal/stores/stores.go", "foreign/internal/stores/stores_cgo.go"},
		why:    "an adapter shows what kv offers to programs; only foreign/internal/stores names engines"},
	{from: "internal", never: []string{"engines", "cmd"}, why: "only cmd/assay/engines.go names engines"},
	{from: "cmd", never: []string{"kv", "engines", "stores", "transfer", "lab/workload", "lab/result", "lab/stats",
		"lab/report"},
		except: []string{"cmd/assay/engines.go", "cmd/assay/engines_cgo.go"},
		why:    "main only starts internal/cli; what it does belongs there"},
}

// TestImportsGoOneWay holds every import against the rules, those of tests against the rules that
// bind them.
func TestImportsGoOneWay(t *testing.T) {
	seen := 0
	eachGoFile(t, func(file string) {
		test := strings.HasSuffix(file, "_test.go")
		if !test {
			seen++
		}
		for _, imported := range importsOf(t, file) {
			for _, r := range rules {
				if (r.tests || !test) && r.forbids(file, imported) {
					t.Errorf("%s imports %s: %s", file, imported, r.why)
				}
			}
		}
	})
	if seen < 20 {
		t.Fatalf("only %d files were found below %s: the rules were not held against the repository", seen, root)
	}
}

// TestRulesForbidWhatTheySay plants imports that must be found.
func TestRulesForbidWhatTheySay(t *testing.T) {
	for _, c := range []struct {
		file, imported string
		forbidden      bool
	}{
		{"kv/db.go", module + "/engines/bboltkv", true},
		{"kv/db.go", module + "/kv/driver", false},
		{"kv/driver/driver.go", module + "/kv", true},
		{"engines/bboltkv/store.go", module + "/engines/pebblekv", true},
		{"engines/bboltkv/store.go", module + "/lab/bench", true},
		{"engines/sqlitekv/conn.go", module + "/engines/internal/sqlite", false},
		{"engines/internal/sqlite/conn.go", module + "/engines/sqlitekv", true},
		{"lab/report/text.go", module + "/kv", true},
		{"lab/result/result.go", module + "/lab/stats", true},
		{"lab/result/result.go", "encoding/json", false},
		{"lab/powerfs/disk.go", module + "/kv", true},
		{"lab/powerfs/disk.go", module + "/kv/driver", false},
		{"lab/upstream/bbolt_test.go", module + "/engines/bboltkv", true},
		{"lab/upstream/bbolt_test.go", module + "/lab/powertest", false},
		{"lab/releases/bunt/main.go", module + "/engines/buntkv", true},
		{"lab/releases/bunt/main.go", module + "/lab/releases", false},
		{"lab/replay/trace.go", module + "/lab/bench", true},
		{"lab/replay/trace.go", module + "/observe/capture", false},
		{"lab/traits/traits.go", module + "/engines/bboltkv", true},
		{"crashtest/record.go", module + "/kv", true},
		{"crashtest/record.go", module + "/lab/powerfs", false},
		{"lab/published/hook.go", module + "/engines/bboltkv", true},
		{"lab/published/lines.go", module + "/lab/stats", false},
		{"lab/advise/rank.go", module + "/lab/bench", true},
		{"lab/advise/rank.go", module + "/lab/stats", false},
		{"assay.go", module + "/engines/bboltkv", true},
		{"assay.go", module + "/internal/cli", false},
		{"examples/ownassay/main.go", module + "/internal/cli", true},
		{"examples/ownassay/main.go", module + "/engines/bboltkv", false},
		{"foreign/ethdb/ethdb.go", module + "/lab/bench", true},
		{"foreign/ethdb/ethdb.go", module + "/kv", false},
		{"cmd/assay/main.go", module + "/engines/bboltkv", true},
		{"cmd/assay/engines.go", module + "/engines/bboltkv", false},
		{"stores/eventlog/log.go", module + "/engines/bboltkv", true},
		{"stores/eventlog/log.go", module + "/observe", true},
		{"kv/trace.go", module + "/observe", true},
		{"sqlite/conn.go", module + "/observe", true},
		{"sqlite/conn.go", module + "/kv", false},
		{"observe/observe.go", module + "/engines/pebblekv", true},
		{"observe/observe.go", module + "/kv", false},
		{"observe/otel/spans.go", module + "/observe", false},
		{"lab/prove/run.go", module + "/engines/bboltkv", true},
		{"lab/prove/run.go", module + "/lab/powerfs", false},
		{"lab/prove/messages.go", module + "/stores/eventlog/feed", false},
		{"lab/prove/messages.go", module + "/stores/eventlog/margaret", true},
		{"lab/prove/messages.go", module + "/stores/queue", true},
	} {
		forbidden := false
		for _, r := range rules {
			forbidden = forbidden || r.forbids(c.file, c.imported)
		}
		if forbidden != c.forbidden {
			t.Errorf("%s importing %s: forbidden = %v, want %v", c.file, c.imported, forbidden, c.forbidden)
		}
	}
}

func (r rule) forbids(file, imported string) bool {
	dir := path.Dir(file)
	if !below(dir, r.from) || imported == module+"/"+dir {
		return false
	}
	for _, e := range r.except {
		if file == e {
			return false
		}
	}
	within, ok := strings.CutPrefix(imported, module+"/")
	if !ok {
		return false
	}
	for _, but := range r.but {
		if below(within, but) {
			return false
		}
	}
	for _, never := range r.never {
		if never == "." && !below(within, r.from) || never != "." && below(within, never) {
			return true
		}
	}
	return false
}

// below reports whether dir is parent or in it.
func below(dir, parent string) bool { return dir == parent || strings.HasPrefix(dir, parent+"/") }

// eachGoFile calls fn with every Go file of the repository, as a slash path from its root.
func eachGoFile(t *testing.T, fn func(file string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && name != root &&
			d.Name() != "..") {
			return fs.SkipDir
		}
		if strings.HasSuffix(name, ".go") {
			rel, err := filepath.Rel(root, name)
			if err != nil {
				return err
			}
			fn(filepath.ToSlash(rel))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func importsOf(t *testing.T, file string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, filepath.FromSlash(file)), nil,
		parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var imports []string
	for _, spec := range f.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		imports = append(imports, p)
	}
	return imports
}
