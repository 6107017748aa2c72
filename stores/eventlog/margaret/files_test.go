package margaret_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/detect"
	"github.com/assaydb/assay/stores/eventlog/feed"
	"github.com/assaydb/assay/stores/eventlog/margaret"
)

// files are the contents of a log's files.
type files struct{ data, ofst, jrnl []byte }

// encode returns the files of a log, as the format says and not as the package writes them. A nil
// message was erased and had three bytes.
func encode(messages ...[]byte) (f files) {
	for i, m := range messages {
		f.ofst = binary.BigEndian.AppendUint64(f.ofst, uint64(len(f.data)))
		if m == nil {
			minus := int64(-3)
			f.data = append(binary.BigEndian.AppendUint64(f.data, uint64(minus)), 0, 0, 0)
		} else {
			f.data = append(binary.BigEndian.AppendUint64(f.data, uint64(len(m))), m...)
		}
		f.jrnl = binary.BigEndian.AppendUint64(nil, uint64(i))
	}
	return f
}

func (f files) clone() files {
	return files{bytes.Clone(f.data), bytes.Clone(f.ofst), bytes.Clone(f.jrnl)}
}

func (f files) write(t testing.TB, dir string) {
	t.Helper()
	for name, content := range map[string][]byte{"data": f.data, "ofst": f.ofst, "jrnl": f.jrnl} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func readFiles(t testing.TB, dir string) (f files) {
	t.Helper()
	for name, content := range map[string]*[]byte{"data": &f.data, "ofst": &f.ofst, "jrnl": &f.jrnl} {
		var err error
		if *content, err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func equal(a, b files) bool {
	return bytes.Equal(a.data, b.data) && bytes.Equal(a.ofst, b.ofst) && bytes.Equal(a.jrnl, b.jrnl)
}

// contents reads all messages by number and again by a scan, which must agree.
func contents(log *margaret.Log) (all [][]byte, err error) {
	err = log.View(ctx(), func(s *feed.Snapshot) error {
		for seq := range s.Len() {
			m, err := s.Get(seq)
			if err != nil && !errors.Is(err, kv.NotFound) {
				return err
			}
			all = append(all, m)
		}
		for seq, m := range s.Scan(0, s.Len()) {
			if !bytes.Equal(m, all[seq]) || (m == nil) != (all[seq] == nil) {
				return fmt.Errorf("message %d is %q by number and %q in a scan", seq, all[seq], m)
			}
		}
		return s.Err()
	})
	return all, err
}

// folder returns an empty folder, in memory where the system has a place for that: what these tests
// try does not depend on the disk, and its syncs would take most of their time.
func folder(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "margaret-*")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// opened opens f in a new folder and returns what it holds and what was repaired, after it has
// checked that the log goes on and opens again.
func opened(t testing.TB, f files) (all [][]byte, repaired margaret.Repair, err error) {
	t.Helper()
	dir := folder(t)
	f.write(t, dir)
	return reopened(t, dir)
}

func reopened(t testing.TB, dir string) (all [][]byte, repaired margaret.Repair, err error) {
	t.Helper()
	log, err := margaret.Open(ctx(), dir, nil)
	if err != nil {
		return nil, repaired, err
	}
	if all, err = contents(log); err != nil {
		return nil, repaired, errors.Join(err, log.Close())
	}
	after := append(slices.Clone(all), []byte("after"))
	if first, err := log.Append(ctx(), kv.Flushed, []byte("after")); err != nil || first != uint64(len(all)) {
		t.Fatalf("append afterwards: %d, %v, want %d", first, err, len(all))
	}
	repaired = log.Repaired()
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	log, err = margaret.Open(ctx(), dir, nil)
	if err != nil {
		t.Fatalf("open again after %v: %v", repaired, err)
	}
	defer log.Close()
	if again := log.Repaired(); again != (margaret.Repair{}) {
		t.Fatalf("after %v there was more to repair: %v", repaired, again)
	}
	if got, err := contents(log); err != nil || !slices.EqualFunc(got, after, bytes.Equal) {
		t.Fatalf("after %v and an append: %q, %v, want %q", repaired, got, err, after)
	}
	return all, repaired, nil
}

// isPrefix reports whether got is the beginning of want.
func isPrefix(got, want [][]byte) bool {
	return len(got) <= len(want) && slices.EqualFunc(got, want[:len(got)], bytes.Equal)
}

// texts returns n messages of various lengths.
func texts(n int) (all [][]byte) {
	for i := range n {
		all = append(all, bytes.Repeat(fmt.Appendf(nil, "message %d;", i), i%7))
	}
	return all
}

func TestFilesAreAsTheFormatSays(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "log")
	log, err := margaret.Open(ctx(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := readFiles(t, dir); !equal(got, files{}) {
		t.Errorf("an empty log is %q", got)
	}
	all := texts(20)
	for i := 0; i < 20; i += 5 {
		d := []kv.Durability{kv.Synced, kv.Flushed, kv.Buffered}[i/5%3]
		if first, err := log.Append(ctx(), d, all[i:i+5]...); err != nil || first != uint64(i) {
			t.Fatal(first, err)
		}
		if got, want := readFiles(t, dir), encode(all[:i+5]...); !equal(got, want) {
			t.Fatalf("after %d messages: %q, want %q", i+5, got, want)
		}
	}
	if err := log.Check(ctx()); err != nil {
		t.Error(err)
	}
	if size, err := log.Size(); err != nil || size.Files != 5 || size.Apparent < int64(len(encode(all...).data)) {
		t.Errorf("size %+v, %v", size, err)
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
}

func TestALogThatAnotherProgramWroteIsRead(t *testing.T) {
	want := [][]byte{[]byte("one"), nil, {}, []byte("four")}
	got, repaired, err := opened(t, encode(want...))
	if err != nil || !slices.EqualFunc(got, want, bytes.Equal) || got[1] != nil || repaired != (margaret.Repair{}) {
		t.Errorf("got %q, %v, %v, want %q", got, repaired, err, want)
	}
}

func TestAMessageIsErasedForGood(t *testing.T) {
	dir := t.TempDir()
	encode([]byte("one"), []byte("two"), []byte("three"), []byte{}).write(t, dir)
	log, err := margaret.Open(ctx(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := log.Null(ctx(), 1); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := readFiles(t, dir), encode([]byte("one"), nil, []byte("three"), []byte{}); !equal(got, want) {
		t.Errorf("the files are %q, want %q", got, want)
	}
	if _, err := log.Get(ctx(), 1); !errors.Is(err, kv.NotFound) {
		t.Errorf("get: %v, want NotFound", err)
	}
	if err := log.Null(ctx(), 4); !errors.Is(err, kv.NotFound) {
		t.Errorf("null behind the end: %v, want NotFound", err)
	}
	if err := log.Null(ctx(), 3); err != nil {
		t.Errorf("null of an empty message: %v", err)
	}
	if err := log.Null(ctx(), 2); err != nil {
		t.Errorf("null of the last: %v", err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if err := log.Null(ctx(), 0); !errors.Is(err, kv.Closed) {
		t.Errorf("null of a closed log: %v, want Closed", err)
	}
	if got, repaired, err := reopened(t, dir); err != nil || len(got) != 4 || got[2] != nil ||
		repaired != (margaret.Repair{}) {
		t.Errorf("opened again: %q, %v, %v", got, repaired, err)
	}
}

// Every state that a kill can leave, as the kernel keeps the order of writes: data, ofst and jrnl
// up to each byte.
func TestAnAppendThatWasKilledIsThereWholeOrNotAtAll(t *testing.T) {
	for _, before := range []int{0, 1, 4} {
		all := texts(before + 4)
		old, whole := encode(all[:before]...), encode(all...)
		f := old.clone()
		check := func(want int) {
			t.Helper()
			got, repaired, err := opened(t, f)
			if err != nil || len(got) != want || !isPrefix(got, all) {
				t.Fatalf("%d bytes of data, %d of ofst, jrnl %x: got %d messages, %v, %v, want %d",
					len(f.data), len(f.ofst), f.jrnl, len(got), repaired, err, want)
			}
			if cut := int64(len(f.data) - len(encode(all[:want]...).data)); repaired.Bytes != cut {
				t.Fatalf("%v was reported, %d bytes were cut", repaired, cut)
			}
		}
		for n := len(old.data); n <= len(whole.data); n++ {
			f.data = whole.data[:n]
			check(before)
		}
		for n := len(old.ofst); n <= len(whole.ofst); n++ {
			f.ofst = whole.ofst[:n]
			check(before)
		}
		f.jrnl = whole.jrnl
		check(before + 4)
	}
}

// A synced append has synced data and ofst before it writes jrnl: until then a power loss may leave
// any sectors of what it wrote, and zeros in place of others, in files that are longer or not;
// afterwards the whole.
func TestAPowerLossTakesNothingThatWasSynced(t *testing.T) {
	seed := rand.Uint64()
	t.Log("seed", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 200 {
		before := r.IntN(40)
		all := texts(before + 1 + r.IntN(200))
		old, whole := encode(all[:before]...), encode(all...)
		f := files{data: torn(r, old.data, whole.data), ofst: torn(r, old.ofst, whole.ofst), jrnl: old.jrnl}
		got, repaired, err := opened(t, f)
		if err != nil || len(got) != before || !isPrefix(got, all) {
			t.Fatalf("%d messages synced and an append of %d torn: got %d, %v, %v", before, len(all)-before, len(got),
				repaired, err)
		}
	}
}

// torn returns what is left of a file that was old and is being made whole.
func torn(r *rand.Rand, old, whole []byte) []byte {
	const sector = 512
	left := make([]byte, len(old)+r.IntN(len(whole)-len(old)+1))
	for at := 0; at < len(left); at += sector {
		end := min(at+sector, len(left))
		if r.IntN(2) == 0 {
			copy(left[at:end], whole[at:])
		} else if at < len(old) {
			copy(left[at:end], old[at:])
		}
	}
	return left
}

// Margaret writes the journal first, then length, bytes and offset, one message at a time.
func TestALogThatMargaretWasKilledInOpens(t *testing.T) {
	all := texts(6)
	all[5] = []byte("the last one")
	old, whole := encode(all[:5]...), encode(all...)
	f := old.clone()
	check := func(want int, repair margaret.Repair) {
		t.Helper()
		got, repaired, err := opened(t, f)
		if err != nil || len(got) != want || !isPrefix(got, all) || repaired != repair {
			t.Fatalf("%q: got %d messages, %+v, %v, want %d, %+v", f, len(got), repaired, err, want, repair)
		}
	}
	f.jrnl = whole.jrnl
	for n := len(old.data); n < len(whole.data); n++ {
		f.data = whole.data[:n]
		check(5, margaret.Repair{Lost: 1, Bytes: int64(n - len(old.data))})
	}
	f.data = whole.data
	check(6, margaret.Repair{Restored: 1})
	f.ofst = whole.ofst[:len(whole.ofst)-3]
	check(6, margaret.Repair{Restored: 1})
	f.ofst = whole.ofst
	check(6, margaret.Repair{})

	f = files{jrnl: encode([]byte("x")).jrnl}
	check(0, margaret.Repair{Lost: 1})
}

func TestDamageIsAnErrorOrAShorterLog(t *testing.T) {
	all := texts(11)
	whole := encode(all...)
	lengths := map[int]bool{} // bytes of data that are part of a length
	for i := range all {
		at := int(binary.BigEndian.Uint64(whole.ofst[i*8:]))
		for j := range 8 {
			lengths[at+j] = true
		}
	}
	tried := 0
	for which := range 3 {
		for at := range [][]byte{whole.data, whole.ofst, whole.jrnl}[which] {
			for _, change := range []byte{1, 0x80, 0xff} {
				f := whole.clone()
				[][]byte{f.data, f.ofst, f.jrnl}[which][at] ^= change
				got, repaired, err := opened(t, f)
				tried++
				switch {
				case err != nil && errors.Is(err, kv.Corrupt):
				case err != nil:
					t.Fatalf("byte %d of file %d: %v, want Corrupt", at, which, err)
				case which == 0 && !lengths[at]:
					if len(got) != len(all) { // the format has no checksums
						t.Fatalf("byte %d of a message: %d messages, want %d", at, len(got), len(all))
					}
				case which == 0 && change == 0x80 && len(got) == len(all):
					t.Fatalf("byte %d of a length: taken as it is", at)
				case !isPrefix(got, all):
					t.Fatalf("byte %d of file %d: got %q, %v", at, which, got, repaired)
				}
			}
		}
	}
	t.Logf("%d changes", tried)
}

func TestFilesThatAreNoLogAreRefusedAndLeftAsTheyAre(t *testing.T) {
	whole := encode(texts(9)...)
	for name, f := range map[string]files{
		"a journal of 3 bytes": {whole.data, whole.ofst, whole.jrnl[:3]},
		"a journal of 9 bytes": {whole.data, whole.ofst, append(bytes.Clone(whole.jrnl), 0)},
		"a negative journal":   {whole.data, whole.ofst, bytes.Repeat([]byte{255}, 8)},
		"offsets that go back": {whole.data, append(bytes.Clone(whole.ofst[:40]), whole.ofst[32:]...),
			encode(texts(10)...).jrnl},
		"offsets that begin late":               {whole.data, whole.ofst[8:], encode(texts(8)...).jrnl},
		"more offsets than one append can make": {nil, make([]byte, 8*(feed.MaxAppend+1)), nil},
		"text":                                  {[]byte("some text that is no log at all"), nil, nil},
	} {
		dir := t.TempDir()
		f.write(t, dir)
		log, err := margaret.Open(ctx(), dir, nil)
		if !errors.Is(err, kv.Corrupt) || kv.HintOf(err) == "" {
			t.Errorf("%s: error %v, want Corrupt with a hint", name, err)
		}
		if err == nil {
			log.Close()
		}
		if got := readFiles(t, dir); !equal(got, f) {
			t.Errorf("%s: the files were changed", name)
		}
	}
	dir := t.TempDir()
	whole.write(t, dir)
	if err := os.Remove(filepath.Join(dir, "jrnl")); err != nil {
		t.Fatal(err)
	}
	if _, err := margaret.Open(ctx(), dir, nil); !errors.Is(err, kv.Corrupt) {
		t.Errorf("without a journal: %v, want Corrupt", err)
	}
}

func FuzzOpen(f *testing.F) {
	whole := encode([]byte("one"), nil, []byte("three"))
	f.Add(whole.data, whole.ofst, whole.jrnl)
	f.Add(whole.data, whole.ofst[:16], whole.jrnl)
	f.Add(whole.data[:20], whole.ofst, whole.jrnl)
	f.Add([]byte{}, []byte{}, []byte{})
	f.Fuzz(func(t *testing.T, data, ofst, jrnl []byte) {
		if _, _, err := opened(t, files{data, ofst, jrnl}); err != nil && !errors.Is(err, kv.Corrupt) {
			t.Fatalf("error %v, want Corrupt or none", err)
		}
	})
}

// TestDetectTellsOfALogThatWasCut: whichever of its files lacks its end.
func TestDetectTellsOfALogThatWasCut(t *testing.T) {
	whole := encode([]byte("one"), nil, []byte("three"))
	look := func(f files) detect.Found {
		dir := t.TempDir()
		f.write(t, dir)
		found, err := detect.Path(dir)
		if err != nil || found.Engine != "margaret" {
			t.Errorf("found %v, %v", found, err)
		}
		return found
	}
	for _, f := range []files{whole, {}} {
		if found := look(f); found.State != detect.Clean {
			t.Errorf("of a whole one: %v", found)
		}
	}
	for name, file := range map[string]func(f *files) *[]byte{"data": func(f *files) *[]byte { return &f.data },
		"ofst": func(f *files) *[]byte { return &f.ofst }, "jrnl": func(f *files) *[]byte { return &f.jrnl }} {
		for size := range len(*file(&whole)) {
			f := whole.clone()
			*file(&f) = (*file(&f))[:size]
			if found := look(f); found.State == detect.Clean || found.Detail == "" {
				t.Errorf("%s cut to %d bytes: %v", name, size, found)
			}
		}
	}
	long := make([][]byte, feed.MaxAppend+10)
	for i := range long {
		long[i] = []byte("x")
	}
	f := encode(long...)
	f.data = f.data[:20] // more is missing than one append has
	if found := look(f); found.State != detect.Damaged {
		t.Errorf("of a long one: %v", found)
	}
}

// TestALookChangesNothing opens logs to read them, as a crash leaves them too, and finds what is
// there once they were opened for writing.
func TestALookChangesNothing(t *testing.T) {
	whole := encode([]byte("one"), nil, []byte("three"))
	for name, change := range map[string]func(f *files){
		"a whole one":                    func(*files) {},
		"an empty one":                   func(f *files) { *f = files{} },
		"one with a torn message":        func(f *files) { f.data = append(f.data, 0, 0, 0) },
		"one with a torn offset":         func(f *files) { f.ofst = append(f.ofst, 0, 0, 0) },
		"one that lacks the last bytes":  func(f *files) { f.data = f.data[:len(f.data)-1] },
		"one with an offset too many":    func(f *files) { f.ofst = binary.BigEndian.AppendUint64(f.ofst, uint64(len(f.data))) },
		"one that lacks the last offset": func(f *files) { f.ofst = f.ofst[:len(f.ofst)-8] },
	} {
		t.Run(name, func(t *testing.T) {
			f, dir := whole.clone(), t.TempDir()
			change(&f)
			f.write(t, dir)
			log, err := margaret.Open(ctx(), dir, &margaret.Options{ReadOnly: true})
			if name == "one that lacks the last offset" {
				if !errors.Is(err, kv.NotWritable) || kv.HintOf(err) == "" {
					t.Errorf("of messages that need offsets: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := contents(log)
			if err != nil {
				t.Error(err)
			}
			if _, err := log.Append(ctx(), kv.Synced, []byte("x")); !errors.Is(err, kv.NotWritable) {
				t.Errorf("append: %v", err)
			}
			if err := log.Null(ctx(), 0); !errors.Is(err, kv.NotWritable) {
				t.Errorf("null: %v", err)
			}
			if r := log.Repaired(); r != (margaret.Repair{}) {
				t.Errorf("repaired: %v", r)
			}
			if err := log.Close(); err != nil {
				t.Error(err)
			}
			entries, err := os.ReadDir(dir)
			if err != nil || len(entries) != 3 || !equal(f, readFiles(t, dir)) {
				t.Errorf("the look has changed the folder: %v, %v", entries, err)
			}
			if log, err = margaret.Open(ctx(), dir, nil); err != nil {
				t.Fatal(err)
			}
			defer log.Close()
			want, err := contents(log)
			if err != nil || !slices.EqualFunc(got, want, bytes.Equal) {
				t.Errorf("read %q, and then %q, %v", got, want, err)
			}
			beside := &margaret.Options{ReadOnly: true, Wait: margaret.NoWait}
			if _, err := margaret.Open(ctx(), dir, beside); !errors.Is(err, kv.Busy) {
				t.Errorf("a look beside a writer: %v", err)
			}
		})
	}
	if _, err := margaret.Open(ctx(), t.TempDir(), &margaret.Options{ReadOnly: true}); !errors.Is(err, kv.NoStore) {
		t.Errorf("of an empty folder: %v", err)
	}
}
