package pebblekv

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/assaydb/assay/kv/driver"
)

// settings are Pebble's options, and those of them that are no plain values as the URL writes them.
type settings struct {
	pebble.Options
	compression profiles
	filterBits  int
	format      uint64
	fenced      bool // ours
}

// profiles are the compression of every level.
type profiles = [len(pebble.DBCompressionSettings{}.Levels)]*block.CompressionProfile

func named(name string, c pebble.DBCompressionSettings) driver.Named[profiles] {
	return driver.Named[profiles]{Name: name, Value: c.Levels}
}

var uniform = pebble.UniformDBCompressionSettings

// table names Pebble's options as the fields of pebble.Options are named.
var table = driver.Table[settings]{
	driver.Whole("BlockSize", "bytes", 64, "size of a table's blocks, before compression",
		func(o *settings) *int { return &o.Levels[0].BlockSize }),
	driver.Whole("BytesPerSync", "bytes", 1, "write tables out in steps of this size",
		func(o *settings) *int { return &o.BytesPerSync }),
	driver.Whole("CacheSize", "bytes", 1, "size of the block cache, in memory",
		func(o *settings) *int64 { return &o.CacheSize }),
	{Option: driver.Option{Name: "CompactionConcurrencyRange", Values: "lower,upper",
		Usage: "how many compactions run at once"}, Set: (*settings).setConcurrency, Get: (*settings).concurrency},
	driver.OneOf("Compression", "of tables; the last three choose by level",
		func(o *settings) *profiles { return &o.compression },
		named("none", pebble.DBCompressionNone), named("snappy", uniform(block.SnappyCompression)),
		named("zstd", uniform(block.ZstdCompression)), named("minlz", uniform(block.MinLZCompression)),
		named("fastest", pebble.DBCompressionFastest), named("balanced", pebble.DBCompressionBalanced),
		named("good", pebble.DBCompressionGood)),
	driver.Bool("DisableWAL", "no log: only Buffered is delivered", func(o *settings) *bool { return &o.DisableWAL }),
	driver.Bool("Fence", "outlive a failed write; false is Pebble as it is, which ends the process",
		func(o *settings) *bool { return &o.fenced }),
	driver.Whole("FilterPolicy", "bits per key", 0, "Bloom filters in tables; 10 is usual, 0 is none",
		func(o *settings) *int { return &o.filterBits }),
	driver.Whole("FormatMajorVersion", "number", int64(pebble.FormatMinSupported),
		"format of the files; raising it cannot be undone", func(o *settings) *uint64 { return &o.format },
	).WithDefault("the newest for a new store, else the store's"),
	driver.Whole("L0CompactionThreshold", "number", 1, "depth of level 0 that starts a compaction",
		func(o *settings) *int { return &o.L0CompactionThreshold }),
	driver.Whole("L0StopWritesThreshold", "number", 1, "depth of level 0 that stops writes",
		func(o *settings) *int { return &o.L0StopWritesThreshold }),
	driver.Whole("LBaseMaxBytes", "bytes", 1, "size of the first level below level 0",
		func(o *settings) *int64 { return &o.LBaseMaxBytes }),
	driver.Whole("MaxOpenFiles", "number", 1, "most tables that are open at once",
		func(o *settings) *int { return &o.MaxOpenFiles }),
	driver.Whole("MemTableSize", "bytes", 64<<10, "size at which the table in memory is written out",
		func(o *settings) *uint64 { return &o.MemTableSize }),
	driver.Whole("MemTableStopWritesThreshold", "number", 2, "tables in memory that stop writes",
		func(o *settings) *int { return &o.MemTableStopWritesThreshold }),
	driver.Whole("WALBytesPerSync", "bytes", 0, "write the log out in steps of this size; 0 is off",
		func(o *settings) *int { return &o.WALBytesPerSync }),
}

// options are those of table with Pebble's defaults.
var options = func() []driver.Option {
	o := settings{fenced: true}
	_, _ = o.complete(slog.New(slog.DiscardHandler)) // defaults are valid
	return table.Options(o)
}()

func (o *settings) setConcurrency(value string) error {
	var lower, upper int
	if _, err := fmt.Sscanf(value, "%d,%d", &lower, &upper); err != nil || lower < 1 || upper < lower {
		return errors.New("write lower,upper, for example 1,4")
	}
	o.CompactionConcurrencyRange = func() (int, int) { return lower, upper }
	return nil
}

func (o *settings) concurrency() string {
	lower, upper := o.CompactionConcurrencyRange()
	return fmt.Sprintf("%d,%d", lower, upper)
}

// read returns the program's options, or those of params.
func read(own *pebble.Options, params map[string]string) (*settings, error) {
	o := &settings{Options: *own.Clone(), fenced: true}
	if own != nil {
		return o, nil
	}
	if err := table.Read(params, o); err != nil {
		return nil, err
	}
	if chosen := (pebble.DBCompressionSettings{Levels: o.compression}); chosen.Levels != (profiles{}) {
		o.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return chosen })
	}
	if o.filterBits > 0 {
		o.Levels[0].FilterPolicy = bloom.FilterPolicy(o.filterBits) // the other levels follow
	}
	o.FormatMajorVersion = pebble.FormatMajorVersion(o.format)
	return o, nil
}

// complete puts the fence around the disk, fills in Pebble's defaults and lets Pebble judge the
// whole. What Pebble reports goes to l, unless the program has said where to.
func (o *settings) complete(l *slog.Logger) (f *fence, err error) {
	if o.FS == nil {
		o.FS = vfs.Default // EnsureDefaults would start a goroutine that watches for slow disks
	}
	if o.Logger == nil {
		o.Logger = logger{l.With("engine", "pebble")}
	}
	listener := pebble.EventListener{DataCorruption: func(i pebble.DataCorruptionInfo) {
		l.Error("pebble: corrupt data", "path", i.Path, "err", i.Details) // Pebble would end the process
	}}
	if o.EventListener != nil {
		listener = *o.EventListener // EnsureDefaults fills in what is missing
	}
	o.EventListener = &listener
	if o.fenced {
		f = newFence(o, l)
	}
	format := o.FormatMajorVersion
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("pebble panics: %v", r)
		}
		if err != nil {
			err = &driver.Error{Op: "open", Kind: driver.Invalid, Err: err}
		}
		o.FormatMajorVersion = format // EnsureDefaults turned "not said" into the oldest
	}()
	o.EnsureDefaults()
	for i := range o.Levels {
		o.compression[i] = o.Levels[i].Compression()
	}
	bits, _ := o.Levels[0].FilterPolicy.(bloom.FilterPolicy)
	o.filterBits = int(bits)
	return f, o.Validate()
}

// logger passes Pebble's messages on.
type logger struct{ to *slog.Logger }

// Infof is part of pebble.Logger, as are the methods that follow.
func (l logger) Infof(format string, args ...any)  { l.to.Debug(fmt.Sprintf(format, args...)) }
func (l logger) Errorf(format string, args ...any) { l.to.Error(fmt.Sprintf(format, args...)) }

// Fatalf ends the process: Pebble does not work on after a fatal error.
func (l logger) Fatalf(format string, args ...any) {
	l.Errorf(format, args...)
	pebble.DefaultLogger.Fatalf(format, args...)
}
