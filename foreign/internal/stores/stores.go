// Package stores opens the engines that the foreign suites are run on.
package stores

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/assaydb/assay/kv"

	_ "github.com/assaydb/assay/engines/badgerkv"
	_ "github.com/assaydb/assay/engines/bboltkv"
	_ "github.com/assaydb/assay/engines/buntkv"
	_ "github.com/assaydb/assay/engines/levelkv"
	_ "github.com/assaydb/assay/engines/pebblekv"
	_ "github.com/assaydb/assay/engines/sqlitekv"
	_ "github.com/assaydb/assay/engines/sqlitewasmkv"
	_ "github.com/assaydb/assay/kv/memkv"
)

// store is an engine, with options where they change what its stores can do.
type store struct{ name, engine, options string }

// all are those of the default binary. A file with a build constraint adds those that need more
// than Go.
var all = []store{
	{name: "mem", engine: "mem"},
	{name: "bbolt", engine: "bbolt"},
	{name: "pebble", engine: "pebble"},
	{name: "badger", engine: "badger"},
	{name: "bunt", engine: "bunt"},
	{name: "leveldb", engine: "leveldb"},
	{name: "sqlite", engine: "sqlite"},
	{name: "sqlite-delete", engine: "sqlite", options: "?journal_mode=DELETE&synchronous=OFF"}, // no suite cuts the power
	{name: "sqlite-wasm", engine: "sqlite-wasm"},
}

// Open returns an empty store, and the cheapest class of durability that it takes. A store that
// the test has not closed is closed at its end; what is still open in it then fails the test.
type Open func(options ...kv.Option) (*kv.DB, kv.Durability)

// Each runs test for every engine, as a subtest with its name.
func Each(t *testing.T, test func(t *testing.T, open Open)) {
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			test(t, func(options ...kv.Option) (*kv.DB, kv.Durability) {
				t.Helper()
				url := s.engine + ":" + filepath.ToSlash(filepath.Join(t.TempDir(), "db")) + s.options
				options = append([]kv.Option{kv.WithWeakest(kv.Buffered)}, options...)
				db, err := kv.Open(context.Background(), url, options...)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					if err := db.Close(); err != nil {
						t.Error(err)
					}
				})
				return db, db.Caps().Cheapest()
			})
		})
	}
}
