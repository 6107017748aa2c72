// Package nullkv is the engine "null", which keeps nothing: writes succeed, every key is absent,
// every range empty.
//
// It shows what a measurement costs when the engine costs nothing. It takes every class, so that
// every measurement can be made of it, and names each as delivered; nothing of that is true, and it
// is never ranked. Any path will do, or none, and no file is touched.
package nullkv

import (
	"context"

	"github.com/assaydb/assay/kv/driver"
)

func init() { driver.Register(Driver{}) }

// Driver opens null stores. The zero value is ready to use.
type Driver struct{}

var caps = driver.Caps{
	PureGo: true,
	Modes:  []driver.Mode{driver.Exclusive, driver.Shared, driver.ReadOnly},
	Promises: [3]driver.Promise{
		driver.Synced:   {Supported: true, Class: driver.Synced, KillAtomic: true, PowerAtomic: true},
		driver.Flushed:  {Supported: true, Class: driver.Flushed, KillAtomic: true, PowerAtomic: true},
		driver.Buffered: {Supported: true, Class: driver.Buffered, KillAtomic: true, PowerAtomic: true},
	},
	SharedReading:   true,
	ConcurrentApply: true,
}

// Info describes the engine.
func (Driver) Info() driver.Info {
	return driver.Info{Name: "null", Summary: "keeps nothing: the cost of measuring, never ranked", Caps: caps}
}

// Open returns a store that keeps nothing, whatever c says.
func (Driver) Open(context.Context, driver.Config) (driver.Store, error) { return store{}, nil }
