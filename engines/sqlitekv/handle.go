package sqlitekv

import (
	"context"

	"github.com/assaydb/assay/engines/internal/sqlite"
	"github.com/assaydb/assay/kv"
)

// Options are SQLite's settings, and the table that holds the pairs. The zero value is the default of each.
type Options = sqlite.Options

// Open opens or creates the database at path; nil options are the defaults. It is kv.Open with Go's types in place of a
// URL.
//
// A program may open the same path by modernc.org/sqlite as well, in this process or another, and use SQL: each sees
// the other's commits, and the locks are SQLite's. In this process it must be that package and no other build of
// SQLite. It must not change the journal mode, nor the columns k and v of the table kv, while the store is open.
func Open(ctx context.Context, path string, o *Options, options ...kv.Option) (*kv.DB, error) {
	return library.OpenKV(ctx, path, o, options...)
}
