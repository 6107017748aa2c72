package bboltkv

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/assaydb/assay/kv/driver"
)

// optionTable is bbolt's Options and the settings of its DB and Bucket, under bbolt's names.
var optionTable = []driver.Option{
	{Name: "AllocSize", Values: "bytes", Default: "16777216", Usage: "by how much the file grows once it is larger than this"},
	{Name: "FillPercent", Values: "0.1 to 1", Default: "0.5", Usage: "how full a page is when it is split; 1 suits ascending keys"},
	{Name: "FreelistType", Values: "array|hashmap", Default: "array", Usage: "how free pages are kept in memory; hashmap is faster on large fragmented files"},
	{Name: "InitialMmapSize", Values: "bytes", Default: "0", Usage: "size of the first memory map; commits wait for readers only when the file outgrows it"},
	{Name: "MaxSize", Values: "bytes", Default: "0", Usage: "largest size of the file; 0 is no limit"},
	{Name: "Mlock", Values: "true|false", Default: "false", Usage: "lock the file in memory (Unix)"},
	{Name: "NoFreelistSync", Values: "true|false", Default: "false", Usage: "do not store the free pages: smaller commits, opening reads the whole file twice"},
	{Name: "NoGrowSync", Values: "true|false", Default: "false", Usage: "do not truncate and sync when the file grows"},
	{Name: "NoStatistics", Values: "true|false", Default: "false", Usage: "do not count operations"},
	{Name: "NoSync", Values: "true|false", Default: "false", Usage: "never sync: every class is delivered as flushed, synced is refused"},
	{Name: "PageSize", Values: "1024|2048|4096|8192|16384|32768|65536", Default: "the operating system's", Usage: "page size of a new file"},
	{Name: "PreLoadFreelist", Values: "true|false", Default: "false", Usage: "load the free pages when opening read-only; otherwise they always are"},
	{Name: "StrictMode", Values: "true|false", Default: "false", Usage: "check the whole file after every commit (very slow)"},
}

// options is what a store is opened with. They are shared, and never changed.
type options struct {
	bolt        bolt.Options
	allocSize   int
	fillPercent float64
	strictMode  bool
	caps        driver.Caps // that follow from the options
}

// defaults and readOnlyDefaults serve every store that is opened without options.
var defaults, readOnlyDefaults = mustRead(driver.Exclusive), mustRead(driver.ReadOnly)

func mustRead(m driver.Mode) *options {
	o, err := readOptions(driver.Config{Mode: m})
	if err != nil {
		panic(err)
	}
	return o
}

func parseOptions(c driver.Config) (*options, error) {
	switch {
	case len(c.Params) > 0:
		return readOptions(c)
	case c.Mode == driver.ReadOnly:
		return readOnlyDefaults, nil
	}
	return defaults, nil
}

func readOptions(c driver.Config) (*options, error) {
	p := driver.NewParams(c.Params)
	o := &options{
		bolt: bolt.Options{
			Timeout:         time.Nanosecond, // bbolt: 0 waits forever, anything below 50 ms tries once
			ReadOnly:        c.Mode == driver.ReadOnly,
			FreelistType:    bolt.FreelistType(p.OneOf("FreelistType", "array", "array", "hashmap")),
			InitialMmapSize: int(p.Int("InitialMmapSize", 0, 0)),
			MaxSize:         int(p.Int("MaxSize", 0, 0)),
			Mlock:           p.Bool("Mlock", false),
			NoFreelistSync:  p.Bool("NoFreelistSync", false),
			NoGrowSync:      p.Bool("NoGrowSync", false),
			NoStatistics:    p.Bool("NoStatistics", false),
			NoSync:          p.Bool("NoSync", false),
			PreLoadFreelist: p.Bool("PreLoadFreelist", false),
		},
		allocSize:   int(p.Int("AllocSize", 0, 1)),
		fillPercent: p.Float("FillPercent", bolt.DefaultFillPercent, 0.1),
		strictMode:  p.Bool("StrictMode", false),
	}
	if size := p.OneOf("PageSize", "", "1024", "2048", "4096", "8192", "16384", "32768", "65536"); size != "" {
		o.bolt.PageSize, _ = strconv.Atoi(size)
	}
	switch {
	case p.Err() != nil:
		return nil, p.Err()
	case o.fillPercent > 1:
		return nil, &driver.Error{Kind: driver.Invalid, Err: fmt.Errorf("option FillPercent=%v", o.fillPercent),
			Hint: "use a number from 0.1 to 1"}
	case o.bolt.Mlock && runtime.GOOS == "windows":
		return nil, &driver.Error{Kind: driver.Unsupported, Err: errors.New("option Mlock needs a Unix system")}
	}
	o.caps = info.Caps
	if o.bolt.NoSync {
		o.caps.Promises[driver.Synced] = driver.Promise{}
	}
	return o, nil
}

// settings reads the settings in force back from db.
func (o *options) settings(db *bolt.DB) []driver.Setting {
	noSync := "per commit"
	if o.bolt.NoSync {
		noSync = "true"
	}
	return []driver.Setting{
		{Name: "AllocSize", Value: strconv.Itoa(db.AllocSize)},
		{Name: "FillPercent", Value: strconv.FormatFloat(o.fillPercent, 'g', -1, 64)},
		{Name: "FreelistType", Value: string(db.FreelistType)},
		{Name: "InitialMmapSize", Value: strconv.Itoa(o.bolt.InitialMmapSize)},
		{Name: "MaxSize", Value: strconv.Itoa(db.MaxSize)},
		{Name: "Mlock", Value: strconv.FormatBool(db.Mlock)},
		{Name: "NoFreelistSync", Value: strconv.FormatBool(db.NoFreelistSync)},
		{Name: "NoGrowSync", Value: strconv.FormatBool(db.NoGrowSync)},
		{Name: "NoStatistics", Value: strconv.FormatBool(o.bolt.NoStatistics)},
		{Name: "NoSync", Value: noSync},
		{Name: "PageSize", Value: strconv.Itoa(db.Info().PageSize)},
		{Name: "PreLoadFreelist", Value: strconv.FormatBool(db.PreLoadFreelist)},
		{Name: "StrictMode", Value: strconv.FormatBool(db.StrictMode)},
	}
}
