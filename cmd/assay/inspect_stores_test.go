package main

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/queue"
	"github.com/assaydb/assay/stores/record"
)

func TestInspectShowsStoresAsWhatTheyAre(t *testing.T) {
	type user struct {
		ID    uint64
		Name  string
		Email string
	}
	for _, engine := range some("bbolt", "pebble", "badger", "bunt", "leveldb", "sqlite") {
		t.Run(engine, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "store")
			url := engine + ":" + filepath.ToSlash(path)
			db, err := kv.Open(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			l, err := eventlog.Open(t.Context(), db.Namespace([]byte("log/")), &eventlog.Options{Streams: true})
			if err != nil {
				t.Fatal(err)
			}
			_, err = l.Append(t.Context(), kv.Synced, "order-1", eventlog.Any,
				eventlog.Draft{Type: "Placed", Data: []byte(`{"n":1}`)},
				eventlog.Draft{Type: "Paid", Data: []byte{0xff}})
			if err == nil {
				_, err = l.Append(t.Context(), kv.Synced, "order-2", eventlog.Any, eventlog.Draft{Type: "Placed"})
			}
			if err != nil {
				t.Fatal(err)
			}
			sub, err := l.Subscribe(t.Context(), "mailer")
			if err == nil {
				err = sub.Ack(t.Context(), kv.Synced, 2)
			}
			if err != nil {
				t.Fatal(err)
			}
			users, err := record.Open[user](t.Context(), db, &record.Options{Name: "users",
				Indexes: []record.Index{{Name: "Email", Fields: []string{"Email"}, Unique: true}}})
			if err != nil {
				t.Fatal(err)
			}
			err = users.PutAll(t.Context(), kv.Synced, []user{{1, "ann", "a@x"}, {2, "bob", "b@x"}})
			if err != nil {
				t.Fatal(err)
			}
			jobs, err := queue.New(db.Namespace([]byte("jobs/")), nil)
			if err != nil {
				t.Fatal(err)
			}
			mail, err := jobs.Queue("mail", nil)
			if err == nil {
				_, err = mail.Publish(t.Context(), kv.Synced, queue.Draft{Payload: []byte("hello")})
			}
			if err := errors.Join(err, jobs.Close(), l.Close(), db.Close()); err != nil {
				t.Fatal(err)
			}
			before := contents(t, path)
			for _, c := range []struct {
				args   []string
				status int
				want   []string
			}{
				{[]string{"streams", "--namespace", "log/"}, 0,
					[]string{"\"order-1\"", "\"order-2\"", "last position of the log", "3"}},
				{[]string{"streams", "order-2", "--namespace", "log/", "--json"}, 0,
					[]string{`"last_position": 3`, `"stream": "order-2"`, `"version": 1`}},
				{[]string{"events", "--namespace", "log/"}, 0, []string{`"Placed"`, `"Paid"`, `"{\"n\":1}"`}},
				{[]string{"events", "order-1", "--from", "2", "--namespace", "log/", "--json"}, 0,
					[]string{`"type":"Paid"`, `"data_base64":"/w=="`}},
				{[]string{"events", "--reverse", "--limit", "1", "--namespace", "log/", "--json"}, 0,
					[]string{`"position":3`}},
				{[]string{"events", "--from", "x", "--namespace", "log/"}, 2, []string{"no position"}},
				{[]string{"subscriptions", "--namespace", "log/"}, 0, []string{`"mailer"`, "2", "1"}},
				{[]string{"collections"}, 0, []string{`"users"`, "records", "2", "field Name", "string", "the id",
					"index Email", "unique"}},
				{[]string{"collections", "--json"}, 0, []string{`"name": "users"`, `"records": 2`}},
				{[]string{"streams"}, 1, []string{"no event log there", "--namespace"}},
				{[]string{"queues", "--namespace", "jobs/"}, 0, []string{"mail", "1"}},
				{[]string{"jobs", "mail", "--namespace", "jobs/"}, 0, []string{`"hello"`}},
			} {
				status, stdout, stderr := inspect(t, append([]string{url}, c.args...)...)
				for _, want := range c.want {
					if status != c.status || !strings.Contains(stdout+stderr, want) {
						t.Errorf("%v: status %d, %s%s; want %d with %s", c.args, status, stdout, stderr, c.status, want)
					}
				}
			}
			after := contents(t, path)
			for name, data := range before {
				if after[name] != data {
					t.Errorf("%s was changed by looking at it: %d bytes before, %d after", name, len(data),
						len(after[name]))
				}
			}
		})
	}
}
