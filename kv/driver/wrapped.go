package driver

import (
	"context"
	"path/filepath"
)

// Wrapped is the driver of a database that a program has opened itself: what a package's Wrap gives
// to kv.
type Wrapped struct {
	Driver
	Path  string               // where the database lies; "" if the engine does not tell, and then it has no size
	Store func(c Config) Store // returns a store of it, whose Close leaves it open
}

// Info is that of the driver, but that a store without a path wants none.
func (w Wrapped) Info() Info {
	info := w.Driver.Info()
	info.Caps.Persistent = info.Caps.Persistent && w.Path != ""
	return info
}

// Open returns the store of the program's database, or, elsewhere, one of the driver's own, as for
// a backup.
func (w Wrapped) Open(ctx context.Context, c Config) (Store, error) {
	if own, err := filepath.Abs(w.Path); c.Path != "" && (err != nil || c.Path != own) {
		return w.Driver.Open(ctx, c)
	}
	return w.Store(c), nil
}
