package eventlog_test

import (
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/powertest"
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/eventlog/logtest"
)

// TestARetryIsAsDurableAsItAsks appends an event again by its id, with a stronger class than
// before, and cuts the power: what the second append acknowledged as synced is there, though that
// one wrote no event.
func TestARetryIsAsDurableAsItAsks(t *testing.T) {
	event := eventlog.Draft{Type: "T", ID: "id"}
	again := map[string]func(t *testing.T, log *eventlog.Log) error{
		"an append": func(t *testing.T, log *eventlog.Log) error {
			_, err := log.Append(t.Context(), kv.Synced, "s", eventlog.Any, event)
			return err
		},
		"an append of parts": func(t *testing.T, log *eventlog.Log) error {
			_, err := log.AppendParts(t.Context(), kv.Synced, eventlog.Part{Stream: "s", Events: []eventlog.Draft{event}})
			return err
		},
		"a transaction": func(t *testing.T, log *eventlog.Log) error {
			join := logtest.OnKV(t, "mem", "").Join
			return join(t.Context(), log, kv.Synced, func(tx *eventlog.Tx) error {
				_, err := tx.Append("s", eventlog.Any, event)
				return err
			})
		},
	}
	for name, open := range map[string]func(string, eventlog.Options) (*eventlog.Log, func() error, error){
		"bbolt": openKV("bbolt"), "pebble": openKV("pebble"), "sqlite": openKV("sqlite"), "sqllog": openSQL} {
		for how, again := range again {
			if name == "sqllog" && how == "a transaction" {
				continue // its transactions are the program's
			}
			t.Run(name+"/"+how, func(t *testing.T) {
				disk := powertest.NewDisk(t, nil)
				log, closeAll, err := open(disk.Dir(), eventlog.Options{Streams: true})
				if err != nil {
					t.Fatal(err)
				}
				_, err = log.Append(t.Context(), kv.Buffered, "s", eventlog.Any, event)
				if err == nil {
					err = again(t, log)
				}
				left := disk.Cut(t)
				if err != nil || closeAll() != nil {
					t.Fatal(err)
				}
				if log, closeAll, err = open(left, eventlog.Options{Streams: true}); err != nil {
					t.Fatal(err)
				}
				events, err := log.Load(t.Context(), eventlog.Range{})
				if err != nil || len(events) != 1 || closeAll() != nil {
					t.Errorf("after the power cut there are %d events, %v; one was acknowledged as synced", len(events), err)
				}
			})
		}
	}
}
