package margaret

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/stores/eventlog/feed"
)

// powerFile is a file on a disk that can lose power.
type powerFile struct {
	disk *powerfs.Disk
	id   powerfs.ID
}

func (f powerFile) ReadAt(p []byte, at int64) (int, error) {
	n, err := f.disk.Read(f.id, at, p)
	if err == nil && n < len(p) {
		err = io.EOF
	}
	return n, err
}

func (f powerFile) WriteAt(p []byte, at int64) (int, error) {
	return f.disk.Write(f.id, at, p, powerfs.FromCall)
}
func (f powerFile) Close() error              { return nil }
func (f powerFile) Truncate(size int64) error { return f.disk.Truncate(f.id, size) }
func (f powerFile) Sync() error               { return f.disk.Sync(f.id) }

func (f powerFile) Stat() (fs.FileInfo, error) {
	attr, err := f.disk.Stat(f.id)
	return sized{attr.Size}, err
}

// sized is a FileInfo that knows the size alone.
type sized struct{ size int64 }

func (s sized) Size() int64      { return s.size }
func (sized) Name() string       { return "" }
func (sized) Mode() fs.FileMode  { return 0 }
func (sized) ModTime() time.Time { return time.Time{} }
func (sized) IsDir() bool        { return false }
func (sized) Sys() any           { return nil }

// powerLog opens the log on a disk, as open does on a real one.
func powerLog(t *testing.T, disk *powerfs.Disk) (*backend, error) {
	t.Helper()
	b := &backend{}
	for name, f := range map[string]*file{"data": &b.data, "ofst": &b.offsets, "jrnl": &b.journal,
		"unsynced": &b.unsynced} {
		attr, err := disk.Lookup(powerfs.Root, name)
		if err != nil {
			if attr, err = disk.Create(powerfs.Root, name, 0o600, powerfs.Owner{}); err != nil {
				return nil, err
			}
		}
		*f = powerFile{disk, attr.ID}
	}
	b.replace = func(content []byte) (file, error) {
		attr, err := disk.Create(powerfs.Root, "jrnl.new", 0o600, powerfs.Owner{})
		if err != nil {
			if attr, err = disk.Lookup(powerfs.Root, "jrnl.new"); err != nil {
				return nil, err
			}
		}
		f := powerFile{disk, attr.ID}
		_, err = f.WriteAt(content, 0)
		err = errors.Join(err, f.Truncate(int64(len(content))), f.Sync(),
			disk.Rename(powerfs.Root, "jrnl.new", powerfs.Root, "jrnl", powerfs.Replace), disk.Sync(powerfs.Root))
		return f, err
	}
	if err := disk.Sync(powerfs.Root); err != nil {
		return nil, err
	}
	return b, b.recover()
}

// powerSizes are how many messages the appends have, in turn.
var powerSizes = []int{3, 1, 1, 12, 1, 2}

// fill appends until there are enough messages or the power fails, and returns what is there or may
// be there, and how many were acknowledged as synced. Messages tell the generation, so that what
// comes back from before a crash is noticed.
func fill(b *backend, before [][]byte, generation int, classes []kv.Durability) (expected [][]byte, synced int) {
	expected, synced = slices.Clone(before), len(before)
	for i := range 8 {
		var messages [][]byte
		for j := range powerSizes[i%len(powerSizes)] {
			text := fmt.Appendf(nil, "generation %d, append %d: message %d ", generation, i, j)
			messages = append(messages, bytes.Repeat(text, 1+(i+j)%30))
		}
		d := classes[i%len(classes)]
		expected = append(expected, messages...)
		if _, err := b.Append(context.Background(), d, messages); err != nil {
			break
		}
		if d == kv.Synced {
			synced = len(expected)
		}
	}
	return expected, synced
}

// held returns all messages up to the first that cannot be read.
func held(b *backend) (all [][]byte, err error) {
	err = b.View(context.Background(), func(r feed.Reader) error {
		return r.Scan(0, r.Len(), func(_ uint64, m []byte) bool {
			all = append(all, bytes.Clone(m))
			return true
		})
	})
	return all, err
}

// appendOf returns what the messages of one append have in common.
func appendOf(message []byte) string {
	head, _, _ := bytes.Cut(message, []byte(":"))
	return string(head)
}

// TestPower cuts the power before every operation of a run of synced appends, leaves what each rule
// allows, and goes on from there until the power fails again.
func TestPower(t *testing.T) {
	seed := rand.Uint64()
	t.Log("seed", seed)
	for _, classes := range [][]kv.Durability{{kv.Synced}, {kv.Synced, kv.Flushed}} {
		cuts := 0
		for cut := uint64(1); ; cut++ {
			disk := newDisk(t, nil)
			disk.CutBefore(cut, nil)
			b, err := powerLog(t, disk)
			var expected [][]byte
			synced := 0
			if err == nil {
				expected, synced = fill(b, nil, 0, classes)
			}
			if _, failed := disk.CutAt(); !failed {
				break
			}
			cuts++
			for i, rule := range powerfs.Rules() {
				image := disk.Crash().Image(rule, seed+cut*100+uint64(i))
				survive(t, fmt.Sprintf("seed %d, %v, cut before operation %d, %v", seed, classes, cut, rule), image,
					expected, synced, classes)
			}
		}
		t.Logf("%v: %d cuts by %d rules", classes, cuts, len(powerfs.Rules()))
	}
}

// TestPowerFailsWhileAMessageIsErased cuts the power before every operation of Null. Zeros never
// stand where a message was: it is as it was, or erased, or cannot be read.
func TestPowerFailsWhileAMessageIsErased(t *testing.T) {
	message := bytes.Repeat([]byte("of some pages "), 800)
	cuts := uint64(0)
	for ; ; cuts++ {
		disk := newDisk(t, nil)
		b, err := powerLog(t, disk)
		if err == nil {
			_, err = b.Append(t.Context(), kv.Synced, [][]byte{message})
		}
		if err != nil {
			t.Fatal(err)
		}
		disk.CutBefore(disk.Ops()+1+cuts, nil)
		err = b.null(0)
		if _, failed := disk.CutAt(); !failed {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		for i, rule := range slices.Repeat(powerfs.Rules(), 4) {
			left, err := powerLog(t, newDisk(t, disk.Crash().Image(rule, uint64(i))))
			if err != nil {
				t.Fatalf("cut before operation %d of Null, %v: %v", cuts+1, rule, err)
			}
			got, err := held(left)
			switch {
			case err == nil && len(got) == 1 && (got[0] == nil || bytes.Equal(got[0], message)):
			case errors.Is(err, kv.Corrupt):
			default:
				t.Errorf("cut before operation %d of Null, %v: %.40q, %v", cuts+1, rule, got, err)
			}
		}
	}
	if cuts < 2 {
		t.Errorf("%d cuts, want one before each operation", cuts)
	}
}

// TestASyncThatFailsLeavesNoHole fails every sync in turn of an append behind others that were not
// synced. The process dies, the next one reads what the kernel still shows, and appends behind it;
// then the power fails. Nothing that the next one synced stands behind a hole.
func TestASyncThatFailsLeavesNoHole(t *testing.T) {
	for before := range 3 {
		for nth := range uint64(3) {
			disk := newDisk(t, nil)
			b, err := powerLog(t, disk)
			if err != nil {
				t.Fatal(err)
			}
			appendAll := func(d kv.Durability, text string) error {
				_, err := b.Append(t.Context(), d, [][]byte{bytes.Repeat([]byte(text), 3000), []byte(text)})
				return err
			}
			for range before {
				err = errors.Join(err, appendAll(kv.Synced, "synced"))
			}
			if err = errors.Join(err, appendAll(kv.Flushed, "flushed"), appendAll(kv.Flushed, "flushed too")); err != nil {
				t.Fatal(err)
			}
			if err := disk.Fail(powerfs.Fault{Op: powerfs.OnSync, Nth: nth + 1}); err != nil {
				t.Fatal(err)
			}
			if err := appendAll(kv.Synced, "in doubt"); err == nil {
				t.Fatalf("sync %d did not fail", nth+1)
			}
			if b, err = powerLog(t, disk); err != nil {
				t.Fatal(err)
			}
			want, err := held(b)
			if err != nil || len(want) < 2*before+4 {
				t.Fatalf("the next process reads %d messages, %v", len(want), err)
			}
			if err := appendAll(kv.Synced, "of the next"); err != nil {
				t.Fatal(err)
			}
			for _, rule := range powerfs.Rules() {
				left, err := powerLog(t, newDisk(t, disk.Crash().Image(rule, 1)))
				if err != nil {
					t.Fatalf("%d synced before, sync %d failed, %v: %v", before, nth+1, rule, err)
				}
				got, err := held(left)
				if err != nil || len(got) != len(want)+2 || !slices.EqualFunc(got[:len(want)], want, bytes.Equal) {
					t.Errorf("%d synced before, sync %d failed, %v: %d messages of %d, %v", before, nth+1, rule, len(got),
						len(want)+2, err)
				}
			}
		}
	}
}

func newDisk(t *testing.T, from *powerfs.Image) *powerfs.Disk {
	t.Helper()
	disk, err := powerfs.New(powerfs.Options{From: from})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := disk.Close(); err != nil {
			t.Error(err)
		}
	})
	return disk
}

// survive opens what is left of a log and checks it, writes on, and cuts the power once more, also
// while it is being opened.
func survive(t *testing.T, what string, image *powerfs.Image, expected [][]byte, synced int, classes []kv.Durability) {
	t.Helper()
	weak := len(classes) > 1 // a power loss may leave the flushed appends in any state
	disk := newDisk(t, image)
	again := uint64(2 + rand.IntN(40))
	disk.CutBefore(again, nil)
	b, err := powerLog(t, disk)
	if _, failed := disk.CutAt(); err == nil || !failed {
		got, ok := kept(t, what, b, err, expected, synced, weak)
		if !ok {
			return
		}
		expected, synced = fill(b, got, 1, []kv.Durability{kv.Synced})
	}
	image = disk.Crash().Image(powerfs.Rule{Survivors: powerfs.Sectors}, again)
	b, err = powerLog(t, newDisk(t, image))
	kept(t, fmt.Sprintf("%s, and again before %d", what, again), b, err, expected, synced, weak)
}

// kept checks a log that was opened with err: the synced messages are there, and unless some were
// appended with a weaker class it is whole. If it is not, ok is false.
func kept(t *testing.T, what string, b *backend, err error, expected [][]byte, synced int, weak bool) (got [][]byte,
	ok bool) {
	t.Helper()
	opened := err == nil
	if opened {
		got, err = held(b)
	}
	switch {
	case err != nil && !(weak && errors.Is(err, kv.Corrupt)):
		t.Fatalf("%s: %v", what, err)
	case !opened:
		return nil, false
	case len(got) < synced || !slices.EqualFunc(got[:synced], expected[:synced], bytes.Equal):
		t.Fatalf("%s: %d messages, %d were synced, as %q", what, len(got), synced, got)
	case !weak:
		whole(t, what, got, expected)
	}
	return got, err == nil
}

// whole checks that got is a prefix of expected that ends between two appends.
func whole(t *testing.T, what string, got, expected [][]byte) {
	t.Helper()
	if len(got) > len(expected) || !slices.EqualFunc(got, expected[:len(got)], bytes.Equal) {
		t.Fatalf("%s: %q is no beginning of what was appended", what, got)
	}
	if n := len(got); n > 0 && n < len(expected) && appendOf(got[n-1]) == appendOf(expected[n]) {
		t.Fatalf("%s: the log ends at %d, within %s", what, n, appendOf(got[n-1]))
	}
}
