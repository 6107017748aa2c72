package badgerkv

import (
	"errors"
	"fmt"

	"github.com/dgraph-io/badger/v4"
	badgeroptions "github.com/dgraph-io/badger/v4/options"

	"github.com/assaydb/assay/kv/driver"
)

type (
	checksums   = driver.Named[badgeroptions.ChecksumVerificationMode]
	compression = driver.Named[badgeroptions.CompressionType]
)

// table names Badger's options as the fields of badger.Options are named.
var table = driver.Table[badger.Options]{
	driver.Whole("BaseTableSize", "bytes", 1<<12, "size of the tables on disk",
		func(o *badger.Options) *int64 { return &o.BaseTableSize }),
	driver.Whole("BlockCacheSize", "bytes", 0, "most memory for blocks; 0 only without compression",
		func(o *badger.Options) *int64 { return &o.BlockCacheSize }),
	driver.OneOf("ChecksumVerificationMode", "when the checksums of blocks are verified",
		func(o *badger.Options) *badgeroptions.ChecksumVerificationMode { return &o.ChecksumVerificationMode },
		checksums{Name: "NoVerification", Value: badgeroptions.NoVerification},
		checksums{Name: "OnTableRead", Value: badgeroptions.OnTableRead},
		checksums{Name: "OnBlockRead", Value: badgeroptions.OnBlockRead},
		checksums{Name: "OnTableAndBlockRead", Value: badgeroptions.OnTableAndBlockRead}),
	driver.Bool("CompactL0OnClose", "merge level 0 on close",
		func(o *badger.Options) *bool { return &o.CompactL0OnClose }),
	driver.OneOf("Compression", "of tables",
		func(o *badger.Options) *badgeroptions.CompressionType { return &o.Compression },
		compression{Name: "none", Value: badgeroptions.None}, compression{Name: "snappy", Value: badgeroptions.Snappy},
		compression{Name: "zstd", Value: badgeroptions.ZSTD}),
	driver.Bool("DetectConflicts", "check for conflicts; kv has one writer, so none occur",
		func(o *badger.Options) *bool { return &o.DetectConflicts }),
	driver.Whole("IndexCacheSize", "bytes", 0, "most memory for indices; 0 keeps all of them",
		func(o *badger.Options) *int64 { return &o.IndexCacheSize }),
	driver.Whole("MemTableSize", "bytes", 1<<16,
		"size at which the table in memory is written out; a transaction may take 15 % of it",
		func(o *badger.Options) *int64 { return &o.MemTableSize }),
	driver.Bool("MetricsEnabled", "count operations for package expvar",
		func(o *badger.Options) *bool { return &o.MetricsEnabled }),
	driver.Whole("NumCompactors", "number", 0, "how many compactions run at once; 0, or at least 2",
		func(o *badger.Options) *int { return &o.NumCompactors }),
	driver.Whole("NumMemtables", "number", 1, "tables in memory that stop writes",
		func(o *badger.Options) *int { return &o.NumMemtables }),
	driver.Whole("NumVersionsToKeep", "number", 1, "versions kept of a key; kv reads the last",
		func(o *badger.Options) *int { return &o.NumVersionsToKeep }),
	driver.Bool("SyncWrites", "sync every commit: Synced, else Flushed",
		func(o *badger.Options) *bool { return &o.SyncWrites }).WithDefault("as the weakest class needs"),
	driver.Whole("ValueLogFileSize", "bytes", 1<<20, "size of the files for large values, and of the largest value",
		func(o *badger.Options) *int64 { return &o.ValueLogFileSize }),
	driver.Whole("ValueThreshold", "bytes", 0, "values of this size and more go to the value log",
		func(o *badger.Options) *int64 { return &o.ValueThreshold }),
	driver.Whole("ZSTDCompressionLevel", "number", 1, "for Compression=zstd",
		func(o *badger.Options) *int { return &o.ZSTDCompressionLevel }),
}

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
		// Badger accepts no threshold above the largest transaction.
		o.ValueThreshold = min(o.ValueThreshold, largest(o))
	}
	o.ReadOnly = c.Mode == driver.ReadOnly
	if o.Dir = c.Path; base == nil || base.ValueDir == "" {
		o.ValueDir = c.Path
	}
	return o, consistent(o)
}

// largest is what a transaction may take.
func largest(o badger.Options) int64 { return o.MemTableSize * 15 / 100 }

// consistent finds what Badger refuses, or panics on, when it opens.
func consistent(o badger.Options) error {
	invalid := func(hint, format string, args ...any) error {
		return &driver.Error{Op: "open", Kind: driver.Invalid, Err: fmt.Errorf(format, args...), Hint: hint}
	}
	switch {
	case o.InMemory:
		return &driver.Error{Op: "open", Kind: driver.Unsupported, Err: errors.New("option InMemory"), Hint: "use Wrap"}
	case o.Compression != badgeroptions.None && o.BlockCacheSize == 0:
		return invalid("use Compression=none or leave BlockCacheSize out", "option BlockCacheSize=0 with compression")
	case o.NumCompactors == 1:
		return invalid("use 0, or at least 2", "option NumCompactors=1")
	case o.ValueLogFileSize > 2<<30-1:
		return invalid("use less than 2147483648", "option ValueLogFileSize=%d", o.ValueLogFileSize)
	case o.MemTableSize > 1<<30:
		return invalid("use at most 1073741824", "option MemTableSize=%d", o.MemTableSize)
	case o.ValueThreshold > 1<<20:
		return invalid("use at most 1048576", "option ValueThreshold=%d", o.ValueThreshold)
	case o.ValueThreshold > largest(o):
		return invalid("use at most 15 % of MemTableSize", "option ValueThreshold=%d", o.ValueThreshold)
	}
	return nil
}
