package buntkv

import (
	"errors"

	"github.com/tidwall/buntdb"

	"github.com/assaydb/assay/kv/driver"
)

// options are BuntDB's own, and ours.
type options struct {
	buntdb.Config
	Frames bool
}

// defaults are those of BuntDB's Open.
var defaults = options{Frames: true, Config: buntdb.Config{
	SyncPolicy: buntdb.EverySecond, AutoShrinkPercentage: 100, AutoShrinkMinSize: 32 << 20,
}}

// table names BuntDB's options as the fields of its Config are named.
var table = driver.Table[options]{
	driver.Bool("AutoShrinkDisabled", "do not compact the file in the background",
		func(o *options) *bool { return &o.AutoShrinkDisabled }),
	driver.Whole("AutoShrinkMinSize", "bytes", 0, "size of the file from which on it is compacted in the background",
		func(o *options) *int { return &o.AutoShrinkMinSize }),
	driver.Whole("AutoShrinkPercentage", "percent", 0, "growth since the last compaction that calls for another one",
		func(o *options) *int { return &o.AutoShrinkPercentage }),
	driver.Bool("Frames", "ours: keep transactions whole, and sync; false is BuntDB as it is, without synced",
		func(o *options) *bool { return &o.Frames }),
	driver.OneOf("SyncPolicy", "when flushed commits are synced; synced commits always are",
		func(o *options) *buntdb.SyncPolicy { return &o.SyncPolicy },
		driver.Named[buntdb.SyncPolicy]{Name: "Always", Value: buntdb.Always},
		driver.Named[buntdb.SyncPolicy]{Name: "EverySecond", Value: buntdb.EverySecond},
		driver.Named[buntdb.SyncPolicy]{Name: "Never", Value: buntdb.Never}),
}

// read returns the options that params give, above those of base.
func read(params map[string]string, base *buntdb.Config) (*options, error) {
	o := defaults
	if base != nil {
		o.Config = *base
	}
	if err := table.Read(params, &o); err != nil {
		return nil, err
	}
	if o.OnExpiredSync != nil {
		return nil, &driver.Error{Kind: driver.Unsupported, Err: errors.New("OnExpiredSync writes on its own"),
			Hint: "leave it out, or open BuntDB itself and use Wrap"}
	}
	return &o, nil
}

// caps is what a store with these options can do.
func (o *options) caps() driver.Caps {
	flushed := driver.Promise{Supported: true, Class: driver.Flushed}
	c := driver.Caps{
		PureGo:              true,
		Persistent:          true,
		Modes:               []driver.Mode{driver.Exclusive, driver.ReadOnly},
		SharedReading:       true,
		Promises:            [3]driver.Promise{driver.Flushed: flushed, driver.Buffered: flushed},
		ReadersBlockWriters: driver.Always,
		WritersBlockReaders: driver.Always,
		Compacts:            true,
	}
	if o.Frames {
		c.Checks, c.Promises = true, o.framedPromises()
	}
	return c
}
