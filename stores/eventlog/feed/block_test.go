package feed_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog/feed"
	"github.com/assaydb/assay/stores/eventlog/feedtest"
)

// post returns a message as Secure Scuttlebutt has them, about 400 bytes of which 172 are random.
func post(r *rand.Rand, seq int) []byte {
	random := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return base64.StdEncoding.EncodeToString(b)
	}
	return fmt.Appendf(nil, "{\n\t\"previous\": \"%%%s.sha256\",\n\t\"author\": \"@%s.ed25519\",\n\t\"sequence\": %d,\n\t\"timestamp\": %d,\n"+
		"\t\"hash\": \"sha256\",\n\t\"content\": {\n\t\t\"type\": \"post\",\n\t\t\"text\": \"%s\"\n\t}\n}",
		random(32), random(32), seq, r.Uint64(), random(100))
}

func posts(n int) (all [][]byte) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		all = append(all, post(r, i))
	}
	return all
}

// stored returns the bytes in all values and keys of a feed of messages.
func stored(t *testing.T, messages [][]byte, o *feed.Options) (total int) {
	t.Helper()
	db := memory(t)
	f := begin(t, db, o)
	if _, err := f.Append(t.Context(), kv.Buffered, messages...); err != nil {
		t.Fatal(err)
	}
	check(t, f, messages)
	if err := db.View(t.Context(), func(s *kv.Snapshot) error {
		for k, v := range s.Scan(kv.Range{}) {
			total += len(k) + len(v)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return total
}

func memory(t *testing.T) *kv.DB {
	t.Helper()
	db, err := kv.Open(t.Context(), "mem:")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func begin(t *testing.T, db *kv.DB, o *feed.Options) *feed.Feed {
	t.Helper()
	f, err := feed.Open(t.Context(), db, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func check(t *testing.T, f *feed.Feed, want [][]byte) {
	t.Helper()
	var got [][]byte
	if err := f.View(t.Context(), func(s *feed.Snapshot) error {
		for _, m := range s.Scan(0, s.Len()) {
			got = append(got, bytes.Clone(m))
		}
		return nil
	}); err != nil || !slices.EqualFunc(got, want, bytes.Equal) {
		t.Fatalf("%d messages, %v, want %d", len(got), err, len(want))
	}
}

// The random part of a post is 43 % of it; what is stored for everything else must be little.
func TestMessagesOfOneKindTakeAboutHalfInBlocks(t *testing.T) {
	messages := posts(2000)
	dictionary, err := feed.Train(posts(200), 0)
	if err != nil {
		t.Fatal(err)
	}
	plain := stored(t, messages, nil)
	for _, c := range []struct {
		block      int
		dictionary []byte
		most       float64
	}{{0, nil, 0.51}, {64 << 10, nil, 0.50}, {4 << 10, nil, 0.56}, {4 << 10, dictionary, 0.54}, {1, dictionary, 0.80}} {
		zstd := stored(t, messages, &feed.Options{Compression: feed.Zstd, Block: c.block, Dictionary: c.dictionary})
		share := float64(zstd) / float64(plain)
		t.Logf("blocks of %d bytes, dictionary of %d: %.1f %%", c.block, len(c.dictionary), 100*share)
		if share > c.most {
			t.Errorf("blocks of %d bytes, dictionary of %d: %.3f of the plain feed, want at most %.2f", c.block,
				len(c.dictionary), share, c.most)
		}
	}
}

func TestAFeedKeepsTheOptionsThatItWasBegunWith(t *testing.T) {
	dictionary, err := feed.Train(posts(100), 0)
	if err != nil {
		t.Fatal(err)
	}
	zstd, trained := &feed.Options{Compression: feed.Zstd}, &feed.Options{Compression: feed.Zstd,
		Dictionary: dictionary}
	all := []*feed.Options{nil, zstd, trained}
	for i, begun := range all {
		db := memory(t)
		f := begin(t, db, begun)
		messages := posts(100)
		if _, err := f.Append(t.Context(), kv.Buffered, messages...); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		for j, o := range all {
			f, err := feed.Open(t.Context(), db, o)
			if ok := i == j || i == 2 && j == 1; !ok {
				if !errors.Is(err, kv.Invalid) || kv.HintOf(err) == "" {
					t.Errorf("begun with options %d, opened with %d: error %v, want Invalid with a hint", i, j, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("begun with options %d, opened with %d: %v", i, j, err)
				continue
			}
			check(t, f, messages)
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestWrongOptionsAreRefused(t *testing.T) {
	db := memory(t)
	for _, o := range []feed.Options{{Compression: 7}, {Block: -1}, {Block: feed.MaxBlock + 1},
		{Dictionary: []byte("x")},
		{Compression: feed.Zstd, Dictionary: []byte("no dictionary")}} {
		if _, err := feed.Open(t.Context(), db, &o); !errors.Is(err, kv.Invalid) || kv.HintOf(err) == "" {
			t.Errorf("%+v: error %v, want Invalid with a hint", o, err)
		}
	}
	if _, err := feed.Train(nil, 0); !errors.Is(err, kv.Invalid) {
		t.Errorf("train without samples: %v, want Invalid", err)
	}
	noise := make([][]byte, 20)
	for i := range noise {
		noise[i] = []byte{byte(i)}
	}
	if _, err := feed.Train(noise, 0); !errors.Is(err, kv.Invalid) {
		t.Errorf("train on samples with nothing in common: %v, want Invalid", err)
	}
}

// A changed byte of a block or a key is an error, or a shorter feed; never another message.
func TestADamagedBlockIsCorrupt(t *testing.T) {
	messages := posts(60)
	db := memory(t)
	f := begin(t, db, &feed.Options{Compression: feed.Zstd, Block: 4 << 10})
	if _, err := f.Append(t.Context(), kv.Buffered, messages...); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	key := append([]byte{'z'}, make([]byte, 8)...)
	var block []byte
	put := func(value []byte) {
		t.Helper()
		if err := db.Update(t.Context(), kv.Buffered, func(tx *kv.Tx) error { return tx.Put(key, value) }); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.View(t.Context(), func(s *kv.Snapshot) (err error) {
		block, err = s.Get(key)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for at := range len(block) {
		damaged := bytes.Clone(block)
		damaged[at] ^= byte(1 + at%255)
		put(damaged)
		wantDamage(t, db, messages, fmt.Sprintf("byte %d changed", at))
	}
	for at := range len(block) {
		put(block[:at])
		wantDamage(t, db, messages, fmt.Sprintf("cut at byte %d", at))
	}
}

func wantDamage(t *testing.T, db *kv.DB, messages [][]byte, what string) {
	t.Helper()
	f, err := feed.Open(t.Context(), db, &feed.Options{Compression: feed.Zstd})
	if err != nil {
		t.Fatalf("%s: open: %v", what, err)
	}
	defer f.Close()
	failed := false
	for _, seq := range []uint64{0, 1, 5} {
		m, err := f.Get(t.Context(), seq)
		failed = failed || errors.Is(err, kv.Corrupt)
		if err == nil && !bytes.Equal(m, messages[seq]) {
			t.Fatalf("%s: message %d is %q", what, seq, m)
		}
	}
	err = f.View(t.Context(), func(s *feed.Snapshot) error {
		for seq, m := range s.Scan(0, s.Len()) {
			if !bytes.Equal(m, messages[seq]) {
				t.Fatalf("%s: message %d is %q in a scan", what, seq, m)
			}
		}
		return nil
	})
	if !errors.Is(err, kv.Corrupt) && failed {
		t.Fatalf("%s: by number it is Corrupt, in a scan %v", what, err)
	}
	if !errors.Is(err, kv.Corrupt) {
		check(t, f, messages) // a change that changes nothing, as of a bit that a frame does not use
	}
}

func TestAMissingMessageIsCorrupt(t *testing.T) {
	for _, o := range []*feed.Options{nil, {Compression: feed.Zstd, Block: 4 << 10}} {
		db := memory(t)
		f := begin(t, db, o)
		if _, err := f.Append(t.Context(), kv.Buffered, posts(34)...); err != nil {
			t.Fatal(err)
		}
		prefix, from := byte('q'), uint64(17)
		if o != nil {
			prefix = 'z'
		}
		if err := db.Update(t.Context(), kv.Buffered, func(tx *kv.Tx) error {
			for key := range tx.Scan(kv.Prefix([]byte{prefix})) {
				if n, _ := kv.LastUint64(key); n >= 11 {
					from = n
					break
				}
			}
			return tx.Delete(kv.AppendUint64([]byte{prefix}, from))
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Get(t.Context(), from); !errors.Is(err, kv.Corrupt) {
			t.Errorf("get %d: %v, want Corrupt", from, err)
		}
		n := uint64(0)
		err := f.View(t.Context(), func(s *feed.Snapshot) error {
			for range s.Scan(0, s.Len()) {
				n++
			}
			return nil
		})
		if !errors.Is(err, kv.Corrupt) || n != from {
			t.Errorf("scan: %d messages, %v, want %d and Corrupt", n, err, from)
		}
	}
}

func TestNamespace(t *testing.T) {
	db := memory(t)
	for _, name := range []string{"a/", "b/"} {
		f := begin(t, db.Namespace([]byte(name)), &feed.Options{Compression: feed.Zstd})
		if first, err := f.Append(t.Context(), kv.Buffered, posts(100)...); err != nil || first != 0 {
			t.Errorf("two feeds in one store: %d, %v, want 0", first, err)
		}
		check(t, f, posts(100))
	}
}

func BenchmarkAppend(b *testing.B) {
	messages := posts(5000)
	for _, engine := range []string{"pebble", "bbolt"} {
		for _, compression := range []feed.Compression{feed.Plain, feed.Zstd} {
			for _, n := range []int{1, 100, 5000} {
				b.Run(fmt.Sprintf("%s/%v/%d", engine, compression, n), func(b *testing.B) {
					f, closeAll, err := feedtest.OpenKV(engine+":"+filepath.Join(b.TempDir(), "feed"),
						&feed.Options{Compression: compression})
					if err != nil {
						b.Fatal(err)
					}
					b.ReportAllocs()
					for b.Loop() {
						if _, err := f.Append(b.Context(), kv.Buffered, messages[:n]...); err != nil {
							b.Fatal(err)
						}
					}
					if err := closeAll(); err != nil {
						b.Fatal(err)
					}
				})
			}
		}
	}
}

func BenchmarkRandom(b *testing.B) {
	const n = 20_000
	for _, engine := range []string{"pebble", "bbolt"} {
		for name, o := range map[string]*feed.Options{"plain": nil, "zstd-4k": {Compression: feed.Zstd, Block: 4 << 10},
			"zstd": {Compression: feed.Zstd}} {
			b.Run(engine+"/"+name, func(b *testing.B) {
				f, closeAll, err := feedtest.OpenKV(engine+":"+filepath.Join(b.TempDir(), "feed"), o)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := f.Append(b.Context(), kv.Buffered, posts(n)...); err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				if err := f.View(b.Context(), func(s *feed.Snapshot) error {
					var m []byte
					for b.Loop() {
						if m, err = s.Append(m[:0], rand.Uint64N(n)); err != nil {
							return err
						}
					}
					return nil
				}); err != nil {
					b.Fatal(err)
				}
				if err := closeAll(); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}
