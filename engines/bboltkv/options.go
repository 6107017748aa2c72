package bboltkv

import (
	"errors"
	"strconv"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/assaydb/assay/kv/driver"
)

// options is what a store is opened with, and once it is open what is in force.
type options struct {
	bolt.Options
	reserved    bool // InitialMmapSize is the driver's choice
	fillPercent float64
	bucket      string
	buckets     [][]byte // from the top to that one
	onSync      driver.OnSync
}

var defaults = options{
	Options:     bolt.Options{FreelistType: bolt.FreelistArrayType},
	fillPercent: bolt.DefaultFillPercent,
	bucket:      "kv",
}

// table is bbolt's Options, FillPercent of its Bucket, under bbolt's names, and Bucket.
var table = driver.Table[options]{
	driver.Text("Bucket", "NAME or OUTER/INNER", "what holds the pairs; a file with other buckets must have it",
		func(o *options) *string { return &o.bucket }),
	driver.Number("FillPercent", "0.1 to 1", 0.1, 1, "how full a page is when it is split; 1 suits ascending keys",
		func(o *options) *float64 { return &o.fillPercent }),
	driver.OneWord("FreelistType", "how free pages are kept in memory; hashmap is faster on large fragmented files",
		func(o *options) *bolt.FreelistType { return &o.FreelistType }, bolt.FreelistArrayType, bolt.FreelistMapType),
	driver.Whole("InitialMmapSize", "bytes", 0, "commits wait for readers only when the file comes near it; "+
		"0 is 64 GiB of addresses on 64-bit Unix, and elsewhere, the file's size",
		func(o *options) *int { return &o.InitialMmapSize }),
	driver.Bool("NoFreelistSync", "do not store the free pages: smaller commits, opening reads the whole file",
		func(o *options) *bool { return &o.NoFreelistSync }),
	driver.Bool("NoSync", "never sync: every class is delivered as flushed, synced is refused",
		func(o *options) *bool { return &o.NoSync }),
	driver.OneOf("PageSize", "page size of a new file", func(o *options) *int { return &o.PageSize },
		pageSizes()...).WithDefault("the operating system's"),
}

func pageSizes() (all []driver.Named[int]) {
	for n := 1 << 10; n <= 1<<16; n *= 2 {
		all = append(all, driver.Named[int]{Name: strconv.Itoa(n), Value: n})
	}
	return all
}

// options returns those of c, and those of d where c does not say.
func (d Driver) options(c driver.Config) (*options, error) {
	o := defaults
	if d.typed != nil {
		o = *d.typed
	}
	if err := table.Read(c.Params, &o); err != nil {
		return nil, err
	}
	o.Timeout = time.Nanosecond // bbolt: 0 waits forever, anything below 50 ms tries once
	o.ReadOnly, o.onSync = c.Mode == driver.ReadOnly, c.OnSync
	for name := range strings.SplitSeq(o.bucket, "/") {
		o.buckets = append(o.buckets, []byte(name))
		if name == "" {
			return nil, &driver.Error{Kind: driver.Invalid, Err: errors.New("a name of option Bucket is empty"),
				Hint: "write Bucket=NAME, or Bucket=OUTER/INNER"}
		}
	}
	return &o, nil
}

// find returns the store's bucket, nil if there is none.
func (o *options) find(tx *bolt.Tx) *bolt.Bucket {
	b := tx.Bucket(o.buckets[0])
	for _, name := range o.buckets[1:] {
		if b != nil {
			b = b.Bucket(name)
		}
	}
	return b
}
