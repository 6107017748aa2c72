package buntkv

import (
	"errors"
	"strconv"

	"github.com/tidwall/buntdb"

	"github.com/assaydb/assay/kv/driver"
)

// optionTable is BuntDB's Config, under its names.
var optionTable = []driver.Option{
	{Name: "AutoShrinkDisabled", Values: "true|false", Default: "false", Usage: "do not compact the file in the background"},
	{Name: "AutoShrinkMinSize", Values: "bytes", Default: "33554432", Usage: "size of the file from which on it is compacted in the background"},
	{Name: "AutoShrinkPercentage", Values: "percent", Default: "100", Usage: "growth since the last compaction that calls for another one"},
	{Name: "Marks", Values: "true|false", Default: "true", Usage: "the driver's own: mark commits, so that a file torn by power loss opens again; without, synced is refused"},
	{Name: "SyncPolicy", Values: "Always|EverySecond|Never", Default: "EverySecond", Usage: "when flushed commits are synced; synced commits always are"},
}

// policies are the values of the option SyncPolicy.
var policies = map[string]buntdb.SyncPolicy{
	"Always":      buntdb.Always,
	"EverySecond": buntdb.EverySecond,
	"Never":       buntdb.Never,
}

// options is what a store is opened with.
type options struct {
	flushed          buntdb.SyncPolicy // of Flushed and Buffered commits
	marks            bool              // see mark
	shrinkDisabled   bool
	shrinkMinSize    int64
	shrinkPercentage int64
}

func parseOptions(c driver.Config) (*options, error) {
	p := driver.NewParams(c.Params)
	o := &options{
		flushed:          policies[p.OneOf("SyncPolicy", "EverySecond", "Always", "EverySecond", "Never")],
		marks:            p.Bool("Marks", true),
		shrinkDisabled:   p.Bool("AutoShrinkDisabled", false),
		shrinkMinSize:    p.Int("AutoShrinkMinSize", 32<<20, 0),
		shrinkPercentage: p.Int("AutoShrinkPercentage", 100, 0),
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	if !o.marks && o.flushed == buntdb.Always {
		return nil, &driver.Error{Kind: driver.Invalid, Err: errors.New("SyncPolicy=Always with Marks=false"),
			Hint: "leave Marks out: synced commits are marked"}
	}
	return o, nil
}

// policy returns the SyncPolicy that delivers class d.
func (o *options) policy(d driver.Durability) buntdb.SyncPolicy {
	if d == driver.Synced {
		return buntdb.Always
	}
	return o.flushed
}

// caps is what the engine can do with these options.
func (o *options) caps() driver.Caps {
	c := info.Caps
	if !o.marks {
		c.Promises[driver.Synced] = driver.Promise{}
		return c
	}
	if o.flushed == buntdb.Always {
		c.Promises[driver.Flushed], c.Promises[driver.Buffered] = c.Promises[driver.Synced], c.Promises[driver.Synced]
	}
	return c
}

func (o *options) settings() []driver.Setting {
	var policy string
	for name, p := range policies {
		if p == o.flushed {
			policy = name
		}
	}
	return []driver.Setting{
		{Name: "AutoShrinkDisabled", Value: strconv.FormatBool(o.shrinkDisabled)},
		{Name: "AutoShrinkMinSize", Value: strconv.FormatInt(o.shrinkMinSize, 10)},
		{Name: "AutoShrinkPercentage", Value: strconv.FormatInt(o.shrinkPercentage, 10)},
		{Name: "Marks", Value: strconv.FormatBool(o.marks)},
		{Name: "SyncPolicy", Value: policy},
	}
}
