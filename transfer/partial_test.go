package transfer

import (
	"errors"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	_ "github.com/assaydb/assay/engines/badgerkv"
	_ "github.com/assaydb/assay/engines/bboltkv"
	"github.com/assaydb/assay/kv"
)

// TestOneInTheFolder: however often the folder is made and removed, one at a time is in it, and who
// comes meanwhile is Busy.
func TestOneInTheFolder(t *testing.T) {
	to := "bbolt:" + filepath.Join(t.TempDir(), "new")
	var inside, entered atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 400 {
				p, err := placeOf(to)
				if err == nil {
					err = p.enter(false)
				}
				if errors.Is(err, kv.Busy) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				entered.Add(1)
				if n := inside.Add(1); n != 1 {
					t.Errorf("%d are in the folder", n)
				}
				inside.Add(-1)
				if err := p.leave(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	if entered.Load() == 0 {
		t.Error("nobody was in it")
	}
	t.Logf("%d times", entered.Load())
}

// TestInBulk: what the URL says holds, and what it does not say is as the engine fills a store.
func TestInBulk(t *testing.T) {
	bulk := map[string]string{"A": "1", "B": "2"}
	for rawURL, want := range map[string]string{
		"e:p":         "e:p?A=1&B=2",
		"e:p?B=7":     "e:p?A=1&B=7",
		"e:p?C=x%26y": "e:p?A=1&B=2&C=x%26y",
		"e:p?A=3&B=":  "e:p?A=3&B=",
	} {
		if got := inBulk(rawURL, bulk); got != want {
			t.Errorf("%s: got %s, want %s", rawURL, got, want)
		}
		if got := inBulk(rawURL, nil); got != rawURL {
			t.Errorf("%s, of an engine without: got %s", rawURL, got)
		}
	}
}

// TestBadgerMergesNoTablesInMemory: it does that with four of level 0, which a copy of ten seconds
// and more may leave it, unless commits wait for fewer.
func TestBadgerMergesNoTablesInMemory(t *testing.T) {
	for rawURL, want := range map[string]string{"badger:new": "3", "badger:new?NumLevelZeroTablesStall=9": "9",
		"badger:new?NumLevelZeroTables=9": "120"} {
		p, err := placeOf(rawURL)
		if err != nil {
			t.Fatal(err)
		}
		_, query, _ := strings.Cut(p.url, "?")
		values, err := url.ParseQuery(query)
		if got := values.Get("NumLevelZeroTablesStall"); err != nil || got != want {
			t.Errorf("%s is filled with a stall at %q tables, want %s: %v", rawURL, got, want, err)
		}
	}
}
