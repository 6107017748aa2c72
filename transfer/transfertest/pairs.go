// Package transfertest tries copies between engines, for tests. The test imports the engines.
package transfertest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/transfer"
)

// Fill makes a store of n records of every kind that the engine can hold: empty values, keys of one
// byte, keys and values of any bytes.
func Fill(t *testing.T, rawURL string, n int) {
	t.Helper()
	ctx := t.Context()
	db, err := kv.Open(ctx, rawURL)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(7, 0))
	for i := 0; i < n; {
		var b kv.Batch
		for ; i < n && b.Size() < 1<<20; i++ {
			value := make([]byte, r.IntN(300))
			for j := range value {
				value[j] = byte(r.Uint32())
			}
			key := []byte(fmt.Sprintf("user/%07d", r.IntN(10*n)))
			switch i % 16 {
			case 0:
				key = []byte{byte(r.Uint32())}
			case 1:
				value = nil
			case 2:
				key = binary.BigEndian.AppendUint64(nil, r.Uint64())
			}
			b.Put(key, value)
		}
		if err := db.Write(ctx, db.Caps().Strongest(), &b); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// fillLarge adds two values of a megabyte, or of what the engine can hold.
func fillLarge(t *testing.T, rawURL string) {
	t.Helper()
	db, err := kv.Open(t.Context(), rawURL)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{"large/1", "large/2"} {
		value := bytes.Repeat([]byte(k+"\x00"), 1<<20/8)
		if most := db.Caps().MaxValue; most > 0 {
			value = value[:min(len(value), most)]
		}
		if err := db.Put(t.Context(), db.Caps().Strongest(), []byte(k), value); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// pairs is how many records a store of EveryPair has.
func pairs(t *testing.T) int {
	if text := os.Getenv("ASSAY_TRANSFER_PAIRS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if testing.Short() {
		return 1000
	}
	return 10_000
}

// EveryPair copies from each engine of the first list to each one of the second, itself included;
// under -short to the one that follows it. ASSAY_TRANSFER_PAIRS=100000 makes the stores larger.
func EveryPair(t *testing.T, from, to []string) {
	dir := t.TempDir()
	for i, from := range from {
		source := from + ":" + filepath.Join(dir, "from-"+from)
		Fill(t, source, pairs(t))
		fillLarge(t, source)
		for n, dest := range to {
			if testing.Short() && n != (i+1)%len(to) {
				continue
			}
			t.Run(from+" to "+dest, func(t *testing.T) { onePair(t, source, dest) })
		}
	}
}

func onePair(t *testing.T, source, to string) {
	dest := to + ":" + filepath.Join(t.TempDir(), "below", "to")
	report, err := transfer.Copy(t.Context(), source, dest, nil)
	if misfit := (*transfer.Misfit)(nil); errors.As(err, &misfit) {
		d, _ := driver.Lookup(to)
		if d.Info().Caps.MaxValue == 0 {
			t.Fatal(err)
		}
		if misfit.Count != 2 || !strings.HasPrefix(string(misfit.First[0].Key), "large/") {
			t.Fatalf("what does not fit into %s: %v", to, misfit)
		}
		small := &transfer.Options{Change: func(k, v []byte) ([]byte, []byte, bool) {
			return k, v, !bytes.HasPrefix(k, []byte("large/"))
		}}
		Equal(t, source, dest, small, Copied(t, source, dest, small))
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	Equal(t, source, dest, nil, report)
	if report.Pairs < int64(pairs(t))*9/10 {
		t.Errorf("%d pairs were copied", report.Pairs)
	}
}

// Copied copies from one URL to another.
func Copied(t *testing.T, from, to string, o *transfer.Options) transfer.Report {
	t.Helper()
	report, err := transfer.Copy(t.Context(), from, to, o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// Equal fails unless both stores are equal, to Verify and to the report, and nothing was left
// beside the copy.
func Equal(t *testing.T, from, to string, o *transfer.Options, report transfer.Report) {
	t.Helper()
	c, err := transfer.Verify(t.Context(), from, to, o)
	if err != nil {
		t.Fatal(err)
	}
	if c.Differing != 0 || c.A != c.B || c.A != report.Summary {
		t.Fatalf("%s and %s: %+v; reported %+v", from, to, c, report)
	}
	path, err := kv.PathOf(to)
	if err != nil {
		t.Fatal(err)
	}
	NothingBeside(t, path)
}

// NothingBeside fails if there is something with a hidden name beside path.
func NothingBeside(t *testing.T, path string) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".*"))
	if err != nil || len(left) > 0 {
		t.Fatalf("left beside the copy: %v, %v", left, err)
	}
}
