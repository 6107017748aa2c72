package bboltkv

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/assaydb/assay/kv/driver"
)

// options is what a store is opened with. They are shared, and never changed.
type options struct {
	bolt        bolt.Options
	allocSize   int
	fillPercent float64
	bucket      string
	buckets     [][]byte // from the top to that one
}

var defaults = options{
	bolt:        bolt.Options{FreelistType: bolt.FreelistArrayType},
	allocSize:   16 << 20,
	fillPercent: bolt.DefaultFillPercent,
	bucket:      "kv",
}

// table is bbolt's Options and the settings of its DB and Bucket, under bbolt's names, and Bucket.
var table = driver.Table[options]{
	driver.Whole("AllocSize", "bytes", 1, "by how much the file grows once it is larger than this",
		func(o *options) *int { return &o.allocSize }),
	driver.Text("Bucket", "NAME or OUTER/INNER", "what holds the pairs; a file with other buckets must have it",
		func(o *options) *string { return &o.bucket }),
	driver.Number("FillPercent", "0.1 to 1", 0.1, 1, "how full a page is when it is split; 1 suits ascending keys",
		func(o *options) *float64 { return &o.fillPercent }),
	driver.OneWord("FreelistType", "how free pages are kept in memory; hashmap is faster on large fragmented files",
		func(o *options) *bolt.FreelistType { return &o.bolt.FreelistType },
		bolt.FreelistArrayType, bolt.FreelistMapType),
	driver.Whole("InitialMmapSize", "bytes", 0, "commits wait for readers only when the file outgrows it; "+
		"0 is 64 GiB of addresses on 64-bit Unix, and elsewhere, or with a MaxSize, the file's size",
		func(o *options) *int { return &o.bolt.InitialMmapSize }),
	driver.Whole("MaxSize", "bytes", 0, "largest size of the file; 0 is no limit",
		func(o *options) *int { return &o.bolt.MaxSize }),
	driver.Bool("Mlock", "lock the file in memory (Unix)", func(o *options) *bool { return &o.bolt.Mlock }),
	driver.Bool("NoFreelistSync", "do not store the free pages: smaller commits, opening reads the whole file twice",
		func(o *options) *bool { return &o.bolt.NoFreelistSync }),
	driver.Bool("NoGrowSync", "do not truncate and sync when the file grows",
		func(o *options) *bool { return &o.bolt.NoGrowSync }),
	driver.Bool("NoSync", "never sync: every class is delivered as flushed, synced is refused",
		func(o *options) *bool { return &o.bolt.NoSync }),
	driver.OneOf("PageSize", "page size of a new file", func(o *options) *int { return &o.bolt.PageSize },
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
	if o.bolt.Mlock && runtime.GOOS == "windows" {
		return nil, &driver.Error{Kind: driver.Unsupported, Err: errors.New("option Mlock needs a Unix system")}
	}
	o.bolt.Timeout = time.Nanosecond // bbolt: 0 waits forever, anything below 50 ms tries once
	o.bolt.ReadOnly = c.Mode == driver.ReadOnly
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

// refuseOthers is for a file without the store's bucket: it returns Invalid if there are others,
// which another program made. A file without any is a new store.
func (o *options) refuseOthers(tx *bolt.Tx) error {
	var names []string
	c := tx.Cursor()
	for k, _ := c.First(); k != nil && len(names) < 20; k, _ = c.Next() {
		names = append(names, strconv.Quote(string(k)))
	}
	if len(names) == 0 {
		return nil
	}
	return &driver.Error{Kind: driver.Invalid,
		Err:  fmt.Errorf("no bucket %q in a file that has %s", o.bucket, strings.Join(names, ", ")),
		Hint: "name the bucket to open: ?Bucket=NAME, or ?Bucket=OUTER/INNER for one within another"}
}

// Settings reads back what is in force, as far as commits do not change it.
func (s *store) Settings() []driver.Setting {
	s.gate.RLock()
	defer s.gate.RUnlock()
	o, db := *s.options, s.file.db
	o.bolt.FreelistType, o.bolt.MaxSize, o.bolt.Mlock = db.FreelistType, db.MaxSize, db.Mlock
	o.bolt.NoFreelistSync, o.bolt.NoGrowSync = db.NoFreelistSync, db.NoGrowSync
	o.bolt.InitialMmapSize, o.bolt.PageSize = s.file.mapped, s.file.pageSize
	return table.Settings(&o)
}
