package state_test

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/powertest"
	"github.com/assaydb/assay/stores/state"
	"github.com/assaydb/assay/stores/state/sqlitelegacy"
)

// TestPower: after a power cut every entry of State and Secret buckets is as it was acknowledged
// last, or as it was tried to be after that, both buckets of an Update alike; secrets are for their
// owner alone; a cache is right or empty; and the store works on at once.
func TestPower(t *testing.T) {
	t.Run("bbolt", func(t *testing.T) { powertest.Run(t, poweredState{engine: "bbolt"}.power()) })
	t.Run("sqlite", func(t *testing.T) { powertest.Run(t, poweredState{engine: "sqlite"}.power()) })
	// The first call moves what an older program had in SQLite: that is there before, after, and in
	// between.
	t.Run("migration", func(t *testing.T) { powertest.Run(t, poweredState{engine: "bbolt", legacy: 200}.power()) })
	t.Run("migration to several kinds", func(t *testing.T) {
		powertest.Run(t, poweredState{engine: "bbolt", legacy: 40, file: "tool.db"}.power())
	})
}

func TestPowerTakesWhatIsNotSynced(t *testing.T) {
	powertest.MustFail(t, poweredState{engine: "bbolt", class: kv.Flushed}.power(), 10)
}

// poweredState is a store on a disk that loses power.
type poweredState struct {
	engine string
	class  kv.Durability
	legacy int    // rows of an older program in each table
	file   string // that has them, and secrets too; empty is state.db, without secrets
}

func (p poweredState) power() powertest.Case[entry] {
	return powertest.Case[entry]{Work: p.work, Check: p.check}
}

// entry is what became of a key in a bucket, or that the rows of the older program are there.
type entry struct {
	Bucket  string `json:",omitempty"` // "left" stands for itself and "right"
	Key     string `json:",omitempty"`
	Version int    `json:",omitempty"` // 0 is no entry
	Legacy  bool   `json:",omitempty"`
}

const (
	poweredSteps = 8
	poweredKeys  = 2
	undo         = 3 // every third version is that the entry is deleted
)

func (e entry) key() []byte { return []byte(e.Key) }

// deleted reports whether the version is that there is none.
func (e entry) deleted() bool { return e.Version%undo == 0 }

// value is that of the version, nil if there is none.
func (e entry) value() []byte {
	if e.deleted() {
		return nil
	}
	return fmt.Appendf(nil, "%d %s", e.Version, strings.Repeat(e.Key, 50*e.Version%700))
}

func (p poweredState) store(dir string) (*state.Store, error) {
	return state.New(p.engine+":"+filepath.Join(dir, "app"), &state.Options{
		Buckets: []state.Bucket{{Name: "left"}, {Name: "right"}, {Name: "old"}, {Name: "swapped"},
			{Name: "secret", Kind: state.Secret}, {Name: "tokens", Kind: state.Secret},
			{Name: "cache", Kind: state.Cache}},
		Durability: p.class,
		Older:      p.file,
		Legacy: sqlitelegacy.Tables(sqlitelegacy.Table{Bucket: "old", Name: "old", Key: "k", Value: "v"},
			sqlitelegacy.Table{Bucket: "tokens", Name: "tokens", Key: "k", Value: "v"}),
	})
}

func (p poweredState) work(dir string, say *powertest.Log[entry]) error {
	if p.legacy > 0 {
		if err := p.older(dir); err != nil {
			return err
		}
		say.Done(entry{Legacy: true})
	}
	s, err := p.store(dir)
	for i := 0; i < poweredSteps && err == nil; i++ {
		for _, bucket := range []string{"left", "secret", "cache", "swapped"} {
			e := entry{Bucket: bucket, Key: fmt.Sprint("key ", i%poweredKeys), Version: 1 + i/poweredKeys}
			before := e
			before.Version--
			say.Try(e)
			if err = change(context.Background(), s, before, e); err != nil {
				return fmt.Errorf("%+v: %w", e, err)
			}
			say.Done(e)
		}
	}
	return err
}

// older leaves a file of an older program, synced.
func (p poweredState) older(dir string) error {
	folder := filepath.Join(dir, "app")
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	db, err := sql.Open("sqlite", filepath.Join(folder, cmp.Or(p.file, "state.db"))+
		"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		return err
	}
	defer db.Close()
	for _, table := range p.tables() {
		if _, err = db.Exec("CREATE TABLE " + table + "(k TEXT PRIMARY KEY, v BLOB)"); err != nil {
			return err
		}
	}
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	for i := range p.legacy {
		for _, table := range p.tables() {
			_, err := tx.Exec("INSERT INTO "+table+" VALUES (?, ?)", fmt.Sprint("row ", i), fmt.Sprint("value ", i))
			if err != nil {
				return errors.Join(err, tx.Rollback())
			}
		}
	}
	return errors.Join(tx.Commit(), db.Close())
}

// tables are those of the older program, which have the names of their buckets.
func (p poweredState) tables() []string {
	if p.file == "" {
		return []string{"old"}
	}
	return []string{"old", "tokens"}
}

// change makes e so of what is before, in each bucket by another method.
func change(ctx context.Context, s *state.Store, before, e entry) error {
	switch e.Bucket {
	case "left":
		return s.Update(ctx, "left", func(left *state.Tx) error {
			right, err := left.In("right")
			for _, tx := range []*state.Tx{left, right} {
				switch {
				case err != nil:
				case e.deleted():
					err = tx.Delete(e.key())
				default:
					err = tx.Put(e.key(), e.value())
				}
			}
			return err
		})
	case "swapped":
		return s.CompareAndSwap(ctx, e.Bucket, e.key(), before.value(), e.value())
	}
	if e.deleted() {
		return s.Delete(ctx, e.Bucket, e.key())
	}
	return s.Put(ctx, e.Bucket, e.key(), e.value())
}

// check looks twice: at what the power cut left, and once more after some changes to it.
func (p poweredState) check(dir string, h powertest.History[entry]) error {
	legacy := slices.Contains(h.Done, entry{Legacy: true})
	if p.legacy > 0 && !legacy {
		return nil // power failed while the older program was at work
	}
	spans := map[entry]span{} // by bucket and key
	for _, e := range h.Tried {
		of := entry{Bucket: e.Bucket, Key: e.Key}
		spans[of] = span{spans[of].least, e.Version}
	}
	for _, e := range h.Done {
		if of := (entry{Bucket: e.Bucket, Key: e.Key}); e.Bucket != "cache" && !e.Legacy {
			spans[of] = span{e.Version, spans[of].most}
		}
	}
	for range 2 {
		s, err := p.store(dir)
		for _, table := range p.tables() {
			if err == nil && legacy {
				err = p.rows(s, table)
			}
		}
		if err == nil {
			err = examine(s, dir, spans)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// span is the versions that an entry may have.
type span struct{ least, most int }

// rows checks that what the older program had is there.
func (p poweredState) rows(s *state.Store, bucket string) error {
	found, err := s.Scan(context.Background(), bucket, nil)
	if err == nil && len(found) != p.legacy {
		err = fmt.Errorf("%d rows of the older program, want %d", len(found), p.legacy)
	}
	for _, e := range found {
		if want := strings.Replace(string(e.Key), "row", "value", 1); string(e.Value) != want {
			return fmt.Errorf("%s of the older program is %q", e.Key, e.Value)
		}
	}
	return err
}

// examine compares the store with the spans, changes every entry and notes that in them.
func examine(s *state.Store, dir string, spans map[entry]span) error {
	ctx := context.Background()
	for of, may := range spans {
		found, err := find(ctx, s, of, may)
		if err != nil {
			return err
		}
		next := of
		next.Version = may.most/undo*undo + undo + 1 // which none had before
		if err := change(ctx, s, found, next); err != nil {
			return fmt.Errorf("%+v, which was %d: %w", next, found.Version, err)
		}
		spans[of] = span{next.Version, next.Version}
		if of.Bucket == "cache" { // damage that only another entry's reader meets takes all of them
			spans[of] = span{0, next.Version}
		}
	}
	info, err := os.Stat(filepath.Join(dir, "app", "secrets.db"))
	if err == nil && info.Mode().Perm() != 0o600 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the file of secrets: %v, %v", info.Mode(), err)
	}
	err = s.Check(ctx)
	cache := filepath.Join(dir, "app", "cache.db")
	if damaged := (*kv.Error)(nil); errors.As(err, &damaged) && damaged.Kind == kv.Corrupt && damaged.Path == cache {
		// It tells of damage in a cache, too, that no call has met.
		err = errors.Join(os.Remove(cache), s.Check(ctx))
	}
	return err
}

// find returns the version that an entry has, which must be one of those that it may have.
func find(ctx context.Context, s *state.Store, of entry, may span) (entry, error) {
	var value, other []byte
	err := s.View(ctx, of.Bucket, func(v *state.View) (err error) {
		if value, err = get(v, of); err != nil || of.Bucket != "left" {
			return err
		}
		right, err := v.In("right")
		if err == nil {
			other, err = get(right, of)
		}
		if err == nil && !bytes.Equal(value, other) {
			err = fmt.Errorf("left is %.20q and right is %.20q", value, other)
		}
		return err
	})
	if err != nil {
		return of, fmt.Errorf("%s of %s: %w", of.Key, of.Bucket, err)
	}
	for of.Version = may.least; of.Version <= may.most; of.Version++ {
		if bytes.Equal(value, of.value()) {
			return of, nil
		}
	}
	return of, fmt.Errorf("%s of %s is %.20q, may be version %d to %d", of.Key, of.Bucket, value, may.least, may.most)
}

// get returns the value, or nil if there is none.
func get(v *state.View, of entry) ([]byte, error) {
	value, err := v.Get(of.key())
	if errors.Is(err, kv.NotFound) {
		return nil, nil
	}
	return value, err
}
