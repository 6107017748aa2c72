package powerfs

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestEveryImageIsOneTheRulesAllow looks at many images of one crash, of a durable page of o that
// was overwritten twice.
func TestEveryImageIsOneTheRulesAllow(t *testing.T) {
	b := newBench(t, Options{})
	b.create("f")
	b.write("f", 0, strings.Repeat("o", 2*pageSize))
	b.sync("f")
	b.sync("")
	b.write("f", 0, strings.Repeat("a", 2*pageSize))
	b.write("f", 0, strings.Repeat("b", 2*pageSize))
	crash := b.d.Crash()
	if n := crash.Pending(); n != 2 {
		t.Fatalf("%d changes pending, want 2", n)
	}
	for _, r := range Rules() {
		seen := make(map[string]bool)
		for seed := range uint64(100) {
			img := crash.Image(r, seed)
			f, ok := img.File("f")
			if !ok || f.Size != 2*pageSize {
				t.Fatalf("%v, seed %d: %s", r, seed, tree(t, img))
			}
			data, err := f.Bytes()
			if err != nil {
				t.Fatal(err)
			}
			if why := forbidden(r.Survivors, data); why != "" {
				t.Fatalf("%v, seed %d: %s: %s", r, seed, why, tree(t, img))
			}
			seen[tree(t, img)] = true
		}
		least := map[Survivors]int{Nothing: 1, Everything: 1, Prefix: 15, Pages: 7, Sectors: 50}[r.Survivors]
		if len(seen) < least || least == 1 && len(seen) != 1 {
			t.Errorf("%v: %d different images, want %d", r, len(seen), least)
		}
	}
}

// forbidden returns why a survivor rule does not allow the two pages, each of which was o, then a,
// then b.
func forbidden(s Survivors, data []byte) string {
	unit := map[Survivors]int{Nothing: 2 * pageSize, Everything: 2 * pageSize, Pages: pageSize}[s]
	if unit == 0 {
		unit = sectorSize
	}
	for i := 0; i < len(data); i += unit {
		for _, c := range data[i : i+unit] {
			if c != data[i] {
				return fmt.Sprintf("torn within %d bytes", unit)
			}
		}
	}
	switch {
	case s == Nothing && data[0] != 'o', s == Everything && data[0] != 'b':
		return "not what the rule says"
	case s == Prefix:
		// newer bytes come first, and only one write is under way
		got := brief(data)
		if strings.Contains(got, "o") && strings.Contains(got, "b") {
			return "two writes under way"
		}
		for i := 1; i < len(data); i++ {
			if order := "oab"; strings.IndexByte(order, data[i]) > strings.IndexByte(order, data[i-1]) {
				return "not a prefix"
			}
		}
	}
	return ""
}

// TestAShortFileOrZeroesButNoOtherBytes: a file that grew without a sync has any size, zeroes where
// a page did not survive, and its own bytes.
func TestAShortFileOrZeroesButNoOtherBytes(t *testing.T) {
	b := newBench(t, Options{})
	b.create("f")
	b.sync("f")
	b.sync("")
	for i := range 4 {
		b.write("f", int64(i)*3000, strings.Repeat("abcd"[i:i+1], 3000))
	}
	crash := b.d.Crash()
	for _, s := range []Survivors{Prefix, Pages, Sectors} {
		sizes, zeroes := make(map[int64]bool), 0
		for seed := range uint64(200) {
			f, _ := crash.Image(Rule{Ordered, s}, seed).File("f")
			data, err := f.Bytes()
			if err != nil {
				t.Fatal(err)
			}
			for i, c := range data {
				if want := "abcd"[i/3000]; c != want && c != 0 {
					t.Fatalf("%v, seed %d: byte %d is %q, want %q or zero", s, seed, i, c, want)
				}
				if c == 0 {
					zeroes++
				}
			}
			sizes[f.Size] = true
		}
		if len(sizes) < 5 || s != Prefix && zeroes == 0 {
			t.Errorf("%v: sizes %v, %d zeroes: the choice is too narrow", s, sizes, zeroes)
		}
	}
}

// TestMetadataSurvivesAsAPrefixUnderOrdered makes ten files, and wants the first few of them in
// every image.
func TestMetadataSurvivesAsAPrefixUnderOrdered(t *testing.T) {
	b := newBench(t, Options{})
	for i := range 10 {
		b.create(fmt.Sprint(i))
	}
	crash := b.d.Crash()
	for _, s := range []Survivors{Prefix, Pages, Sectors} {
		lengths := make(map[int]bool)
		for seed := range uint64(100) {
			img := crash.Image(Rule{Ordered, s}, seed)
			n := 0
			for ; ; n++ {
				if _, ok := img.File(fmt.Sprint(n)); !ok {
					break
				}
			}
			if got := len(img.root.entries); got != n {
				t.Fatalf("%v, seed %d: %d files, of which the first %d", s, seed, got, n)
			}
			lengths[n] = true
		}
		if len(lengths) != 11 {
			t.Errorf("%v: lengths %v, want 0 to 10", s, lengths)
		}
	}
}

func TestTheSameSeedGivesTheSameImageAndExportKeepsIt(t *testing.T) {
	b := newBench(t, Options{})
	scribble(b, 1, 300)
	crash := b.d.Crash()
	for _, r := range Rules() {
		for seed := range uint64(5) {
			img := crash.Image(r, seed)
			if again := crash.Image(r, seed); img.Sum() != again.Sum() {
				t.Fatalf("%v, seed %d: two images differ", r, seed)
			}
			dir := filepath.Join(t.TempDir(), "out")
			if err := img.Export(dir); err != nil {
				t.Fatal(err)
			}
			back, err := Import(dir)
			if err != nil {
				t.Fatal(err)
			}
			if back.root.mode = img.root.mode; back.Sum() != img.Sum() {
				t.Fatalf("%v, seed %d: exported and imported:\n%s\n%s", r, seed, tree(t, img), tree(t, back))
			}
		}
	}
}

// scribble does n random operations, some of them syncs.
func scribble(b bench, seed uint64, n int) {
	b.t.Helper()
	rng := rand.New(rand.NewPCG(seed, 0))
	b.mkdir("d")
	files := []string{"a", "b", "d/c", "d/e"}
	for _, f := range files {
		b.create(f)
	}
	b.link("a", "d/a2")
	for range n {
		f := files[rng.IntN(len(files))]
		switch k := rng.IntN(20); {
		case k < 12:
			b.write(f, rng.Int64N(40*pageSize), strings.Repeat(string(rune('a'+rng.IntN(26))), 1+rng.IntN(3*pageSize)))
		case k < 14:
			b.truncate(f, rng.Int64N(40*pageSize))
		case k < 15:
			b.must(b.d.Fallocate(b.id(f), rng.Int64N(40*pageSize), 1+rng.Int64N(5*pageSize), PunchHole))
		case k < 17:
			b.sync(f)
		case k < 18:
			b.sync("d")
		case k < 19:
			b.rename(f, f+"x")
			b.rename(f+"x", f)
		default:
			b.rename("b", "d/b")
			b.rename("d/b", "b")
		}
	}
}

// TestLittleMemoryChangesNothingThatIsCertain: pages go to the file and come back, and unsynced
// writes are folded.
func TestLittleMemoryChangesNothingThatIsCertain(t *testing.T) {
	for seed := range uint64(5) {
		ample := newBench(t, Options{})
		scarce := newBench(t, Options{Memory: leastMemory})
		for _, b := range []bench{ample, scarce} {
			scribble(b, seed, 400)
			for _, f := range []string{"a", "b", "d/c", "d/e", "d", ""} {
				b.sync(f)
			}
			for i := range 200 { // no metadata: what is folded of that counts as committed
				b.write("a", int64(i%30)*pageSize+100, strings.Repeat(string(rune('A'+i%26)), 2000))
			}
		}
		if scarce.d.pool.file == nil || scarce.d.inodes[scarce.id("a")].folded == 0 {
			t.Fatal("nothing was spilled, or nothing folded")
		}
		for _, r := range Rules() {
			if r.Survivors != Nothing && r.Survivors != Everything {
				continue
			}
			want, got := ample.d.Crash().Image(r, 0), scarce.d.Crash().Image(r, 0)
			if want.Sum() != got.Sum() {
				t.Errorf("seed %d, %v:\n got %.300s\nwant %.300s", seed, r, tree(t, got), tree(t, want))
			}
		}
	}
}

func TestAnImageIsADiskAgain(t *testing.T) {
	b := newBench(t, Options{})
	scribble(b, 3, 100)
	img := b.d.Crash().Image(Rule{Ordered, Everything}, 0)
	sum := img.Sum()
	second := newBench(t, Options{From: img})
	if got := second.d.Crash().Image(Rule{Strict, Nothing}, 0); got.Sum() != sum {
		t.Errorf("untouched: got %s, want %s", tree(t, got), tree(t, img))
	}
	third := newBench(t, Options{From: img})
	third.write("a", 0, "changed")
	third.sync("a")
	third.unlink("b")
	if (&Image{root: img.root}).Sum() != sum {
		t.Error("writing to the disk has changed the image it was made from")
	}
}

func TestCutBeforeAnOperation(t *testing.T) {
	b := newBench(t, Options{})
	settled := false
	b.d.CutBefore(3, func() { settled = true })
	b.create("f")
	b.write("f", 0, "x")
	if _, ok := b.d.CutAt(); ok {
		t.Error("cut before its time")
	}
	if err := b.d.Sync(b.id("f")); err != syscall.EIO {
		t.Fatalf("operation 3: %v, want EIO", err)
	}
	<-b.d.Down()
	if _, ok := b.d.CutAt(); !ok || !settled {
		t.Errorf("cut %v, settled %v", ok, settled)
	}
	if _, err := b.d.Lookup(Root, "f"); err != syscall.EIO {
		t.Errorf("after the cut: %v, want EIO", err)
	}
	if n := b.d.Ops(); n != 2 {
		t.Errorf("%d operations, want 2", n)
	}
}

// TestAWriteBackAtTheCutIsTaken: the page was changed before, though its write-back is the
// operation that power fails before.
func TestAWriteBackAtTheCutIsTaken(t *testing.T) {
	b := newBench(t, Options{From: startingImage(t)})
	id := b.id("old")
	settle := make(chan bool)
	b.d.CutBefore(1, func() { <-settle })
	for _, data := range []string{"AFTER", "LATER"} {
		if n, err := b.d.Write(id, 0, []byte(data), FromCache); n != 5 || err != nil {
			t.Errorf("the write-back: %d, %v", n, err)
		}
	}
	close(settle)
	<-b.d.Down()
	if got := tree(t, b.d.Crash().Image(Rule{Ordered, Everything}, 0)); got != "d/ old=LATERe" {
		t.Errorf("got %s", got)
	}
	if _, err := b.d.Write(id, 0, []byte("x"), FromCache); err != syscall.EIO {
		t.Errorf("without power: %v, want EIO", err)
	}
}

func TestFaults(t *testing.T) {
	b := newBench(t, Options{Faults: []Fault{
		{Op: OnWrite, Nth: 2, Err: syscall.ENOSPC, Match: "*.log"},
		{Op: OnWrite, Nth: 3, Short: true, Match: "*.log"},
		{Op: OnSync, Nth: 2, Sticky: true, Match: "d/*"},
		{Op: OnRename, Nth: 1},
		{Op: OnWrite, Nth: 1, Done: true, Match: "other"},
	}})
	b.mkdir("d")
	b.create("d/f.log")
	b.create("other")
	id := b.id("d/f.log")
	step := func(want error, wantN int, n int, err error) {
		t.Helper()
		if err != want || n != wantN {
			t.Errorf("got %d, %v, want %d, %v", n, err, wantN, want)
		}
	}
	write := func() (int, error) { return b.d.Write(id, 0, []byte("1234"), FromCall) }
	n, err := write()
	step(nil, 4, n, err)
	n, err = write()
	step(syscall.ENOSPC, 0, n, err)
	n, err = write()
	step(nil, 2, n, err)
	n, err = b.d.Write(b.id("other"), 0, []byte("told nobody"), FromCall)
	step(syscall.EIO, 0, n, err)
	if f, ok := b.d.Image(Rule{Ordered, Everything}, 0).File("other"); !ok || f.Size != int64(len("told nobody")) {
		t.Errorf("a write that failed when it was done: %v, %d bytes", ok, f.Size)
	}
	for _, want := range []error{nil, syscall.EIO, syscall.EIO} {
		step(want, 0, 0, b.d.Sync(id))
	}
	step(syscall.EIO, 0, 0, b.d.Rename(Root, "other", Root, "another", Replace))
	b.rename("other", "another")
	struck := b.d.Struck()
	if len(struck) != 6 || struck[0].Path != "d/f.log" || struck[5].Fault.Op != OnRename {
		t.Errorf("struck %+v", struck)
	}
	if _, err := New(Options{Faults: []Fault{{Op: OnSync, Short: true, Nth: 1}}}); err == nil {
		t.Error("a short sync was taken")
	}
	if _, err := New(Options{Faults: []Fault{{Op: OnWrite, Short: true, Done: true, Nth: 1}}}); err == nil {
		t.Error("a write that is half and wholly done was taken")
	}
}

// TestAFailedSyncLosesItsPages: no later sync writes them, as on Linux.
func TestAFailedSyncLosesItsPages(t *testing.T) {
	b := newBench(t, Options{From: startingImage(t), Faults: []Fault{{Op: OnSync, Nth: 1}}})
	b.write("old", 0, "AFTER!")
	if err := b.d.Sync(b.id("old")); err != syscall.EIO {
		t.Fatal(err)
	}
	b.sync("old")
	b.write("old", pageSize, "z")
	b.sync("old")
	if got := tree(t, b.d.Crash().Image(Rule{Ordered, Nothing}, 0)); got != "d/ old=before4090×0z" {
		t.Errorf("got %s", got)
	}
	if got := tree(t, b.d.Crash().Image(Rule{Ordered, Everything}, 0)); got != "d/ old=AFTER!4090×0z" {
		t.Errorf("got %s", got)
	}
}

// TestAFailedSyncLosesNoTruncation: were it lost, the old bytes would come back when the file
// grows.
func TestAFailedSyncLosesNoTruncation(t *testing.T) {
	b := newBench(t, Options{From: startingImage(t), Faults: []Fault{{Op: OnSync, Nth: 1}}})
	b.truncate("old", 2)
	if err := b.d.Sync(b.id("old")); err != syscall.EIO {
		t.Fatal(err)
	}
	b.truncate("old", 6)
	b.sync("old")
	for _, r := range Rules() {
		if got := tree(t, b.d.Crash().Image(r, 0)); got != "d/ old=be4×0" {
			t.Errorf("%v: got %s", r, got)
		}
	}
}

func TestSpaceEnds(t *testing.T) {
	b := newBench(t, Options{Space: 4 * pageSize})
	b.create("f")
	id := b.id("f")
	n, err := b.d.Write(id, 0, make([]byte, 10*pageSize), FromCall)
	if n != 4*pageSize || err != nil {
		t.Errorf("wrote %d, %v", n, err)
	}
	if _, err := b.d.Write(id, 4*pageSize, []byte("x"), FromCall); err != syscall.ENOSPC {
		t.Errorf("got %v, want ENOSPC", err)
	}
	b.unlink("f")
	b.create("g")
	b.write("g", 0, "fits")
}

func TestCountersByKind(t *testing.T) {
	b := newBench(t, Options{})
	for _, f := range []string{"000001.log", "000002.log", "MANIFEST-000001", "CURRENT"} {
		b.create(f)
		b.write(f, 0, "abc")
		b.sync(f)
	}
	b.sync("")
	b.rename("000001.log", "x")
	if got := b.d.Counters(); got != (Counters{Writes: 4, Bytes: 12, Syncs: 5, Creates: 4, Renames: 1}) {
		t.Errorf("total %+v", got)
	}
	kinds := b.d.CountersByKind()
	for kind, want := range map[string]Counters{
		".log":     {Writes: 2, Bytes: 6, Syncs: 2, Creates: 2, Renames: 1},
		"MANIFEST": {Writes: 1, Bytes: 3, Syncs: 1, Creates: 1}, "CURRENT": {Writes: 1, Bytes: 3, Syncs: 1, Creates: 1},
		"/": {Syncs: 1},
	} {
		if kinds[kind] != want {
			t.Errorf("%s: %+v, want %+v", kind, kinds[kind], want)
		}
	}
}

// TestLatency asserts lower bounds only: a loaded machine is never too fast.
func TestLatency(t *testing.T) {
	l := Latency{Seek: 3 * time.Millisecond, Sync: 5 * time.Millisecond, BytesPerSecond: pageSize * 1000}
	b := newBench(t, Options{Latency: l})
	b.create("f")
	b.sync("")
	for i := range 4 { // two runs of two pages
		b.write("f", int64(i+i/2*10)*pageSize, strings.Repeat("x", pageSize))
	}
	start := time.Now()
	b.sync("f")
	want := 2*l.Seek + 4*time.Millisecond + l.Sync + l.Seek + time.Millisecond // and the journal
	if took := time.Since(start); took < want {
		t.Errorf("the sync took %v, want %v", took, want)
	}
	done := make(chan error)
	start = time.Now()
	for range 3 {
		go func() { done <- b.d.Sync(Root) }()
	}
	for range 3 {
		b.must(<-done)
	}
	if took := time.Since(start); took < 3*l.Sync {
		t.Errorf("three flushes took %v, want %v: they have one disk", took, 3*l.Sync)
	}
	l = Latency{Sync: time.Millisecond, Hiccup: 4 * time.Millisecond}
	b = newBench(t, Options{Latency: l})
	start = time.Now()
	for range 4 {
		b.sync("")
	}
	if took := time.Since(start); took < 3*l.Sync+l.Hiccup {
		t.Errorf("four flushes took %v, want %v and a hiccup of %v", took, 3*l.Sync, l.Hiccup)
	}
	for _, l := range []Latency{{Amid: 1}, {Hiccup: 1}, {Sync: 1, Amid: -1}} {
		if _, err := New(Options{Latency: l}); err == nil {
			t.Errorf("%v is taken", l)
		}
	}
	for _, p := range Profiles() {
		if got, err := ParseLatency(p.Name); err != nil || got != p || !strings.Contains(p.String(), "MB/s") {
			t.Errorf("%v: %v, %v", p, got, err)
		}
	}
}

func TestRulesHaveNames(t *testing.T) {
	for _, r := range Rules() {
		if got, err := ParseRule(r.String()); err != nil || got != r {
			t.Errorf("%v: %v, %v", r, got, err)
		}
	}
	if _, err := ParseRule("ordered"); err == nil {
		t.Error("half a rule was taken")
	}
	if n := len(Rules()); n != 15 {
		t.Errorf("%d rules", n)
	}
}

func BenchmarkImageAndExport(b *testing.B) {
	d, err := New(Options{})
	if err != nil {
		b.Fatal(err)
	}
	a, err := d.Create(Root, "f", 0o644, Owner{})
	if err != nil {
		b.Fatal(err)
	}
	data := make([]byte, 1<<20)
	for i := range data {
		data[i] = byte(i>>12) + 1
	}
	for i := range int64(5) {
		if _, err := d.Write(a.ID, i<<20, data, FromCall); err != nil {
			b.Fatal(err)
		}
	}
	crash := d.Crash()
	seed := uint64(0)
	for b.Loop() {
		img := crash.Image(Rule{Ordered, Sectors}, seed)
		img.Sum()
		dir := filepath.Join(b.TempDir(), fmt.Sprint(seed))
		if err := img.Export(dir); err != nil {
			b.Fatal(err)
		}
		os.RemoveAll(dir)
		seed++
	}
}
