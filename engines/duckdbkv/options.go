package duckdbkv

import (
	"net/url"

	"github.com/assaydb/assay/kv/driver"
)

// Options are DuckDB's configuration options. The zero value of each is DuckDB's default.
type Options struct {
	CheckpointThreshold string // size of the log, with a unit, at which a commit writes it into the database
	MemoryLimit         string // most memory that DuckDB takes, with a unit
	Threads             int    // that share a query
}

var table = driver.Table[Options]{
	driver.Text("checkpoint_threshold", "size with a unit", "size of the log at which a commit writes it into the database",
		func(o *Options) *string { return &o.CheckpointThreshold }).WithDefault("16MB"),
	driver.Text("memory_limit", "size with a unit", "most memory that DuckDB takes",
		func(o *Options) *string { return &o.MemoryLimit }).WithDefault("80% of the machine's"),
	driver.Whole("threads", "number", 1, "threads that share a query",
		func(o *Options) *int { return &o.Threads }).WithDefault("one for each CPU"),
}

// given returns the options in o that are not left to DuckDB, under its names for them.
func (o *Options) given() map[string]string {
	var none Options
	m := map[string]string{}
	for _, f := range table {
		if v := f.Get(o); v != f.Get(&none) {
			m[f.Name] = v
		}
	}
	return m
}

// config returns DuckDB's configuration. Extensions are never downloaded.
func (o *Options) config() url.Values {
	config := url.Values{"autoinstall_known_extensions": {"false"}, "autoload_known_extensions": {"false"}}
	for name, v := range o.given() {
		config.Set(name, v)
	}
	return config
}
