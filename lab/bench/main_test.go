package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assaydb/assay/engines/bboltkv"
	_ "github.com/assaydb/assay/engines/nullkv"
	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/lab/workload"
)

// The test binary is its own child and helper, as assay is.
const (
	childRole  = "child"
	helperRole = "helper"
)

func TestMain(m *testing.M) {
	maxSlice = 10 * time.Millisecond // what is tested does not depend on it, and takes a fraction of the time
	registerFaulty()
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case childRole:
			exit(Child(context.Background(), os.Stdin, os.Stdout))
		case helperRole:
			exit(workload.Helper(context.Background(), os.Args[2:], os.Stdin, os.Stdout))
		}
	}
	os.Exit(m.Run())
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// faulty is bbolt with one planted fault, which begins after some operations.
type faulty struct {
	bboltkv.Driver
	name  string
	after int64        // Gets until the fault begins
	fault func() error // called at every Get once the fault has begun
}

const faultAfter = 40

func registerFaulty() {
	for name, fault := range map[string]func() error{
		"crashing": func() error { panic("planted crash") },
		"killed": func() error {
			p, err := os.FindProcess(os.Getpid())
			if err != nil {
				return err
			}
			return errors.Join(p.Kill(), errors.New("killed"))
		},
		"hanging": func() error { time.Sleep(time.Hour); return nil },
		"failing": func() error { return errors.New("planted failure") },
		"lying":   func() error { return driver.NotFound },
	} {
		driver.Register(faulty{name: name, after: faultAfter, fault: fault})
	}
	slow := 0
	driver.Register(faulty{name: "waking", fault: func() error {
		if slow++; slow <= 3 {
			time.Sleep(2 * maxSlice)
		}
		return nil
	}})
}

func (f faulty) Info() driver.Info {
	info := f.Driver.Info()
	info.Name = f.name
	return info
}

func (f faulty) Open(ctx context.Context, c driver.Config) (driver.Store, error) {
	s, err := f.Driver.Open(ctx, c)
	if err != nil {
		return nil, err
	}
	return &faultyStore{Store: s, after: f.after, fault: f.fault}, nil
}

type faultyStore struct {
	driver.Store
	after int64
	fault func() error
	gets  atomic.Int64
}

func (s *faultyStore) Snapshot(context.Context) (driver.Reader, error) {
	r, err := s.Store.Snapshot(context.Background())
	if err != nil {
		return nil, err
	}
	return faultyReader{r, s}, nil
}

type faultyReader struct {
	driver.Reader
	s *faultyStore
}

func (r faultyReader) Get(dst, key []byte) ([]byte, error) {
	if r.s.gets.Add(1) > r.s.after {
		if err := r.s.fault(); err != nil {
			return dst, err
		}
	}
	return r.Reader.Get(dst, key)
}

// options returns options for a short run in a folder of its own: its end are rounds, not a time.
func options(t testing.TB, engines, selection string) Options {
	t.Helper()
	known := []Entry{{Name: "bbolt", Engine: "bbolt"}, {Name: "null", Engine: "null", Unranked: true}}
	entries, err := ParseEntries(engines, known)
	if err != nil {
		t.Fatal(err)
	}
	selections, err := ParseSelections([]string{selection})
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Options{Entries: entries, Selections: selections, Dir: filepath.Join(t.TempDir(), "data"), Seed: 1,
		Budget: 5 * time.Minute, Rounds: 6, Precision: 0.5,
		Child: []string{exe, childRole}, Helper: []string{exe, helperRole}}
}
