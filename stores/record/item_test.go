package record_test

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/record"

	_ "github.com/assaydb/assay/engines/bboltkv"
)

// TestDumpShowsRecordsWithoutTheirType holds what is shown of records of all kinds of fields, in
// both codecs, of which some were written before the type had another field.
func TestDumpShowsRecordsWithoutTheirType(t *testing.T) {
	type part struct{ A, B int }
	type first struct {
		ID   int64
		Name string
	}
	type later struct {
		ID    int64
		Name  string
		Score float64 `record:"score,hot"`
		Raw   []byte
		At    time.Time
		Parts []part
		Tags  map[string]uint8
		Next  *int
	}
	for _, codec := range []record.Codec{record.Binary, record.JSON} {
		t.Run(codec.String(), func(t *testing.T) {
			db, err := kv.Open(t.Context(), "bbolt:"+filepath.Join(t.TempDir(), "db"))
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			o := &record.Options{Name: "users", Codec: codec}
			old, err := record.Open[first](t.Context(), db, o)
			if err == nil {
				err = old.Put(t.Context(), kv.Synced, &first{-3, "ann \"a\""})
			}
			if err != nil {
				t.Fatal(err)
			}
			o.Evolve = record.Extend
			users, err := record.Open[later](t.Context(), db, o)
			if err == nil {
				err = users.Put(t.Context(), kv.Synced, &later{ID: 7, Name: "bob", Score: 1.5, Raw: []byte{0xff},
					At: time.Unix(1, 0).UTC(), Parts: []part{{1, 2}}, Tags: map[string]uint8{"x": 3}})
			}
			if err != nil {
				t.Fatal(err)
			}
			shown := func(name string, reverse bool) (lines []string, err error) {
				err = db.View(t.Context(), func(s *kv.Snapshot) error {
					return record.Dump(s, name, reverse, func(fields []record.Item) error {
						var line strings.Builder
						for _, f := range fields {
							fmt.Fprintf(&line, "%s=%s ", f.Name, f.Value)
						}
						lines = append(lines, line.String())
						return nil
					})
				})
				return lines, err
			}
			lines, err := shown("users", false)
			if err != nil || len(lines) != 2 {
				t.Fatalf("%q, error %v", lines, err)
			}
			for i, want := range [][]string{{"ID=-3 ", `Name="ann \"a\"" `, "score=0 "},
				{"ID=7 ", `Name="bob" `, "score=1.5 ", `Raw="/w==" `, `At="1970-01-01T00:00:01Z" `,
					`Parts=[{"A":1,"B":2}] `, `Tags={"x":3} `, "Next=null "}} {
				for _, text := range want {
					if !strings.Contains(lines[i], text) {
						t.Errorf("record %d is %s, want %s", i, lines[i], text)
					}
				}
			}
			if back, err := shown("users", true); err != nil || len(back) != 2 || back[0] != lines[1] {
				t.Errorf("backwards: %q, error %v", back, err)
			}
			if _, err := shown("none", false); !errors.Is(err, kv.NotFound) {
				t.Errorf("a collection that is not there: %v", err)
			}
			if codec == record.Binary {
				if err := users.Put(t.Context(), kv.Synced, &later{ID: 8, Score: math.NaN()}); err != nil {
					t.Fatal(err)
				}
				if lines, err := shown("users", true); err != nil || !strings.Contains(lines[0], `score="NaN"`) {
					t.Errorf("NaN: %q, error %v", lines, err)
				}
			}
		})
	}
}
