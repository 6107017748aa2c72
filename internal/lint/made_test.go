package lint

import (
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the tables of figures into docs")

// A table of a page holds what a benchmark of drivertest.Thin printed, as it lies in docs/figures.
type table struct {
	page, mark string
	columns    [][2]string // a heading, and the benchmark's name
	rows       [][2]string // what stands in the first column, and the pair's name

	// otherwise are cells whose pair has another name than their row says, or that stay empty, by
	// "BENCHMARK PAIR".
	otherwise map[string]string
}

// tables are the tables of docs that are made of what benchmarks printed. The file in docs/figures
// has the mark's name: each command behind a dollar, and what it printed. Benchmarks built with
// -race have "race " before their names; one that several packages have, its package's and a dot.
var tables = []table{
	{page: "observe.md", mark: "observe",
		columns: [][2]string{{"Pebble, buffered", "Observe/pebble"}, {"bbolt, synced", "Observe/bbolt"},
			{"Badger, flushed", "Observe/badger"}, {"LevelDB, flushed", "Observe/leveldb"}},
		rows: [][2]string{{"Put, no tracer on either side", "off"}, {"Put", "put"}, {"Write of 100 pairs", "batch100"},
			{"Get within a View", "get"}, {"Scan of 20 pairs", "scan20"}, {"View with a Get", "view+get"},
			{"Update with a Put", "update"}}},
	{page: "sqlite.md", mark: "sqlite",
		columns: [][2]string{{"memory", "Queue/memory"}, {"file", "Queue/file"},
			{"memory, built with -race", "race Queue/memory"}},
		rows: [][2]string{{"the same again", "itself"}, {"traced in a ring that is emptied", "ring"},
			{"traced by a callback for each run", "callbacks"}, {"through `database/sql` with this driver", "database/sql"},
			{"mattn", "mattn"}, {"modernc", "modernc"}}},
	{page: "replay.md", mark: "capture",
		columns: [][2]string{{"values hashed", "Capture/values_hashed"}, {"values kept", "Capture/values_kept"}},
		rows: [][2]string{{"Put", "put"}, {"Write of 100 pairs", "batch100"}, {"Get within a View", "get"},
			{"Scan of 20 pairs", "scan20"}, {"View with a Get", "view+get"}, {"Update with a Put", "update"}}},
	{page: "workload.md", mark: "own",
		columns: [][2]string{{"bbolt", "OwnBesideBuiltIn/bbolt"}, {"Pebble", "OwnBesideBuiltIn/pebble"}},
		rows:    [][2]string{{"A", "A"}, {"B", "B"}, {"C", "C"}, {"D", "D"}, {"E", "E"}, {"F", "F"}}},
	{page: "queue.md", mark: "pattern",
		columns: [][2]string{{"of the pattern's time", "Pattern"}},
		rows: [][2]string{{"one after the other: SQLite", "cycle-sqlite"}, {"BuntDB", "cycle-bunt"},
			{"bbolt, flushed: a power loss may destroy the store", "cycle-bbolt"},
			{"Pebble, buffered: a kill may take the last jobs", "cycle-pebble"},
			{"three commits of one pair and nothing else, through kv: SQLite", "commits-kv"},
			{"three changes of one row, by a prepared statement: SQLite", "commits-sql"},
			{"one who publishes and a worker at once: SQLite", "worker-sqlite"},
			{"eight of each: SQLite", "workers8-sqlite"}}},
	{page: "design.md", mark: "kv",
		columns: [][2]string{{"bbolt", "bboltkv.Thin"}, {"BuntDB", "buntkv.Thin"}, {"Pebble", "pebblekv.Thin"},
			{"LevelDB", "levelkv.Thin"}, {"Badger", "badgerkv.Thin"}, {"SQLite", "sqlite.Thin/sqlite"},
			{"SQLite in C", "sqlite.Thin/sqlite-c"}, {"SQLite in Wasm", "sqlitewasmkv.Thin"}},
		rows: [][2]string{{"get, of many in a View", "get"}, {"get in a View of its own", "view+get"},
			{"get alone (`DB.Append`)", "get-alone"}, {"scan of 20 pairs", "scan20"},
			{"scan of 1,000 pairs", "scan1000"}, {"put alone", "put"}, {"Update with a put", "update"},
			{"batch of 100", "batch100"}},
		otherwise: map[string]string{ // where they are not apart, a put is that of an Update
			"bboltkv.Thin put": "", "buntkv.Thin put": "", "badgerkv.Thin put": "", "sqlite.Thin/sqlite put": "",
			"bboltkv.Thin update": "put", "buntkv.Thin update": "put", "badgerkv.Thin update": "put",
			"sqlite.Thin/sqlite update": "put", "sqlite.Thin/sqlite-c put": "", "sqlite.Thin/sqlite-c update": "put"}},
}

// TestFiguresInPagesAreThoseThatWereMeasured makes the tables anew:
//
//	go test ./internal/lint -update
func TestFiguresInPagesAreThoseThatWereMeasured(t *testing.T) {
	for _, made := range tables {
		hold(t, made.page, made.mark, func(printed, _ string) (string, error) { return made.from(printed) })
	}
}

// hold holds the table between the marks of a page to what from makes of docs/figures/MARK.txt and
// of the table as it is, or writes it.
func hold(t *testing.T, name, mark string, from func(printed, now string) (string, error)) {
	t.Helper()
	printed, err := os.ReadFile(filepath.Join(root, "docs", "figures", mark+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, "docs", name)
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+mark+":begin -->\n", "<!-- "+mark+":end -->"
	before, rest, ok := strings.Cut(string(page), begin)
	got, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Errorf("%s lacks the marks %s and %s", name, begin, end)
		return
	}
	want, err := from(string(printed), got)
	if err != nil {
		t.Errorf("%s: docs/figures/%s.txt: %v", name, mark, err)
		return
	}
	if got == want {
		return
	}
	if !*update {
		t.Errorf("%s: the table %s is not what docs/figures/%s.txt says; run: go test ./internal/lint -update\nwant:\n%s",
			name, mark, mark, want)
		return
	}
	if err := os.WriteFile(file, []byte(before+begin+want+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// pair is a line that Thin prints: name, ns of both sides, ratio, interval.
var pair = regexp.MustCompile(`^ *([^ ]+) +(\d+) +\d+ +([\d.]+) +([\d.]+)\.\.([\d.]+) `)

// from makes the table of what a benchmark printed.
func (made table) from(printed string) (string, error) {
	cells, built, pkg, benchmark := map[string]string{}, "", "", ""
	for line := range strings.Lines(printed) {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			built = ""
			if strings.Contains(command, " -race ") {
				built = "race "
			}
		} else if name, ok := strings.CutPrefix(line, "pkg: "); ok {
			pkg = path.Base(strings.TrimSpace(name)) + "."
		} else if name, ok := strings.CutPrefix(line, "--- BENCH: Benchmark"); ok {
			name = strings.TrimSpace(name)
			benchmark = built + name[:strings.LastIndex(name, "-")]
		} else if m := pair.FindStringSubmatch(line); m != nil {
			cell := fmt.Sprintf("%s [%s–%s] of %s ns", m[3], m[4], m[5], m[2])
			cells[benchmark+" "+m[1]], cells[pkg+benchmark+" "+m[1]] = cell, cell
		}
	}
	var b strings.Builder
	b.WriteString("| |")
	for _, c := range made.columns {
		fmt.Fprintf(&b, " %s |", c[0])
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(made.columns)) + "\n")
	for _, r := range made.rows {
		fmt.Fprintf(&b, "| %s |", r[0])
		for _, c := range made.columns {
			pair := r[1]
			if other, ok := made.otherwise[c[1]+" "+pair]; ok {
				pair = other
			}
			cell := cells[c[1]+" "+pair]
			if cell == "" && pair != "" {
				return "", fmt.Errorf("there is no pair %s of %s", r[1], c[1])
			}
			fmt.Fprintf(&b, " %s |", cell)
		}
		b.WriteString("\n")
	}
	return b.String(), nil
}
