package levelkv

import (
	"errors"

	"github.com/syndtr/goleveldb/leveldb/opt"

	"github.com/assaydb/assay/kv/driver"
)

type compression = driver.Named[opt.Compression]

// table names goleveldb's options as the fields of opt.Options are named. Open takes all others.
var table = driver.Table[opt.Options]{
	driver.Whole("BlockCacheCapacity", "bytes", 1, "size of the cache of blocks, in memory",
		func(o *opt.Options) *int { return &o.BlockCacheCapacity }),
	driver.Whole("BlockSize", "bytes", 64, "size of a table's blocks, before compression",
		func(o *opt.Options) *int { return &o.BlockSize }),
	driver.Whole("CompactionTableSize", "bytes", 1<<10, "size of the tables that a compaction writes",
		func(o *opt.Options) *int { return &o.CompactionTableSize }),
	driver.Whole("CompactionTotalSize", "bytes", 1<<10, "level n holds up to this size times ten to the power of n",
		func(o *opt.Options) *int { return &o.CompactionTotalSize }),
	driver.OneOf("Compression", "of tables", func(o *opt.Options) *opt.Compression { return &o.Compression },
		compression{Name: "none", Value: opt.NoCompression}, compression{Name: "snappy", Value: opt.SnappyCompression}),
	driver.Whole("WriteBuffer", "bytes", 1<<10, "size at which the table in memory is written out",
		func(o *opt.Options) *int { return &o.WriteBuffer }),
}

// options are those of table with goleveldb's defaults.
var options = table.Options(*inForce(new(opt.Options)))

// inForce returns o with what goleveldb takes for absent values.
func inForce(o *opt.Options) *opt.Options {
	told := *o
	told.BlockCacheCapacity = o.GetBlockCacheCapacity()
	told.BlockSize = o.GetBlockSize()
	told.CompactionTableSize = o.GetCompactionTableSize(0)
	told.CompactionTotalSize = int(o.GetCompactionTotalSize(0))
	told.Compression = o.GetCompression()
	told.WriteBuffer = o.GetWriteBuffer()
	return &told
}

// read returns a copy of the program's options, or those of c.
func read(own *opt.Options, c driver.Config) (*opt.Options, error) {
	o := new(opt.Options)
	if own != nil {
		*o = *own
	}
	o.ReadOnly = c.Mode == driver.ReadOnly
	if o.NoSync {
		return nil, &driver.Error{Op: "open", Kind: driver.Invalid, Err: errors.New("option NoSync"),
			Hint: "leave it out and commit as Flushed: then only tables are synced"}
	}
	return o, table.Read(c.Params, o)
}
