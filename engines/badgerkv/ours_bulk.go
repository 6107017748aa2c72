package badgerkv

import (
	"github.com/dgraph-io/badger/v4"

	"github.com/assaydb/assay/kv/driver"
)

// bulk keeps the memory of a load small. Badger keeps up to eight buffers in which it made tables,
// each as large as the largest one and what it was compressed to, and up to six tables in memory
// that take a third more than their size. As many bytes as by default wait to be merged.
//
// With a base of any size all levels but the first and the last one stay empty, so that each pair
// is merged once, and not once for each level that it comes through. Opened with other options,
// Badger fills the levels between by itself. Tables of the last level are as large as the base's.
var bulk = map[string]string{"BlockCacheSize": "8388608", "MemTableSize": "8388608", "NumMemtables": "2",
	"NumLevelZeroTables": "40", "NumLevelZeroTablesStall": "120",
	"BaseLevelSize": "1125899906842624", "BaseTableSize": "8388608"}

// tables are the options that tell how many tables wait.
var tables = driver.Table[badger.Options]{
	driver.Whole("NumLevelZeroTables", "tables", 1, "tables that were written out, before they are merged into the levels",
		func(o *badger.Options) *int { return &o.NumLevelZeroTables }),
	driver.Whole("NumLevelZeroTablesStall", "tables", 1, "and before commits wait for that",
		func(o *badger.Options) *int { return &o.NumLevelZeroTablesStall }),
	driver.Whole("NumMemtables", "tables", 1, "full tables in memory that may wait to be written out, before commits do",
		func(o *badger.Options) *int { return &o.NumMemtables }),
	driver.Whole("BaseLevelSize", "bytes", 1<<20, "size up to which a level is the one that new tables are merged into",
		func(o *badger.Options) *int64 { return &o.BaseLevelSize }),
	driver.Whole("BaseTableSize", "bytes", 1<<20, "size of the tables of that level",
		func(o *badger.Options) *int64 { return &o.BaseTableSize }),
}
