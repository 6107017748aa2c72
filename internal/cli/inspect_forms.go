package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/detect"
	"github.com/assaydb/assay/stores/queue"
	"github.com/assaydb/assay/transfer"
)

// verbsOf are the verbs that show a store, by the scheme that names it in whatever keeps it.
var verbsOf = map[string][]string{"log": {"streams", "events", "subscriptions"}, "queue": {"queues", "jobs"}}

// inTables is the form of a store in tables of an SQLite file.
const inTables = "sql"

// kept returns the URL of the store that args, a store and a verb, are about. A log or queues in
// tables of an SQLite file are found by its path alone, and queue:PATH, as log:PATH, names them in
// keys and in tables.
func (f *inspectFlags) kept(ctx context.Context, args []string, rawURL string) (string, error) {
	verb := "stats"
	if len(args) > 1 {
		verb = args[1]
	}
	scheme, _, _ := strings.Cut(rawURL, ":")
	if scheme == "sqlite" && !isURL(args[0]) && !changes(verb) {
		path, err := kv.PathOf(rawURL)
		if err != nil {
			return "", err
		}
		for _, store := range []string{"log", "queue"} {
			if slices.Contains(verbsOf[store], verb) || !isStoreVerb(verb) {
				if hasTables(ctx, store, path) {
					rawURL, scheme = transfer.WithPath(store+":", path), store
					break
				}
			}
		}
	}
	if !slices.Contains(verbsOf[scheme], verb) {
		return rawURL, nil
	}
	return f.behind(ctx, scheme, rawURL)
}

// behind returns the URL of what keeps the log or queues that a URL of pairs names, and makes the
// prefix there the namespace. Of a log in tables it is the URL of pairs.
func (f *inspectFlags) behind(ctx context.Context, scheme, rawURL string) (string, error) {
	path, err := kv.PathOf(rawURL)
	if err != nil {
		return "", usageError{err}
	}
	_, query, _ := strings.Cut(rawURL, "?")
	params, err := url.ParseQuery(query)
	if err != nil {
		return "", usage(err, "write %s:PATH?form=FORM&prefix=KEY", scheme)
	}
	form := params.Get("form")
	if form == "" {
		found, err := detect.Path(path)
		if err != nil {
			return rawURL, nil // opening it says what is wrong
		}
		if form = found.Engine; form == "sqlite" && hasTables(ctx, scheme, path) {
			form = inTables
		}
	}
	switch {
	case form == inTables && scheme == "queue":
		return sqlQueue + path, nil
	case form == inTables:
		return rawURL, nil
	}
	if prefix := params.Get("prefix"); prefix != "" {
		if f.namespace != "" {
			return "", usage(errors.New("--namespace and prefix= are the same"), "leave one of both out")
		}
		f.namespace = strconv.Quote(prefix)
	}
	params.Del("form")
	params.Del("prefix")
	return transfer.WithPath(form+":?"+params.Encode(), path), nil
}

// changes reports whether a verb changes the store, or copies the whole file.
func changes(name string) bool {
	return slices.ContainsFunc(verbs(), func(v verb) bool { return v.name == name && (v.changes || name == "backup") })
}

// isStoreVerb reports whether a verb shows one kind of store.
func isStoreVerb(name string) bool {
	for _, all := range verbsOf {
		if slices.Contains(all, name) {
			return true
		}
	}
	return slices.Contains([]string{"collections", "records", "buckets", "entries"}, name)
}

// hasTables reports whether the SQLite file at path has the tables of a log or of queues.
func hasTables(ctx context.Context, scheme, path string) bool {
	db, err := transfer.OpenExisting(ctx, transfer.WithPath(scheme+":?form="+inTables, path), transfer.Look)
	return err == nil && db.Close() == nil
}

// pairsURL is storeURL for who copies or compares pairs. A log or queues in tables have no keys: it
// says by which URLs they have.
func pairsURL(ctx context.Context, name string) (string, error) {
	rawURL, err := storeURL(name)
	if err != nil || isURL(name) || !strings.HasPrefix(rawURL, "sqlite:") {
		return rawURL, err
	}
	path, err := kv.PathOf(rawURL)
	if err != nil {
		return "", err
	}
	for scheme, what := range map[string]string{"log": "an event log", "queue": "job queues"} {
		if hasTables(ctx, scheme, path) {
			return "", usage(fmt.Errorf("%s holds %s in tables", name, what),
				"as such it is %s:%s; the rows of all tables are sqltable:%s", scheme, path, path)
		}
	}
	return rawURL, nil
}

// storesIn tells which stores are kept in the pairs of db, and by which verbs they are shown.
func storesIn(ctx context.Context, db *kv.DB) (all []string, err error) {
	add := func(what, scheme string) { all = append(all, what+": "+strings.Join(verbsOf[scheme], ", ")) }
	switch db.Engine() {
	case "log":
		add("an event log", "log")
		return all, nil
	case "queue":
		add("job queues", "queue")
		return all, nil
	}
	if is, err := isState(ctx, db); is && err == nil {
		return []string{"a file of stores/state: buckets, entries"}, nil
	}
	if _, err := metaOfLog(ctx, db); err == nil {
		add("an event log", "log")
	}
	err = db.View(ctx, func(s *kv.Snapshot) error {
		list, err := readCollections(s)
		if len(list) > 0 {
			all = append(all, "records: collections, records")
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if hasQueues(ctx, db) {
		add("job queues", "queue")
	}
	return all, nil
}

// hasQueues reports whether the keys of db that may be those of queues are.
func hasQueues(ctx context.Context, db *kv.DB) bool {
	store, err := queue.New(db, nil)
	if err != nil {
		return false
	}
	defer func() { _ = store.Close() }() // nothing was written
	names, err := store.Queues(ctx)
	if err != nil || len(names) == 0 {
		return false
	}
	q, err := store.Queue(names[0], nil)
	if err == nil {
		_, err = q.Counts(ctx)
	}
	return err == nil
}
