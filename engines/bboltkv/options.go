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
	strictMode  bool
	bucket      string
	buckets     [][]byte // from the top to that one
}

var defaults = options{
	bolt:        bolt.Options{FreelistType: bolt.FreelistArrayType},
	allocSize:   16 << 20,
	fillPercent: bolt.DefaultFillPercent,
	bucket:      "kv",
}

// table is bbolt's Options and the settings of its DB and Bucket, under bbolt's names.
var table = driver.Table[options]{
	driver.Whole("AllocSize", "bytes", 1, "by how much the file grows once it is larger than this",
		func(o *options) *int { return &o.allocSize }),
	driver.Text("Bucket", "NAME or OUTER/INNER", "the bucket that holds the pairs; a file that has others must have it",
		func(o *options) *string { return &o.bucket }),
	driver.Number("FillPercent", "0.1 to 1", 0.1, 1, "how full a page is when it is split; 1 suits ascending keys",
		func(o *options) *float64 { return &o.fillPercent }),
	driver.OneWord("FreelistType", "how free pages are kept in memory; hashmap is faster on large fragmented files",
		func(o *options) *bolt.FreelistType { return &o.bolt.FreelistType }, bolt.FreelistArrayType, bolt.FreelistMapType),
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
	driver.Bool("NoStatistics", "do not count operations", func(o *options) *bool { return &o.bolt.NoStatistics }),
	driver.Bool("NoSync", "never sync: every class is delivered as flushed, synced is refused",
		func(o *options) *bool { return &o.bolt.NoSync }),
	driver.OneOf("PageSize", "page size of a new file", func(o *options) *int { return &o.bolt.PageSize },
		driver.Named[int]{Name: "1024", Value: 1024}, driver.Named[int]{Name: "2048", Value: 2048},
		driver.Named[int]{Name: "4096", Value: 4096}, driver.Named[int]{Name: "8192", Value: 8192},
		driver.Named[int]{Name: "16384", Value: 16384}, driver.Named[int]{Name: "32768", Value: 32768},
		driver.Named[int]{Name: "65536", Value: 65536}).WithDefault("the operating system's"),
	driver.Bool("PreLoadFreelist", "load the free pages when opening read-only; otherwise they always are",
		func(o *options) *bool { return &o.bolt.PreLoadFreelist }),
	driver.Bool("StrictMode", "check the whole file after every commit (very slow)",
		func(o *options) *bool { return &o.strictMode }),
}

// options returns those of c, or of d where c does not say.
func (d Driver) options(c driver.Config) (*options, error) {
	o := defaults
	if d.typed != nil {
		o = *d.typed
	}
	if err := table.Read(c.Params, &o); err != nil {
		return nil, err
	}
	switch {
	case o.bolt.Mlock && runtime.GOOS == "windows":
		return nil, &driver.Error{Kind: driver.Unsupported, Err: errors.New("option Mlock needs a Unix system")}
	case o.bucket == "":
		return nil, &driver.Error{Kind: driver.Invalid, Err: errors.New("option Bucket is empty"), Hint: "name a bucket"}
	}
	o.bolt.Timeout = time.Nanosecond // bbolt: 0 waits forever, anything below 50 ms tries once
	o.bolt.ReadOnly = c.Mode == driver.ReadOnly
	for name := range strings.SplitSeq(o.bucket, "/") {
		o.buckets = append(o.buckets, []byte(name))
	}
	return &o, nil
}

// find returns the store's bucket, nil if there is none.
func (o *options) find(tx *bolt.Tx) *bolt.Bucket {
	b := tx.Bucket(o.buckets[0])
	for _, name := range o.buckets[1:] {
		if b == nil {
			return nil
		}
		b = b.Bucket(name)
	}
	return b
}

// refuseOthers is for a file without the store's bucket: it returns Invalid if there are others, which another program
// made. A file without any is a new store.
func (o *options) refuseOthers(tx *bolt.Tx) error {
	var names []string
	err := tx.ForEach(func(name []byte, _ *bolt.Bucket) error {
		names = append(names, strconv.Quote(string(name)))
		return nil
	})
	if err != nil || len(names) == 0 {
		return err
	}
	if n := len(names); n > 10 {
		names = append(names[:10], fmt.Sprintf("%d more", n-10))
	}
	return &driver.Error{Kind: driver.Invalid, Err: fmt.Errorf("no bucket %q in this file, which has %s", o.bucket, strings.Join(names, ", ")),
		Hint: "name the one to open, ?Bucket=NAME, or ?Bucket=OUTER/INNER for one within another; or name another file"}
}

// Settings reads back what is in force, as far as commits do not change it.
func (s *store) Settings() []driver.Setting {
	s.gate.RLock()
	defer s.gate.RUnlock()
	o, db := *s.options, s.file.db
	o.bolt.FreelistType, o.bolt.InitialMmapSize, o.bolt.MaxSize = db.FreelistType, s.file.mapped, db.MaxSize
	o.bolt.Mlock, o.bolt.NoFreelistSync, o.bolt.NoGrowSync = db.Mlock, db.NoFreelistSync, db.NoGrowSync
	o.bolt.PreLoadFreelist, o.bolt.PageSize, o.strictMode = db.PreLoadFreelist, s.file.pageSize, db.StrictMode
	return table.Settings(&o)
}
