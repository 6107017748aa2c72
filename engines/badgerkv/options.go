package badgerkv

import (
	"cmp"
	"errors"
	"strings"

	"github.com/dgraph-io/badger/v4"
	badgeroptions "github.com/dgraph-io/badger/v4/options"

	"github.com/assaydb/assay/kv/driver"
)

type compression = driver.Named[badgeroptions.CompressionType]

// table names Badger's options as the fields of badger.Options are named. Open takes all others.
var table = append(driver.Table[badger.Options]{
	driver.Whole("BlockCacheSize", "bytes", 0, "most memory for blocks; 0 only without compression",
		func(o *badger.Options) *int64 { return &o.BlockCacheSize }),
	driver.OneOf("Compression", "of tables",
		func(o *badger.Options) *badgeroptions.CompressionType { return &o.Compression },
		compression{Name: "none", Value: badgeroptions.None}, compression{Name: "snappy", Value: badgeroptions.Snappy},
		compression{Name: "zstd", Value: badgeroptions.ZSTD}),
	driver.Whole("MemTableSize", "bytes", 1<<16, "size of a table in memory; a transaction may take 15 % of it",
		func(o *badger.Options) *int64 { return &o.MemTableSize }),
	driver.Bool("SyncWrites", "sync every commit: Synced, else Flushed",
		func(o *badger.Options) *bool { return &o.SyncWrites }).WithDefault("as the weakest class needs"),
	driver.Whole("ValueLogFileSize", "bytes", 1<<20, "size of the files for large values, and of the largest value",
		func(o *badger.Options) *int64 { return &o.ValueLogFileSize }),
	driver.Whole("ValueThreshold", "bytes", 0, "values of this size and more go to the value log",
		func(o *badger.Options) *int64 { return &o.ValueThreshold }),
}, tables...)

// defaults are Badger's, but that kv has one writer, so that there are no conflicts.
func defaults() badger.Options { return badger.DefaultOptions("").WithDetectConflicts(false) }

// read returns the options for c, above those of base; nil are the defaults.
func read(c driver.Config, base *badger.Options) (badger.Options, error) {
	o := defaults()
	o.SyncWrites = c.Weakest == driver.Synced
	if base != nil {
		o = *base
	}
	if err := table.Read(c.Params, &o); err != nil {
		return o, err
	}
	if _, given := c.Params["ValueThreshold"]; !given && base == nil {
		o.ValueThreshold = min(o.ValueThreshold, o.MemTableSize*15/100) // the largest transaction
	}
	o.ReadOnly, o.Logger = c.Mode == driver.ReadOnly, nil
	o.ValueDir = cmp.Or(o.ValueDir, c.Path)
	// Badger judges options before it looks at the folder, and none can have this name.
	o.Dir = "\x00"
	if _, err := open(o); !strings.Contains(err.Error(), "Invalid Dir") {
		return o, &driver.Error{Op: "open", Kind: driver.Invalid, Err: err}
	}
	if o.Dir = c.Path; o.MemTableSize > 1<<30 {
		return o, &driver.Error{Op: "open", Kind: driver.Invalid, Err: errors.New("MemTableSize is at most 1073741824")}
	}
	return o, nil
}
