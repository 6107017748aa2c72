package pebblekv

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable/block"

	"github.com/assaydb/assay/kv/driver"
)

// settings are Pebble's options, and those of them that are no plain values as the URL writes them.
type settings struct {
	pebble.Options
	compression  *block.CompressionProfile
	lower, upper int  // CompactionConcurrencyRange
	fenced       bool // ours
}

type profile = driver.Named[*block.CompressionProfile]

// table names Pebble's options as the fields of pebble.Options are named. Open takes all others.
var table = driver.Table[settings]{
	driver.Whole("BytesPerSync", "bytes", 1, "steps of writing tables",
		func(o *settings) *int { return &o.BytesPerSync }),
	driver.Whole("CacheSize", "bytes", 1, "block cache, in memory", func(o *settings) *int64 { return &o.CacheSize }),
	{Option: driver.Option{Name: "CompactionConcurrencyRange", Values: "lower,upper", Usage: "compactions at once"},
		Set: (*settings).setConcurrency,
		Get: func(o *settings) string { return fmt.Sprintf("%d,%d", o.lower, o.upper) }},
	driver.OneOf("Compression", "of tables", func(o *settings) **block.CompressionProfile { return &o.compression },
		profile{Name: "none", Value: block.NoCompression}, profile{Name: "snappy", Value: block.SnappyCompression},
		profile{Name: "zstd", Value: block.ZstdCompression}, profile{Name: "minlz", Value: block.MinLZCompression}),
	driver.Bool("Fence", "outlive a failed write; false is Pebble, which ends the process",
		func(o *settings) *bool { return &o.fenced }),
	driver.Whole("L0CompactionThreshold", "number", 1, "depth of level 0 that starts a compaction",
		func(o *settings) *int { return &o.L0CompactionThreshold }),
	driver.Whole("L0StopWritesThreshold", "number", 1, "depth of level 0 that stops writes",
		func(o *settings) *int { return &o.L0StopWritesThreshold }),
	driver.Whole("LBaseMaxBytes", "bytes", 1, "first level below 0",
		func(o *settings) *int64 { return &o.LBaseMaxBytes }),
	driver.Whole("MemTableSize", "bytes", 64<<10, "table in memory",
		func(o *settings) *uint64 { return &o.MemTableSize }),
	driver.Whole("MemTableStopWritesThreshold", "number", 2, "tables in memory that stop writes",
		func(o *settings) *int { return &o.MemTableStopWritesThreshold }),
}

// options are those of table with Pebble's defaults.
var options = func() []driver.Option {
	o := settings{fenced: true}
	_, _ = o.complete(slog.New(slog.DiscardHandler)) // defaults are valid
	return table.Options(o)
}()

func (o *settings) setConcurrency(value string) error {
	if _, err := fmt.Sscanf(value, "%d,%d", &o.lower, &o.upper); err != nil || o.lower < 1 || o.upper < o.lower {
		return errors.New("write lower,upper, for example 1,4")
	}
	o.CompactionConcurrencyRange = func() (int, int) { return o.lower, o.upper }
	return nil
}

// read returns the program's options, or those of c.
func read(own *pebble.Options, c driver.Config) (*settings, error) {
	o := &settings{Options: *own.Clone(), fenced: true}
	if o.ReadOnly = c.Mode == driver.ReadOnly; own != nil {
		return o, nil
	}
	err := table.Read(c.Params, o)
	if o.compression != nil {
		uniform := pebble.UniformDBCompressionSettings(o.compression)
		o.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return uniform })
	}
	return o, err
}
