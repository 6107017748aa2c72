package duckdbkv

import (
	"net/url"
	"strconv"

	"github.com/assaydb/assay/kv/driver"
)

// options are DuckDB's configuration options under their own names.
var options = []driver.Option{
	{Name: "checkpoint_threshold", Values: "size with a unit", Default: "16MB", Usage: "size of the log at which a commit writes it into the database"},
	{Name: "memory_limit", Values: "size with a unit", Default: "80% of the machine's", Usage: "most memory that DuckDB takes"},
	{Name: "threads", Values: "number", Default: "one for each CPU", Usage: "threads that share a query"},
}

// parse returns DuckDB's configuration. Extensions are never downloaded.
func parse(params map[string]string) (url.Values, error) {
	p := driver.NewParams(params)
	config := url.Values{"autoinstall_known_extensions": {"false"}, "autoload_known_extensions": {"false"}}
	if n := p.Int("threads", 0, 1); n > 0 {
		config.Set("threads", strconv.FormatInt(n, 10))
	}
	for _, name := range []string{"checkpoint_threshold", "memory_limit"} {
		if p.Has(name) {
			config.Set(name, p.String(name, ""))
		}
	}
	return config, p.Err()
}
