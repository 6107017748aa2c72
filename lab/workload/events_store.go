package workload

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/eventlog/sqllog"
)

// eventStore keeps the log, in one of the forms.
type eventStore interface {
	// create lets load fill a new log, and opens it again, timed.
	create(ctx context.Context, load func(*eventlog.Log) error) (*eventlog.Log, error)

	Describe() Description
	Size() (kv.Size, error)
	Compact(ctx context.Context) error
	Close() error // after the log was closed
}

var (
	_ eventStore = (*kvEvents)(nil)
	_ eventStore = (*sqlEvents)(nil)
)

// newEventStore returns what keeps the log in the form of env, of which "" is kv. Indexes are for
// the form sql alone.
func newEventStore(env Env, options sqllog.Options) (eventStore, error) {
	switch {
	case env.Form == "kv" || env.Form == "":
		return &kvEvents{kvStore: newKVStore(env), options: options.Options}, nil
	case env.Form == "sql" && hasTables(env.Engine):
		return newSQLEvents(env, options)
	}
	return nil, &kv.Error{Op: "workload", Engine: env.Engine, Kind: kv.Invalid, Err: fmt.Errorf("form %q", env.Form),
		Hint: "use " + strings.Join(eventForms(env.Engine, env.Options), " or ")}
}

// kvEvents keeps an event log in an engine of kv.
type kvEvents struct {
	kvStore
	options eventlog.Options
}

func (s *kvEvents) create(ctx context.Context, load func(*eventlog.Log) error) (*eventlog.Log, error) {
	err := s.kvStore.create(ctx, func(db *kv.DB) error {
		log, err := eventlog.Open(ctx, db, &s.options)
		if err != nil {
			return err
		}
		return errors.Join(load(log), log.Close())
	})
	if err != nil {
		return nil, err
	}
	return eventlog.Open(ctx, s.db, &s.options)
}
