package drivertest

import (
	"os"
	"slices"
	"strings"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

var errorCases = []tcase{
	{"an absent key is not found", findsNothing},
	{"an unknown option is invalid, and the hint lists the valid ones", refusesUnknownOption},
	{"a wrong value of an option is invalid, and nothing is created", refusesWrongValue},
	{"the options and capabilities are described", describes},
	{"a class that is not delivered is unsupported, one that is delivered is never less than asked",
		refusesUndelivered},
	{"a missing store opened read-only is missing, and nothing is created", refusesMissing},
}

func findsNothing(e *env) {
	db := e.open()
	e.fill(db, "a=1", "ab=2")
	e.view(db, func(s *kv.Snapshot) {
		for _, k := range []string{"\x00", "A", "aa", "a\x00", "abc", "b", "\xff"} {
			e.wantAbsent("in View", s, k)
		}
	})
	e.update(db, func(tx *kv.Tx) {
		e.set(tx, "-absent", "-a")
		e.wantAbsent("after Delete", tx.Snapshot, "a")
	})
	e.want(db, "ab=2")
}

func refusesUnknownOption(e *env) {
	_, err := kv.Open(ctx, e.url("db", "no_such_option=1"))
	e.wantKind("open", err, kv.Invalid)
	if kv.HintOf(err) == "" {
		e.Errorf("open: %v: no hint", err)
	}
	if _, err := os.Lstat(e.path("db")); err == nil {
		e.Errorf("open created the store")
	}
}

func refusesMissing(e *env) {
	e.needs(e.caps.Persistent && e.caps.Supports(kv.ReadOnly), "no read-only mode")
	_, err := kv.Open(ctx, e.url("no/such/db"), kv.WithMode(kv.ReadOnly))
	e.wantKind("open", err, kv.NoStore)
	entries, err := os.ReadDir(e.dir)
	e.must(err)
	if len(entries) != 0 {
		e.Errorf("open created %v", entries)
	}
}

func refusesWrongValue(e *env) {
	for _, o := range e.info.Options {
		if o.Values != "true|false" {
			continue
		}
		_, err := kv.Open(ctx, e.Engine+":"+e.path("db")+"?"+o.Name+"=perhaps")
		e.wantKind("open with "+o.Name+"=perhaps", err, kv.Invalid)
		if kv.HintOf(err) == "" {
			e.Errorf("%v: no hint", err)
		}
	}
	if _, err := os.Lstat(e.path("db")); err == nil {
		e.Errorf("open created the store")
	}
}

func describes(e *env) {
	info := e.info
	if info.Name != e.Engine || info.Summary == "" || len(info.Caps.Modes) == 0 {
		e.Errorf("name %q, summary %q, modes %v", info.Name, info.Summary, info.Caps.Modes)
	}
	if !slices.IsSortedFunc(info.Options, func(a, b driver.Option) int { return strings.Compare(a.Name, b.Name) }) {
		e.Errorf("the options are not sorted by name")
	}
	for i, o := range info.Options {
		if o.Name == "" || o.Values == "" || o.Usage == "" {
			e.Errorf("option %+v: something is empty", o)
		}
		if i > 0 && o.Name == info.Options[i-1].Name || slices.Contains([]string{"mode", "durability", "wait"},
			o.Name) {
			e.Errorf("option %s is taken", o.Name)
		}
	}
	for name := range info.Bulk {
		if !slices.ContainsFunc(info.Options, func(o driver.Option) bool { return o.Name == name }) {
			e.Errorf("Bulk names %s, which is none of the options", name)
		}
	}
	for _, class := range driver.Durabilities {
		if p := info.Caps.Promise(class); p.Supported && p.Class > class {
			e.Errorf("asked for %v, the engine delivers %v by default, which is less", class, p.Class)
		}
	}
}

func refusesUndelivered(e *env) {
	for _, weakest := range driver.Durabilities {
		db, err := kv.Open(ctx, e.url(weakest.String()), kv.WithWeakest(weakest))
		if kv.KindOf(err) == kv.Unsupported {
			continue
		}
		e.must(err)
		e.Cleanup(func() { db.Close() })
		var b kv.Batch
		b.Put([]byte("a"), []byte("1"))
		for _, class := range driver.Durabilities {
			what := "opened for " + weakest.String() + ", asked for " + class.String()
			p := db.Caps().Promise(class)
			if p.Supported {
				if p.Class > class {
					e.Errorf("%s: delivers %v", what, p.Class)
				}
				e.must(db.Write(ctx, class, &b))
				e.must(db.Update(ctx, class, func(tx *kv.Tx) error { return tx.Put([]byte("b"), []byte("2")) }))
				continue
			}
			e.wantKind(what+": write", db.Write(ctx, class, &b), kv.Unsupported)
			e.wantKind(what+": update", db.Update(ctx, class, func(*kv.Tx) error { return nil }), kv.Unsupported)
		}
		e.must(db.Close())
		for _, class := range driver.Durabilities {
			again, err := kv.Open(ctx, e.url(weakest.String()), kv.WithWeakest(weakest), kv.MustDeliver(class))
			if err == nil {
				e.must(again.Close())
			}
			if db.Caps().Promise(class).Supported {
				e.must(err)
			} else {
				e.wantKind("open, needing "+class.String(), err, kv.Unsupported)
			}
		}
	}
}
