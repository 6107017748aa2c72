package traits

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/assaydb/assay/kv/driver"
	_ "github.com/assaydb/assay/kv/memkv"
	"github.com/assaydb/assay/lab/bench"
)

// fragile is an engine that ends its process where a value is too long.
type fragile struct{ driver.Driver }

const mostFragile = 64 << 10

func init() {
	mem, _ := driver.Lookup("mem")
	driver.Register(fragile{mem})
}

func (d fragile) Info() driver.Info {
	info := d.Driver.Info()
	info.Name = "fragile"
	return info
}

func (d fragile) Open(ctx context.Context, c driver.Config) (driver.Store, error) {
	s, err := d.Driver.Open(ctx, c)
	return fragileStore{s}, err
}

type fragileStore struct{ driver.Store }

func (s fragileStore) Begin(ctx context.Context, d driver.Durability) (driver.Txn, error) {
	t, err := s.Store.Begin(ctx, d)
	return fragileTxn{t}, err
}

type fragileTxn struct{ driver.Txn }

func (t fragileTxn) Put(key, value []byte) error {
	if len(value) > mostFragile {
		panic("out of memory")
	}
	return t.Txn.Put(key, value)
}

const childArgument = "traits-child"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == childArgument {
		if err := Child(context.Background(), os.Args[2], os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestASizeThatEndsTheProcessIsTheLimit tries an engine that panics with values above 64 KiB: that
// is what is told of it.
func TestASizeThatEndsTheProcessIsTheLimit(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Child: []string{self, childArgument}, Records: []int{100}, Largest: 1 << 20}
	found := Probe(t.Context(), bench.Entry{Name: "fragile", Engine: "fragile"}, t.TempDir(), o)
	if found.Error != "" {
		t.Fatal(found.Error)
	}
	if found.Value.Bytes != mostFragile || !strings.Contains(found.Value.Refused, "out of memory") {
		t.Errorf("values: %+v, want %d bytes, and why no more", found.Value, mostFragile)
	}
	if found.Key.Bytes != o.Largest || found.Key.Refused != "" || found.Txn.Bytes != o.Largest {
		t.Errorf("keys %+v, transactions %+v: want %d bytes, and no limit", found.Key, found.Txn, o.Largest)
	}
}
