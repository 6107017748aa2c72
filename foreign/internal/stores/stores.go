// Package stores opens the engines that the foreign suites are run on.
package stores

import (
	"path/filepath"
	"testing"

	"github.com/assaydb/assay/foreign/internal/suites"

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

// Each runs test for every engine, as a subtest with its name.
func Each(t *testing.T, test func(t *testing.T, open suites.Open)) {
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			test(t, suites.At(t, func() string {
				return s.engine + ":" + filepath.ToSlash(filepath.Join(t.TempDir(), "db")) + s.options
			}))
		})
	}
}
