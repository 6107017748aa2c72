// Package drivertest is the conformance suite of kv's engines: what a driver must do, as tests.
//
// An engine's test is one call:
//
//	func TestConformance(t *testing.T) { drivertest.Run(t, drivertest.Config{Engine: "bbolt"}) }
//
// Every case is named by the sentence that it proves and gets a fresh store. A case is skipped only
// for a capability that the engine declares, and says so; under -short, other forms of an engine
// than its default have the cases alone that do a bit of everything. A case that fails says below
// what went wrong which sentence does not hold, what was done, and where to read about it. Cases
// that need a second process run the test binary again, with Run in the part of the child: nothing
// else in the engine's package has to know.
package drivertest

import (
	"context"
	"testing"

	"pgregory.net/rapid"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

// Config says which stores to test.
type Config struct {
	Engine string // the registered name
	Params string // parameters of every URL, "journal_mode=DELETE&cache_size=100"; may be empty
	Short  Cases  // which cases are tried under -short
}

// Cases are those of the suite that are tried under -short.
type Cases int

const (
	Usual Cases = iota // all of an engine's default form, and the general ones of other forms
	All
	General // those that do a bit of everything
)

// Run tests the engine. Call it at most once in a test or subtest.
func Run(t *testing.T, c Config) {
	runChild()
	s := newSuite(t, c)
	brief := testing.Short() && (c.Short == General || c.Short == Usual && c.Params != "")
	if brief {
		t.Logf("with %q the other cases are tried without -short", c.Params)
	}
	for _, th := range themes {
		for _, cs := range th.cases {
			if !brief || th.general {
				t.Run(cs.name, func(t *testing.T) { s.run(t, cs) })
			}
		}
	}
}

// tcase is a case: a sentence, and the function that proves it.
type tcase struct {
	name string
	run  func(e *env)
}

// T is what a case needs of a test. The suite's own tests give it one that records failures.
type T interface {
	rapid.TB
	TempDir() string
	Cleanup(func())
}

// suite is what the cases of one Run share.
type suite struct {
	Config
	test    string // name of the test that called Run
	info    driver.Info
	caps    kv.Caps         // of a store opened with Weakest(class)
	class   kv.Durability   // the cheapest class, for cases that are not about durability
	classes []kv.Durability // all classes that the engine delivers as such, opened with Weakest of the class
}

func newSuite(t T, c Config) *suite {
	d, ok := driver.Lookup(c.Engine)
	if !ok {
		t.Fatalf("no engine %q: import its package in the test", c.Engine)
	}
	s := &suite{Config: c, test: t.Name(), info: d.Info()}
	for _, class := range driver.Durabilities {
		e := &env{T: t, suite: s, dir: t.TempDir()}
		db, err := kv.Open(context.Background(), e.url("db"), kv.WithWeakest(class))
		if kv.KindOf(err) == kv.Unsupported {
			continue
		}
		e.must(err)
		if p := db.Caps().Promise(class); p.Supported && p.Class == class {
			s.caps, s.class, s.classes = db.Caps(), class, append(s.classes, class)
		}
		e.must(db.Close())
	}
	if len(s.classes) == 0 {
		t.Fatalf("%s delivers no class of durability", c.Engine)
	}
	return s
}

func (s *suite) run(t T, c tcase) {
	e := &env{T: t, suite: s, dir: t.TempDir()}
	defer e.explain(c)
	c.run(e)
}
