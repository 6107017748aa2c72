package statetest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/state"
)

const damagedEntries = 80

func damagedKey(i int) []byte   { return fmt.Appendf(nil, "key %03d", i) }
func damagedValue(i int) []byte { return bytes.Repeat([]byte{byte('a' + i%26)}, 100+i) }

// damage is a way to damage a file.
type damage struct {
	what    string
	do      func(data []byte) []byte
	noticed bool // by every engine, when everything is read
}

// damages returns ways to damage a file: the seed is that of the random ones.
func damages(seed uint64, random int) []damage {
	all := []damage{
		{"the beginning overwritten", func(b []byte) []byte {
			copy(b,
				bytes.Repeat([]byte("not a file of ours"), 600))
			return b
		}, true},
		{"everything overwritten", func(b []byte) []byte { return bytes.Repeat([]byte("?"), len(b)) }, true},
		{"the second half cut", func(b []byte) []byte { return b[:len(b)/2] }, false},
		{"the last byte cut", func(b []byte) []byte { return b[:len(b)-1] }, false},
		{"all but 100 bytes cut", func(b []byte) []byte { return b[:100] }, false},
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	for range random {
		n := 1 << rng.IntN(8)
		all = append(all, damage{what: fmt.Sprintf("%d bits flipped", n), do: func(b []byte) []byte {
			for range n {
				// bbolt: the head of a page says how many follow it, up to 2³²; with a flipped bit
				// there a commit counts them all, for minutes. SQLite: the first 100 bytes say
				// whose file it is.
				page, within := rng.IntN(len(b)/4096), 100+rng.IntN(4096-100)
				b[page*4096+within] ^= 1 << rng.IntN(8)
			}
			return b
		}})
	}
	return all
}

// eachDamage calls check with a store of damagedEntries in a bucket, whose file was damaged.
func (s *suite) eachDamage(bucket, name string, check func(d damage, store *state.Store, path string, damaged []byte)) {
	seed, random := rand.Uint64(), s.target.times(10)
	s.Logf("seed %d", seed)
	top := s.dir
	for i, d := range damages(seed, random) {
		s.dir = filepath.Join(top, fmt.Sprint(i))
		store := s.store()
		s.Must("fill", store.Update(s.Ctx(), bucket, func(tx *state.Tx) error {
			for i := range damagedEntries {
				if err := tx.Put(damagedKey(i), damagedValue(i)); err != nil {
					return err
				}
			}
			return nil
		}))
		path := filepath.Join(s.dir, name)
		s.overwrite(path, d.do)
		damaged, err := os.ReadFile(path)
		s.Must("read", err)
		check(d, store, path, damaged)
	}
}

// overwrite changes the content of a file that nobody has open, and removes what SQLite keeps
// beside it, as a copy from elsewhere would have none.
func (s *suite) overwrite(path string, change func([]byte) []byte) {
	s.Helper()
	data, err := os.ReadFile(path)
	s.Must("read", err)
	for _, ending := range []string{"-wal", "-shm"} {
		if err := os.Remove(path + ending); err != nil && !errors.Is(err, os.ErrNotExist) {
			s.Fatal(err)
		}
	}
	s.Must("write", os.WriteFile(path, change(data), 0o600))
}

func testDamagedCache(s *suite) {
	s.eachDamage("kept", "cache.db", func(d damage, store *state.Store, path string, damaged []byte) {
		for i := 0; i < damagedEntries; i += 3 {
			got, err := store.Get(s.Ctx(), "kept", damagedKey(i))
			if err != nil && !errors.Is(err, kv.NotFound) || err == nil && !bytes.Equal(got, damagedValue(i)) {
				s.Fatalf("%s: key %d: got %q, %v", d.what, i, clip(got), err)
			}
		}
		for i := range 10 {
			s.Must(d.what+": put", store.Put(s.Ctx(), "kept", damagedKey(i), []byte("new")))
		}
		// A put that meets the damage sets aside what those before it wrote.
		s.wantGet(store, "kept", string(damagedKey(9)), "new")
		if d.noticed { // a check of a file whose damage was not met yet may find it, or take for ever
			s.Must(d.what, store.Check(s.Ctx()))
		}
		incidents := store.Incidents()
		if d.noticed && len(incidents) != 1 {
			s.Errorf("%s: got incidents %v, want one", d.what, incidents)
		}
		for _, in := range incidents {
			kept, err := os.ReadFile(in.Kept)
			if in.What != "set aside" || in.Path != path || kv.KindOf(in.Err) != kv.Corrupt || err != nil {
				s.Errorf("%s: got incident %+v, %v", d.what, in, err)
			}
			if d.noticed && !bytes.Equal(kept, damaged) {
				s.Errorf("%s: the file that was set aside is not the damaged one", d.what)
			}
		}
	})
}

func testDamagedState(s *suite) {
	files := map[string]string{"a": "state.db", "secret": "secrets.db"}
	if testing.Short() {
		delete(files, "secret")
	}
	for bucket, name := range files {
		top := s.dir
		s.dir = filepath.Join(top, bucket)
		s.eachDamage(bucket, name, func(d damage, store *state.Store, path string, damaged []byte) {
			errs := 0
			for i := 0; i < damagedEntries; i += 3 {
				got, err := store.Get(s.Ctx(), bucket, damagedKey(i))
				switch {
				case err == nil && !bytes.Equal(got, damagedValue(i)):
					s.Fatalf("%s: key %d: got %q", d.what, i, clip(got))
				case err == nil || errors.Is(err, kv.NotFound):
				default:
					errs++
					s.wantDamaged(d.what, err, path)
				}
			}
			if err := store.Put(s.Ctx(), bucket, []byte("k"), []byte("v")); err != nil {
				errs++
				s.wantDamaged(d.what, err, path)
			}
			if errs == 0 && d.noticed {
				s.Errorf("%s: nothing failed", d.what)
			}
			if d.noticed {
				if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, damaged) {
					s.Errorf("%s: the damaged file was changed: %v", d.what, err)
				}
			}
			if all, _ := filepath.Glob(path + ".*"); !s.onlyLocks(all) || len(store.Incidents()) > 0 {
				s.Errorf("%s: got %v and incidents %v", d.what, all, store.Incidents())
			}
		})
		s.dir = top
	}
}

// onlyLocks reports whether files are those that an engine keeps for its lock.
func (s *suite) onlyLocks(files []string) bool {
	for _, f := range files {
		if !strings.HasSuffix(f, ".lock") {
			return false
		}
	}
	return true
}

// wantDamaged checks that err tells of a damaged file and what to do.
func (s *suite) wantDamaged(what string, err error, path string) {
	s.Helper()
	s.WantKind(what, err, kv.Corrupt)
	if !strings.Contains(kv.HintOf(err), path) || !strings.Contains(err.Error(), path) {
		s.Errorf("%s: %v, hint %q, want both to name the file", what, err, kv.HintOf(err))
	}
}

func testCut(s *suite) {
	store := s.store()
	for _, bucket := range oneOfEach {
		s.put(store, bucket, "k", "v")
	}
	for bucket, name := range map[string]string{"a": "state.db", "cache": "cache.db", "secret": "secrets.db"} {
		path := filepath.Join(s.dir, name)
		s.overwrite(path, func([]byte) []byte { return nil })
		_, err := store.Get(s.Ctx(), bucket, []byte("k"))
		if bucket == "cache" {
			s.WantKind("get from a rebuilt cache", err, kv.NotFound)
			s.put(store, bucket, "k", "v")
			continue
		}
		s.wantDamaged("get from an empty "+name, err, path)
		s.wantDamaged("put to an empty "+name, store.Put(s.Ctx(), bucket, []byte("k"), []byte("w")), path)
		if info, err := os.Stat(path); err != nil || info.Size() != 0 {
			s.Errorf("%s was changed: %v", name, err)
		}
	}
	if incidents := store.Incidents(); len(incidents) != 1 {
		s.Errorf("got incidents %v, want one", incidents)
	}
}

func testDamagedCacheAtOnce(s *suite) {
	processes := s.target.times(8)
	s.put(s.store(), "kept", "k", "v")
	path := filepath.Join(s.dir, "cache.db")
	s.overwrite(path, func(b []byte) []byte { return bytes.Repeat([]byte("?"), len(b)) })
	s.atOnce(processes, task{Job: "put", Bucket: "kept"})
	store := s.store()
	for i := range processes {
		s.wantGet(store, "kept", fmt.Sprintf("p%d", i), fmt.Sprint(i))
	}
	aside, err := filepath.Glob(path + ".damaged-*")
	if err != nil || len(aside) != 1 {
		s.Errorf("set aside: %v, %v, want one", aside, err)
	}
}
