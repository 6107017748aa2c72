package traits

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/lab/bench"
	"github.com/assaydb/assay/lab/result"
)

// disturbed is an engine whose stores outlive Close as long as the process does. To open the first
// of 100 records again takes long.
type disturbed struct {
	driver.Driver
	stores map[string]driver.Store // by path
}

const disturbance = 300 * time.Millisecond

var disturbedStores = map[string]driver.Store{}

func init() {
	mem, _ := driver.Lookup("mem")
	driver.Register(disturbed{mem, disturbedStores})
}

func (d disturbed) Info() driver.Info {
	info := d.Driver.Info()
	info.Name, info.Caps.Persistent = "disturbed", true
	return info
}

func (d disturbed) Open(ctx context.Context, c driver.Config) (driver.Store, error) {
	if s := d.stores[c.Path]; s != nil {
		if strings.HasPrefix(filepath.Base(c.Path), recordsName(100)) {
			time.Sleep(disturbance)
		}
		return disturbedStore{s}, nil
	}
	s, err := d.Driver.Open(ctx, c)
	if err != nil {
		return nil, err
	}
	d.stores[c.Path] = s
	return disturbedStore{s}, os.WriteFile(c.Path, nil, 0o600)
}

type disturbedStore struct{ driver.Store }

func (s disturbedStore) Caps() driver.Caps {
	c := s.Store.Caps()
	c.Persistent = true
	return c
}

// TestAnOpeningThatIsDisturbedDoesNotCount has one of several openings take long, which says
// nothing of the engine.
func TestAnOpeningThatIsDisturbedDoesNotCount(t *testing.T) {
	dir := t.TempDir()
	at := task{Entry: bench.Entry{Name: "disturbed", Engine: "disturbed"}, Dir: dir,
		Options: Options{Records: []int{100}}}
	var found result.EngineTraits
	if err := at.opens(t.Context(), &found); err != nil {
		t.Fatal(err)
	}
	if len(disturbedStores) < 2 {
		t.Skip("NOT TESTED: the machine is too slow for a second store")
	}
	if took := time.Duration(found.Opens[0].NS); took >= disturbance {
		t.Errorf("it opens in %v, which is what was disturbed", took)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "again-*")); err != nil || len(left) > 0 {
		t.Errorf("%q are left, error %v", left, err)
	}
}
