// Package memkv is the reference engine: an ordered map in memory, registered as "mem".
//
// It is the model that other engines are compared with, and what tests of programs use. Nothing outlives Close, so
// that it delivers Buffered alone. Every open store is a map of its own; the path in its URL is only a name:
//
//	db, err := kv.Open(ctx, "mem:", kv.WithWeakest(kv.Buffered))
//
// Readers and writers never wait for each other.
package memkv

import (
	"context"

	"github.com/assaydb/assay/kv/driver"
)

func init() { driver.Register(memDriver{}) }

type memDriver struct{}

var _ driver.Driver = memDriver{}

var caps = driver.Caps{
	PureGo:   true,
	Modes:    []driver.Mode{driver.Exclusive},
	Promises: [3]driver.Promise{driver.Buffered: {Supported: true, Class: driver.Buffered, KillAtomic: true, PowerAtomic: true}},
	Checks:   true,
}

func (memDriver) Info() driver.Info {
	return driver.Info{
		Name:    "mem",
		Summary: "ordered map in memory, nothing on disk",
		Caps:    caps,
	}
}

// Open returns a new, empty store, whatever the path.
func (memDriver) Open(context.Context, driver.Config) (driver.Store, error) { return new(store), nil }
