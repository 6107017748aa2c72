package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/eventlog/sqllog"
	"github.com/assaydb/assay/stores/queue"
	"github.com/assaydb/assay/stores/queue/sqlqueue"
	"github.com/assaydb/assay/stores/record"
	"github.com/assaydb/assay/stores/state"
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
				{[]string{"records", "users"}, 0, []string{"{\"ID\":1,\"Name\":\"ann\",\"Email\":\"a@x\"}\n{\"ID\":2"}},
				{[]string{"records", "users", "--reverse", "--limit", "1"}, 0, []string{`{"ID":2,`, "--limit"}},
				{[]string{"records", "none"}, 1, []string{`no collection "none" there`}},
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

// TestInspectShowsStoresInTables shows a log and queues in the tables of an SQLite file by its path
// alone, and by the URLs that name them in whatever keeps them. What is in keys is shown by these
// as well.
func TestInspectShowsStoresInTables(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.ToSlash(filepath.Join(dir, name)) }
	fill := func(l *eventlog.Log) {
		t.Helper()
		for i, stream := range []string{"order-2", "order-1", "order-1", "other"} {
			d := eventlog.Draft{Type: "Placed", Data: fmt.Appendf(nil, "event %d", i+1), ID: fmt.Sprint("id-", i)}
			if _, err := l.Append(t.Context(), kv.Synced, stream, eventlog.Any, d); err != nil {
				t.Fatal(err)
			}
		}
		sub, err := l.Subscribe(t.Context(), "mailer")
		if err == nil {
			err = sub.Ack(t.Context(), kv.Synced, 3)
		}
		if err := errors.Join(err, l.Close()); err != nil {
			t.Fatal(err)
		}
	}
	options := eventlog.Options{Streams: true}
	l, err := sqllog.Open(t.Context(), path("events.db"), &sqllog.Options{Options: options})
	if err != nil {
		t.Fatal(err)
	}
	fill(l)
	db, err := kv.Open(t.Context(), "bbolt:"+path("keys.db"))
	if err == nil {
		l, err = eventlog.Open(t.Context(), db.Namespace([]byte("log/")), &options)
	}
	if err != nil {
		t.Fatal(err)
	}
	fill(l)
	jobs, err := sqlqueue.Open(t.Context(), path("jobs.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	inKeys, err := queue.New(db.Namespace([]byte("jobs/")), nil)
	for _, store := range []*queue.Store{jobs, inKeys} {
		var mail *queue.Queue
		if err == nil {
			mail, err = store.Queue("mail", nil)
		}
		if err == nil {
			_, err = mail.Publish(t.Context(), kv.Synced, queue.Draft{Payload: []byte("hello")})
		}
	}
	if err := errors.Join(err, jobs.Close(), inKeys.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
	before := contents(t, dir)
	log, keys := path("events.db"), "log:"+path("keys.db")+"?prefix=log/"
	for _, c := range []struct {
		args   []string
		status int
		want   []string
		not    string
	}{
		{[]string{log}, 0, []string{"an event log: streams, events, subscriptions"}, ""},
		{[]string{log, "streams"}, 0, []string{"\"order-1\"", "2\n\"order-2\"", "last position of the log", "4\n"}, ""},
		{[]string{log, "streams", "order-", "--json"}, 0, []string{`"last_position": 4`, `"version": 2`}, "other"},
		{[]string{log, "streams", "--limit", "1"}, 0, []string{"\"order-1\"", "--limit"}, "order-2"},
		{[]string{"log:" + log, "events"}, 0, []string{`"event 1"`, `"event 4"`}, ""},
		{[]string{log, "events", "order-1", "--from", "2"}, 0, []string{`"event 3"`}, "event 2"},
		{[]string{log, "events", "--reverse", "--limit", "1", "--json"}, 0,
			[]string{`"position":4`, `"id":"id-3"`}, "event 3"},
		{[]string{log, "events", "--reverse", "--from", "3"}, 0, []string{`"event 4"`, `"event 3"`}, "event 2"},
		{[]string{log, "subscriptions", "--json"}, 0, []string{`"mailer"`, `"position": 3`, `"behind": 1`}, ""},
		{[]string{log, "check"}, 0, []string{"no fault"}, ""},
		{[]string{log, "queues"}, 2, []string{"sqltable"}, ""},
		{[]string{keys, "streams"}, 0, []string{"\"order-1\"", "4\n"}, ""},
		{[]string{keys, "events", "--reverse", "--limit", "1"}, 0, []string{`"event 4"`}, "event 3"},
		{[]string{"queue:" + path("keys.db") + "?prefix=jobs/&wait=1s", "queues"}, 0, []string{"mail   1"}, ""},
		{[]string{"queue:" + path("keys.db") + "?prefix=jobs/", "jobs", "mail"}, 0, []string{`"hello"`}, ""},
		{[]string{"queue:" + path("keys.db") + "?prefix=jobs/", "queues", "--namespace", "x"}, 2, []string{"leave one"}, ""},
		{[]string{path("jobs.db")}, 0, []string{"job queues: queues, jobs"}, ""},
		{[]string{path("jobs.db"), "queues"}, 0, []string{"mail   1"}, ""},
		{[]string{path("jobs.db"), "jobs", "mail"}, 0, []string{`"hello"`}, ""},
		{[]string{"queue:" + path("jobs.db"), "jobs", "mail"}, 0, []string{`"hello"`}, ""},
	} {
		status, stdout, stderr := inspect(t, c.args...)
		for _, want := range c.want {
			if status != c.status || !strings.Contains(stdout+stderr, want) {
				t.Errorf("%v: status %d, %s%s; want %d with %s", c.args, status, stdout, stderr, c.status, want)
			}
		}
		if c.not != "" && strings.Contains(stdout, c.not) {
			t.Errorf("%v: %s, want no %s", c.args, stdout, c.not)
		}
	}
	for from, hint := range map[string]string{log: "log:", path("jobs.db"): "queue:"} { // whoever copies is told how
		status, stdout, stderr := runAssay(t, "copy", from, "pebble:"+path("data"))
		if status != 2 || !strings.Contains(stderr, "as such it is "+hint+from) {
			t.Errorf("a copy of %s: status %d, %s%s", from, status, stdout, stderr)
		}
	}
	after := contents(t, dir)
	for name, data := range before {
		base := filepath.Base(name) // docs/moving.md has both exceptions: queues are opened as a program does
		if after[name] != data && base != "jobs.db" && !strings.HasSuffix(base, "-shm") {
			t.Errorf("%s was changed by looking at it: %d bytes before, %d after", name, len(data), len(after[name]))
		}
	}
}

// TestStatsNameTheStoresInAStore: who looks at a store that nobody told of learns what is in it.
func TestStatsNameTheStoresInAStore(t *testing.T) {
	type user struct {
		ID   uint64
		Name string
	}
	url := "bbolt:" + filepath.ToSlash(filepath.Join(t.TempDir(), "store"))
	db, err := kv.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	l, err := eventlog.Open(t.Context(), db.Namespace([]byte("log/")), nil)
	if err == nil {
		_, err = l.Append(t.Context(), kv.Synced, "", eventlog.Any, eventlog.Draft{Type: "Placed"})
	}
	if err != nil {
		t.Fatal(err)
	}
	users, err := record.Open[user](t.Context(), db, &record.Options{Name: "users"})
	if err == nil {
		err = users.PutAll(t.Context(), kv.Synced, []user{{1, "ann"}})
	}
	for i := range 20 { // which begin as collections do, and are none
		err = errors.Join(err, db.Put(t.Context(), kv.Synced, fmt.Appendf(nil, "customer/%d", i), []byte("x")))
	}
	if err == nil {
		err = db.Put(t.Context(), kv.Synced, []byte("quote/\x00\x01"), []byte("x")) // as one of a queue, and is none
	}
	if err := errors.Join(err, l.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
		not  string
	}{
		{nil, "records: collections, records", "job queues"},
		{[]string{"--json"}, `"records: collections, records"`, "event log"},
		{[]string{"records", "users"}, `{"ID":1,"Name":"ann"}`, "bob"},
		{[]string{"--namespace", "log/"}, "an event log: streams, events, subscriptions", "records:"},
		{[]string{"--namespace", "none/"}, "pairs", "holds"},
	} {
		status, stdout, stderr := inspect(t, append([]string{url}, c.args...)...)
		if status != 0 || !strings.Contains(stdout, c.want) || strings.Contains(stdout, c.not) {
			t.Errorf("%v: status %d, %s%s; want %s, and no %s", c.args, status, stdout, stderr, c.want, c.not)
		}
	}
}

// TestInspectShowsAState shows the entries of a file of stores/state without their headers, and
// which of them are damaged.
func TestInspectShowsAState(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tool")
	store, err := state.New("bbolt:"+filepath.ToSlash(dir),
		&state.Options{Buckets: []state.Bucket{{Name: "sessions"}, {Name: "seen"}}})
	for key, value := range map[string]string{"one": "first", "two": "second"} {
		if err == nil {
			err = store.Put(t.Context(), "sessions", []byte(key), []byte(value))
		}
	}
	if err == nil {
		err = store.Put(t.Context(), "seen", []byte{0xff}, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	url := "bbolt:" + filepath.ToSlash(filepath.Join(dir, "state.db"))
	show := func(status int, want, not string, args ...string) {
		t.Helper()
		got, stdout, stderr := inspect(t, append([]string{url}, args...)...)
		if got != status || !strings.Contains(stdout+stderr, want) || not != "" && strings.Contains(stdout, not) {
			t.Errorf("%v: status %d, %s%s; want %d with %s, and no %q", args, got, stdout, stderr, status, want, not)
		}
	}
	show(0, "a file of stores/state: buckets, entries", "event log")
	show(0, "\"sessions\"  2        17", "", "buckets")
	show(0, `"bucket": "seen"`, "", "buckets", "--json")
	show(0, `"first"`, "DAMAGED", "entries", "sessions")
	show(0, `"second"`, "first", "entries", "sessions", "tw")
	show(0, `"key_base64":"/w=="`, "", "entries", "seen", "--json")
	show(0, "may be more", "second", "entries", "sessions", "--limit", "1")
	show(0, "written", "first", "entries", "none")
	db, err := kv.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	key := append(kv.AppendString(nil, "sessions"), "one"...)
	value, err := db.Get(t.Context(), key)
	if err == nil {
		value[len(value)-1] ^= 1
		err = db.Put(t.Context(), kv.Synced, key, value)
	}
	if err := errors.Join(err, db.Put(t.Context(), kv.Synced, []byte("other"), nil), db.Close()); err != nil {
		t.Fatal(err)
	}
	show(0, "DAMAGED", "", "entries", "sessions", "one")
	show(0, `"damaged": 1`, "", "buckets", "--json")
	url = strings.TrimSuffix(url, "state.db") + "none.db"
	show(1, "name a store that exists", "", "buckets")
}
