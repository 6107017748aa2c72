package sqltable_test

import (
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assaydb/assay/transfer/sqltable"
)

// foreignFiles are databases that the SQLite project made over the years and tests itself with: SQL
// scripts, damaged database files, an archive. They come with the module modernc.org/sqlite. The
// first are small.
var foreignFiles = []string{"sessionfuzz-data1.db", "dbfuzz2-seed1.db", "fuzzdata8.db", "fuzzdata4.db",
	"fuzzdata1.db", "fuzzdata2.db", "fuzzdata3.db", "fuzzdata5.db", "fuzzdata6.db", "fuzzdata7.db"}

// TestDatabasesOfOthers moves whole databases that nobody here made to another engine, and from
// there to new tables, in which every row is as it was. They are read where they are, and not
// changed.
func TestDatabasesOfOthers(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "modernc.org/sqlite").Output()
	dir := filepath.Join(strings.TrimSpace(string(out)), "testdata", "tcl")
	if _, serr := os.Stat(dir); err != nil || serr != nil {
		t.Skipf("NOT TESTED: no databases of others: the source of modernc.org/sqlite is not there: %v, %v", err, serr)
	}
	files := foreignFiles
	if testing.Short() {
		files = files[:4]
	}
	for _, name := range files {
		t.Run(name, func(t *testing.T) {
			path, work := filepath.Join(dir, name), t.TempDir()
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			through, back := "pebble:"+filepath.Join(work, "kv"), filepath.Join(work, "back.db")
			report := copied(t, sqltable.URL(path), through)
			tables, rows := tablesOf(t, path), 0
			copied(t, through, sqltable.URL(back, tables...))
			for _, table := range tables {
				var columns []string
				for _, c := range slices.Concat(table.Key, table.Value) {
					columns = append(columns, "`"+c.Name+"`")
				}
				all, order := strings.Join(columns, ","), columns[0]
				got, want := dump(t, back, table.Name, all, order), dump(t, path, table.Name, all, order)
				if !slices.Equal(got, want) {
					t.Errorf("%s: the rows differ", table.Name)
				}
				rows += len(want)
			}
			if rows == 0 || int(report.Pairs) != rows {
				t.Errorf("%d pairs of %d rows", report.Pairs, rows)
			}
			if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
				t.Errorf("the file has changed, %v", err)
			}
			t.Logf("%d rows of %d tables, %d bytes", rows, len(tables), report.Bytes)
		})
	}
}

// tablesOf returns all tables of a file with all their columns, for a new file, by what SQLite says
// of them.
func tablesOf(t *testing.T, path string) (tables []sqltable.Table) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query("SELECT t.name, c.name, c.pk, c.type FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table' ORDER BY t.name, c.pk, c.cid")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name, column, kind string
		var pk int
		if err := rows.Scan(&name, &column, &pk, &kind); err != nil {
			t.Fatal(err)
		}
		if len(tables) == 0 || tables[len(tables)-1].Name != name {
			tables = append(tables, sqltable.Table{Prefix: name + "/", Name: name, Object: true})
		}
		table := &tables[len(tables)-1]
		if pk == 0 {
			table.Value = append(table.Value, sqltable.Column{Name: column})
			continue
		}
		table.Key = append(table.Key, sqltable.Column{Name: column,
			Type: map[string]sqltable.Type{"INTEGER": sqltable.Int, "TEXT": sqltable.Text}[kind]})
	}
	for i := range tables {
		if len(tables[i].Key) == 0 {
			tables[i].Key = []sqltable.Column{{Name: "_rowid_", Type: sqltable.Int}}
		}
	}
	return tables
}
