package capture_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "github.com/assaydb/assay/engines/bboltkv"
	"github.com/assaydb/assay/engines/pebblekv"
	_ "github.com/assaydb/assay/engines/sqlitekv"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/kv/drivertest"
	_ "github.com/assaydb/assay/kv/memkv"
	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/powertest"
	"github.com/assaydb/assay/lab/replay"
	"github.com/assaydb/assay/observe/capture"
)

// record makes a recording of what use does, and returns its file.
func record(t testing.TB, url string, o *capture.Options, before, use func(db *kv.DB)) string {
	t.Helper()
	db, err := kv.Open(t.Context(), url, kv.WithWeakest(kv.Buffered))
	if err != nil {
		t.Fatal(err)
	}
	if before != nil {
		before(db)
	}
	file := filepath.Join(t.TempDir(), "recording.assay")
	recorded, c, err := capture.Start(t.Context(), db, file, o)
	if err != nil {
		t.Fatal(errors.Join(err, db.Close()))
	}
	use(recorded)
	if err := recorded.Close(); err != nil {
		t.Error(err)
	}
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
	return file
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// busy does something of everything, as several goroutines.
func busy(t testing.TB, db *kv.DB, seed uint64, goroutines, each int) {
	t.Helper()
	ctx := t.Context()
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(g)))
			key := func() []byte { return fmt.Appendf(nil, "%c/%03d", 'a'+r.IntN(3), r.IntN(200)) }
			value := func() []byte { return fmt.Appendf(nil, "%0*d", 1+r.IntN(40), r.IntN(1000)) }
			for range each {
				must(t, step(ctx, db, r, key, value))
			}
		})
	}
	all.Wait()
}

var errOwn = errors.New("rolled back")

func step(ctx context.Context, db *kv.DB, r *rand.Rand, key, value func() []byte) error {
	class := max(kv.Durability(1+r.IntN(2)), db.Caps().Strongest())
	switch r.IntN(10) {
	case 0:
		return db.Put(ctx, class, key(), value())
	case 1:
		return db.Delete(ctx, class, key())
	case 2:
		var b kv.Batch
		for range r.IntN(5) {
			b.Put(key(), value())
		}
		return db.Write(ctx, class, &b)
	case 3:
		_, err := db.Get(ctx, key())
		return notFound(err)
	case 4:
		_, err := db.Namespace([]byte("a/")).Has(ctx, []byte("001"))
		return err
	case 5:
		return db.View(ctx, func(s *kv.Snapshot) error { return read(s, r, key) })
	case 6:
		err := db.Update(ctx, class, func(tx *kv.Tx) error {
			err := errors.Join(tx.Put(key(), value()), read(tx.Snapshot, r, key), tx.Delete(key()))
			if r.IntN(4) == 0 {
				err = errors.Join(err, errOwn)
			}
			return err
		})
		if errors.Is(err, errOwn) {
			err = nil
		}
		return err
	case 7:
		return db.Update(ctx, class, func(tx *kv.Tx) error {
			start, end := key(), key()
			if r.IntN(2) == 0 {
				return tx.DeleteRange(kv.Range{Start: start, End: append(start[:len(start)-1:len(start)-1], 'z')})
			}
			return errors.Join(tx.DeleteRange(kv.Range{Start: max2(start, end), End: nil}), tx.Put(start, value()))
		})
	case 8:
		s, err := db.Snapshot(ctx)
		if err != nil {
			return err
		}
		return errors.Join(read(s, r, key), s.Close())
	}
	return db.View(ctx, func(s *kv.Snapshot) error {
		it := s.Iter(kv.Range{Start: key(), Reverse: r.IntN(2) == 0, KeysOnly: r.IntN(2) == 0})
		defer it.Close()
		for range r.IntN(6) {
			if it.Next(); r.IntN(3) == 0 {
				it.Seek(key())
			}
		}
		return it.Err()
	})
}

func max2(a, b []byte) []byte {
	if string(a) > string(b) {
		return a
	}
	return b
}

func notFound(err error) error {
	if errors.Is(err, kv.NotFound) {
		return nil
	}
	return err
}

func read(s *kv.Snapshot, r *rand.Rand, key func() []byte) error {
	_, err := s.Get(key())
	_, lerr := s.Len(key())
	left := r.IntN(30)
	for range s.Scan(kv.Range{Start: key(), Reverse: r.IntN(2) == 0}) {
		if left--; left < 0 {
			break
		}
	}
	for range s.Namespace([]byte("b/")).Keys(kv.Range{}) {
		if left--; left < 0 {
			break
		}
	}
	return errors.Join(notFound(err), notFound(lerr))
}

// TestARecordingTellsEveryResultAgain records goroutines that do everything at the same time, on
// engines that differ in who waits for whom. Load does it again in memory, and refuses an answer
// that differs.
func TestARecordingTellsEveryResultAgain(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"mem", "bbolt", "pebble", "sqlite"} {
		for _, o := range []capture.Options{{}, {Values: capture.Kept}, {Keys: capture.Kept},
			{Keys: capture.Kept, Values: capture.Kept}} {
			for _, goroutines := range []int{1, 6} {
				t.Run(fmt.Sprintf("%s, keys %v, values %v, %d goroutines", engine, o.Keys, o.Values, goroutines),
					func(t *testing.T) {
						seed := rand.Uint64()
						t.Logf("seed %d", seed)
						file := record(t, engine+":"+filepath.Join(t.TempDir(), "db"), &o, func(db *kv.DB) {
							busy(t, db, seed+1, 1, 50)
						}, func(db *kv.DB) { busy(t, db, seed, goroutines, 300/goroutines) })
						trace, err := replay.Load(file, 0)
						if err != nil {
							t.Fatal(err)
						}
						t.Logf("%d transactions, %d at the same time, %d reads, %d compared", trace.Units(), trace.AtOnce,
							trace.Reads, trace.Compared)
						if trace.Torn || trace.Info.Keys != o.Keys ||
							trace.Info.Values != o.Values || trace.Info.Engine != engine {
							t.Errorf("the recording says of itself %+v, torn: %v", trace.Info, trace.Torn)
						}
						if goroutines == 1 &&
							(trace.Compared != trace.Reads || trace.AtOnce != 1 || trace.Reads < 100) {
							t.Errorf("%d of %d reads were compared, %d at once", trace.Compared, trace.Reads, trace.AtOnce)
						}
					})
			}
		}
	}
}

// TestAWriteOfOnePairIsRecordedAsOneOfTwo holds the short way of a single put against the way of
// all batches, with lengths at which the form changes.
func TestAWriteOfOnePairIsRecordedAsOneOfTwo(t *testing.T) {
	for _, values := range []capture.Choice{capture.Hashed, capture.Kept} {
		var single, double []capture.Op
		use := func(db *kv.DB) {
			for _, key := range []int{1, 16, 63, 64, 65, 127, 128, 300} {
				for _, value := range []int{0, 7, 8, 127, 128, 16384, 70_000} {
					k, v := fmt.Appendf(nil, "%0*d", key, value), fmt.Appendf(nil, "%0*d", value, key)[:value]
					var b kv.Batch
					b.Put(k, v)
					b.Put(k, v)
					must(t, errors.Join(db.Put(t.Context(), kv.Buffered, k, v), db.Write(t.Context(), kv.Buffered, &b)))
				}
			}
		}
		all, _ := records(t, record(t, "pebble:"+filepath.Join(t.TempDir(), "db"),
			&capture.Options{Keys: capture.Kept, Values: values}, nil, use))
		for _, r := range all {
			switch len(r.Ops) {
			case 1:
				single = append(single, r.Ops[0])
			case 2:
				double = append(double, r.Ops[0])
			}
		}
		if !reflect.DeepEqual(single, double) || len(single) != 56 {
			t.Errorf("values %v: %d writes of one pair differ from %d of two", values, len(single), len(double))
		}
	}
}

// records reads a recording to its end.
func records(t testing.TB, file string) (all []capture.Record, torn bool) {
	t.Helper()
	r, err := capture.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all, r.Torn
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, rec)
	}
}

func TestATornTailIsReadUpToTheLastWholeBlock(t *testing.T) {
	t.Parallel()
	file := record(t, "mem:", &capture.Options{Keys: capture.Kept}, nil, func(db *kv.DB) { busy(t, db, 1, 1, 2000) })
	whole, torn := records(t, file)
	if torn || len(whole) < 2000 {
		t.Fatalf("%d records, torn: %v", len(whole), torn)
	}
	data, err := os.ReadFile(file)
	must(t, err)
	last := 0
	for n := len(data) - 1; n > 200; n -= max(len(data)/50, 1) {
		cut := filepath.Join(t.TempDir(), "cut")
		must(t, os.WriteFile(cut, data[:n], 0o600))
		some, torn := records(t, cut)
		if !torn || len(some) > len(whole) {
			t.Fatalf("of %d bytes of %d: %d records, torn: %v", n, len(data), len(some), torn)
		}
		for i := range some {
			if some[i].Kind != whole[i].Kind || string(some[i].Key) != string(whole[i].Key) {
				t.Fatalf("record %d of %d bytes is another one", i, n)
			}
		}
		last = max(last, len(some))
	}
	if last == 0 {
		t.Error("nothing was read of any torn file")
	}
}

func FuzzOpen(f *testing.F) {
	file := record(f, "mem:", &capture.Options{Keys: capture.Kept}, nil, func(db *kv.DB) { busy(f, db, 1, 1, 20) })
	data, err := os.ReadFile(file)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data, 100, byte(1))
	f.Fuzz(func(t *testing.T, data []byte, at int, flip byte) {
		if len(data) > 0 {
			data = slices.Clone(data)
			data[max(at, -at-1)%len(data)] ^= flip
		}
		file := filepath.Join(t.TempDir(), "file")
		must(t, os.WriteFile(file, data, 0o600))
		r, err := capture.Open(file)
		if err != nil {
			return
		}
		defer r.Close()
		for err == nil {
			_, err = r.Next()
		}
		if !errors.Is(err, io.EOF) && !errors.Is(err, kv.Corrupt) {
			t.Error(err)
		}
	})
}

// TestHashedKeysKeepLengthAndOrder compares what was recorded with and without.
func TestHashedKeysKeepLengthAndOrder(t *testing.T) {
	t.Parallel()
	file := record(t, "mem:", &capture.Options{Keys: capture.Kept}, nil, func(db *kv.DB) { busy(t, db, 7, 1, 300) })
	hashed := filepath.Join(t.TempDir(), "hashed")
	must(t, capture.HashKeys(file, hashed))
	plain, _ := records(t, file)
	other, torn := records(t, hashed)
	if len(plain) != len(other) || torn {
		t.Fatalf("%d records of %d, torn: %v", len(other), len(plain), torn)
	}
	keys := map[string]string{}
	for i := range plain {
		for _, k := range [][2][]byte{{plain[i].Key, other[i].Key}, {plain[i].Walk.Start, other[i].Walk.Start},
			{plain[i].Walk.End, other[i].Walk.End}, {plain[i].Walk.Last, other[i].Walk.Last}} {
			if before, seen := keys[string(k[0])]; seen && before != string(k[1]) {
				t.Fatalf("%q has two hashes", k[0])
			}
			keys[string(k[0])] = string(k[1])
		}
	}
	same := 0
	for a, ha := range keys {
		if len(a) != len(ha) {
			t.Errorf("%q became %d bytes", a, len(ha))
		}
		if a == ha && a != "" {
			same++
		}
		for b, hb := range keys {
			if (a < b) != (ha < hb) || shared(a, b) != shared(ha, hb) {
				t.Fatalf("%q and %q became %q and %q", a, b, ha, hb)
			}
		}
	}
	if same > 0 || len(keys) < 100 {
		t.Errorf("%d of %d keys stayed as they are", same, len(keys))
	}
}

// shared returns how many bytes two keys begin with alike.
func shared(a, b string) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// TestAFullDiskEndsTheRecordingAndNotTheProgram fills the disk of the recording alone.
func TestAFullDiskEndsTheRecordingAndNotTheProgram(t *testing.T) {
	t.Parallel()
	disk := powertest.NewDisk(t, nil)
	db, err := kv.Open(t.Context(), "mem:")
	must(t, err)
	file := filepath.Join(disk.Dir(), "recording")
	recorded, c, err := capture.Start(t.Context(), db, file, &capture.Options{Keys: capture.Kept})
	if err != nil {
		t.Fatal(err)
	}
	busy(t, recorded, 1, 2, 2000)
	written(t, file)
	disk.Arm(powerfs.Fault{Op: powerfs.OnWrite, Nth: 1, Err: syscall.ENOSPC, Sticky: true})
	for n := uint64(2); c.Err() == nil; n++ {
		if busy(t, recorded, n, 2, 2000); n > 1000 {
			t.Fatalf("%d writes failed, and the recording goes on", disk.Failed())
		}
	}
	busy(t, recorded, 1, 2, 200)
	if err := c.Err(); !errors.Is(err, kv.Full) {
		t.Errorf("the recording ended with %v", err)
	}
	if err := recorded.Close(); err != nil {
		t.Errorf("the program's Close returned %v", err)
	}
	if all, torn := records(t, file); len(all) == 0 || !torn {
		t.Errorf("%d records are left, torn: %v", len(all), torn)
	}
	if trace, err := replay.Load(file, 0); err != nil || trace.Units() == 0 {
		t.Errorf("what is left cannot be done again: %v", err)
	}
}

// written waits until a block of records is in the file: a goroutine writes them, when it comes to
// it.
func written(t testing.TB, file string) {
	t.Helper()
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		if info, err := os.Stat(file); err != nil || info.Size() > 32<<10 {
			must(t, err)
			return
		}
		if time.Since(begun) > time.Minute {
			t.Fatal("no block of records was written in a minute")
		}
	}
}

func TestARecordingEndsWhereItIsLongEnough(t *testing.T) {
	t.Parallel()
	db, err := kv.Open(t.Context(), "mem:")
	must(t, err)
	file := filepath.Join(t.TempDir(), "recording")
	recorded, c, err := capture.Start(t.Context(), db, file, &capture.Options{Keys: capture.Kept, Most: 200 << 10})
	if err != nil {
		t.Fatal(err)
	}
	busy(t, recorded, 1, 1, 20_000)
	if err := c.Stop(); !errors.Is(err, kv.TooLarge) {
		t.Errorf("the recording ended with %v", err)
	}
	must(t, recorded.Close())
	info, err := os.Stat(file)
	must(t, err)
	if info.Size() > 200<<10 || info.Size() < 100<<10 {
		t.Errorf("it has %d bytes", info.Size())
	}
}

// TestEnginesKeepTheirContractWhileTheyAreRecorded runs the conformance suite on engines that are
// recorded: one that has every optional interface, and one that has few.
func TestEnginesKeepTheirContractWhileTheyAreRecorded(t *testing.T) {
	if testing.Short() {
		t.Skip("a whole conformance suite; not in a short run")
	}
	drivertest.Run(t, drivertest.Config{Engine: "recorded"})
}

// recordedDriver is Pebble, recorded.
type recordedDriver struct{ driver.Driver }

func init() {
	pebble, _ := driver.Lookup("pebble")
	driver.Register(recordedDriver{pebble})
}

func (d recordedDriver) Info() driver.Info {
	info := d.Driver.Info()
	info.Name = "recorded"
	return info
}

func (d recordedDriver) Open(ctx context.Context, c driver.Config) (driver.Store, error) {
	inner, err := d.Driver.Open(ctx, c)
	if err != nil {
		return nil, err
	}
	return capture.Recorded(inner)
}

// BenchmarkCapture measures what a recording costs, on Pebble with Buffered commits, where an
// operation is shortest: as "raw" stands kv alone, as "kv" with a recording.
func BenchmarkCapture(b *testing.B) {
	for _, o := range []capture.Options{{Keys: capture.Kept}, {Keys: capture.Kept, Values: capture.Kept}} {
		b.Run("values "+o.Values.String(), func(b *testing.B) {
			db, err := pebblekv.Open(b.Context(), filepath.Join(b.TempDir(), "db"), nil)
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			h, _ := pebblekv.Handle(db)
			wrapped, err := pebblekv.Wrap(h)
			if err != nil {
				b.Fatal(err)
			}
			o.Most = 1 << 40
			recorded, c, err := capture.Start(b.Context(), wrapped, filepath.Join(b.TempDir(), "recording"), &o)
			if err != nil {
				b.Fatal(err)
			}
			defer recorded.Close()
			plain, err := pebblekv.Wrap(h)
			if err != nil {
				b.Fatal(err)
			}
			defer plain.Close()
			off, on := drivertest.NewThinKV(b, plain, kv.Buffered), drivertest.NewThinKV(b, recorded, kv.Buffered)
			drivertest.Thin(b,
				drivertest.Pair{Name: "put", Raw: off.PutAlone, KV: on.PutAlone},
				drivertest.Pair{Name: "batch100", Raw: off.Batch, KV: on.Batch},
				drivertest.Pair{Name: "update", Raw: off.Put, KV: on.Put},
				drivertest.Pair{Name: "view+get", Raw: off.ViewGet, KV: on.ViewGet},
				drivertest.Pair{Name: "get", Raw: off.Get, KV: on.Get},
				drivertest.Pair{Name: "scan20", Raw: off.Scan, KV: on.Scan},
			)
			if err := c.Err(); err != nil {
				b.Fatal("the recording ended meanwhile: ", err)
			}
		})
	}
}
