package mosskv

import (
	"github.com/couchbase/moss"

	"github.com/assaydb/assay/kv/driver"
)

func defaults() moss.StoreOptions {
	o := moss.DefaultStoreOptions
	o.CollectionOptions = moss.DefaultCollectionOptions
	return o
}

var table = driver.Table[moss.StoreOptions]{
	driver.Number("CompactionPercentage", "0..1", 0, 1, "share of stale data above which the file is written anew",
		func(o *moss.StoreOptions) *float64 { return &o.CompactionPercentage }),
	driver.Whole("CompactionLevelMaxSegments", "segments", 1, "segments in a level before they are merged",
		func(o *moss.StoreOptions) *int { return &o.CompactionLevelMaxSegments }),
	driver.Whole("CompactionLevelMultiplier", "times", 1, "how much larger each level is",
		func(o *moss.StoreOptions) *int { return &o.CompactionLevelMultiplier }),
	driver.Number("MinMergePercentage", "0..1", 0, 1,
		"size of a segment in memory, relative to the next, from which it is merged",
		func(o *moss.StoreOptions) *float64 { return &o.CollectionOptions.MinMergePercentage }),
	driver.Whole("MaxPreMergerBatches", "commits", 1, "commits that wait for the merger before a commit waits",
		func(o *moss.StoreOptions) *int { return &o.CollectionOptions.MaxPreMergerBatches }),
	driver.Bool("DeferredSort", "sort a commit when it is read",
		func(o *moss.StoreOptions) *bool { return &o.CollectionOptions.DeferredSort }),
}
