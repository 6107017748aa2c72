package levelkv

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/syndtr/goleveldb/leveldb/filter"
	"github.com/syndtr/goleveldb/leveldb/opt"

	"github.com/assaydb/assay/kv/driver"
)

// table names goleveldb's options as the fields of opt.Options are named.
var table = driver.Table[opt.Options]{
	driver.Whole("BlockCacheCapacity", "bytes", 1, "size of the cache of blocks, in memory",
		func(o *opt.Options) *int { return &o.BlockCacheCapacity }),
	driver.Whole("BlockRestartInterval", "number", 1, "keys of a block that share prefixes",
		func(o *opt.Options) *int { return &o.BlockRestartInterval }),
	driver.Whole("BlockSize", "bytes", 64, "size of a table's blocks, before compression",
		func(o *opt.Options) *int { return &o.BlockSize }),
	driver.Whole("CompactionL0Trigger", "number", 1, "tables of level 0 that start a compaction",
		func(o *opt.Options) *int { return &o.CompactionL0Trigger }),
	driver.Whole("CompactionTableSize", "bytes", 1<<10, "size of the tables that a compaction writes",
		func(o *opt.Options) *int { return &o.CompactionTableSize }),
	driver.Whole("CompactionTotalSize", "bytes", 1<<10, "level n holds up to this size times ten to the power of n",
		func(o *opt.Options) *int { return &o.CompactionTotalSize }),
	driver.OneOf("Compression", "of tables", func(o *opt.Options) *opt.Compression { return &o.Compression },
		driver.Named[opt.Compression]{Name: "none", Value: opt.NoCompression},
		driver.Named[opt.Compression]{Name: "snappy", Value: opt.SnappyCompression}),
	{Option: driver.Option{Name: "Filter", Values: "bits per key",
		Usage: "Bloom filters in tables; 10 is usual, 0 is none"}, Set: setFilter, Get: getFilter},
	driver.Bool("NoSync", "sync nothing, tables included: Synced is refused",
		func(o *opt.Options) *bool { return &o.NoSync }),
	driver.Bool("NoWriteMerge", "do not let commits that run at once share a write",
		func(o *opt.Options) *bool { return &o.NoWriteMerge }),
	driver.Whole("OpenFilesCacheCapacity", "number", 1, "most tables that are open at once",
		func(o *opt.Options) *int { return &o.OpenFilesCacheCapacity }),
	driver.OneOf("Strict", "all: a journal or manifest with a damaged or torn record does not open, even after a crash",
		func(o *opt.Options) *opt.Strict { return &o.Strict },
		driver.Named[opt.Strict]{Name: "default", Value: opt.DefaultStrict},
		driver.Named[opt.Strict]{Name: "all", Value: opt.StrictAll}),
	driver.Whole("WriteBuffer", "bytes", 1<<10, "size at which the table in memory is written out",
		func(o *opt.Options) *int { return &o.WriteBuffer }),
	driver.Whole("WriteL0PauseTrigger", "number", 1, "tables of level 0 that stop writes",
		func(o *opt.Options) *int { return &o.WriteL0PauseTrigger }),
	driver.Whole("WriteL0SlowdownTrigger", "number", 1, "tables of level 0 that slow writes down",
		func(o *opt.Options) *int { return &o.WriteL0SlowdownTrigger }),
}

// options are those of table with goleveldb's defaults.
var options = table.Options(*inForce(new(opt.Options)))

// inForce returns o with what goleveldb takes for absent values.
func inForce(o *opt.Options) *opt.Options {
	told := *o
	told.BlockCacheCapacity = o.GetBlockCacheCapacity()
	told.BlockRestartInterval = o.GetBlockRestartInterval()
	told.BlockSize = o.GetBlockSize()
	told.CompactionL0Trigger = o.GetCompactionL0Trigger()
	told.CompactionTableSize = o.GetCompactionTableSize(0)
	told.CompactionTotalSize = int(o.GetCompactionTotalSize(0))
	told.Compression = o.GetCompression()
	told.OpenFilesCacheCapacity = o.GetOpenFilesCacheCapacity()
	told.WriteBuffer = o.GetWriteBuffer()
	told.WriteL0PauseTrigger = o.GetWriteL0PauseTrigger()
	told.WriteL0SlowdownTrigger = o.GetWriteL0SlowdownTrigger()
	if told.Strict == 0 {
		told.Strict = opt.DefaultStrict
	}
	return &told
}

func setFilter(o *opt.Options, value string) error {
	bits, err := strconv.Atoi(value)
	if err != nil || bits < 0 {
		return errors.New("use a whole number of at least 0")
	}
	if bits > 0 {
		o.Filter = filter.NewBloomFilter(bits)
	}
	return nil
}

// getFilter tells the bits: goleveldb's filter is a number, of a type without a name.
func getFilter(o *opt.Options) string {
	if o.Filter == nil {
		return "0"
	}
	return fmt.Sprint(o.Filter)
}
