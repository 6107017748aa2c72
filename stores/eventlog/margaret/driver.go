package margaret

import (
	"context"
	"errors"

	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/stores/eventlog/feed"
)

func init() { driver.Register(Driver{}) }

// Driver makes a log known to kv under the name "margaret", so that a tool that works with URLs can
// open, check and measure one. A log is no key-value store: whatever reads or writes keys is
// Unsupported.
type Driver struct{}

var _ driver.Driver = Driver{}

// Info describes the format.
func (Driver) Info() driver.Info {
	return driver.Info{
		Name:    engine,
		Summary: "append-only log of messages in Margaret's format offset2: no keys, for the workload feed alone",
		Caps: driver.Caps{
			PureGo: true, Persistent: true, Folder: true, Modes: []driver.Mode{driver.Exclusive, driver.ReadOnly},
			SharedReading: true, Promises: Promises, Checks: true,
		},
	}
}

// Open opens the log in the folder at c.Path.
func (d Driver) Open(ctx context.Context, c driver.Config) (driver.Store, error) {
	_, s, err := d.OpenFeed(ctx, c)
	return s, err
}

// OpenFeed is Open for programs that know the engine by its name alone and want its messages: the
// feed reads and writes what the store checks and closes.
func (Driver) OpenFeed(ctx context.Context, c driver.Config) (*feed.Feed, driver.Store, error) {
	log, err := Open(ctx, c.Path, &Options{Wait: NoWait, ReadOnly: c.Mode == driver.ReadOnly})
	if err != nil {
		return nil, nil, err
	}
	if r := log.Repaired(); r != (Repair{}) {
		c.Logger.Warn("margaret: the end of the log was repaired", "folder", c.Path, "repair", r.String())
	}
	return log.Feed, store{log}, nil
}

// store is a log as far as it can do what a store does.
type store struct{ log *Log }

var _ driver.Store = store{}

func (s store) Caps() driver.Caps { return Driver{}.Info().Caps }
func (s store) Settings() []driver.Setting {
	return []driver.Setting{{Name: "format", Value: "offset2"}}
}
func (s store) Files() ([]string, error) { return []string{s.log.b.dir}, nil }
func (s store) Close() error             { return s.log.Close() }

func (s store) Check(ctx context.Context) error { return s.log.Check(ctx) }
func (s store) Compact(context.Context) error   { return nil }

func (s store) Snapshot(context.Context) (driver.Reader, error)              { return nil, errNoKeys() }
func (s store) Begin(context.Context, driver.Durability) (driver.Txn, error) { return nil, errNoKeys() }
func (s store) Apply(context.Context, []driver.Op, driver.Durability) error  { return errNoKeys() }
func (s store) Backup(context.Context, string) error                         { return errNoKeys() }

func errNoKeys() error {
	return &driver.Error{Kind: driver.Unsupported, Err: errors.New("a log of messages has no keys"),
		Hint: "use another engine, or the workload feed"}
}
