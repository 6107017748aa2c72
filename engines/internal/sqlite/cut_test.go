package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/powertest"
)

// shrinking is a store in DELETE mode under FULL, whose pages are smaller than the blocks of a file
// system: pairs of about a page each, of which the first half is deleted.
type shrinking struct{ engine string }

const shrinkingPairs = 8

func (s shrinking) open(dir string) (*kv.DB, error) {
	const settings = "?journal_mode=DELETE&synchronous=FULL&page_size=1024"
	return kv.Open(context.Background(), s.engine+":"+filepath.Join(dir, "db")+settings, kv.WithWeakest(kv.Flushed))
}

// batch returns what a commit of the history does: the first puts all pairs, the second deletes
// some.
func (s shrinking) batch(n int) *kv.Batch {
	var b kv.Batch
	for i := range shrinkingPairs {
		switch key := fmt.Appendf(nil, "%03d", i); {
		case n == 1:
			b.Put(key, bytes.Repeat([]byte{byte('a' + i)}, 900))
		case i < shrinkingPairs/2:
			b.Delete(key)
		}
	}
	return &b
}

func (s shrinking) work(dir string, log *powertest.Log[int]) error {
	db, err := s.open(dir)
	if err != nil {
		return err
	}
	for n := 1; n <= 2 && err == nil; n++ {
		log.Try(n)
		if err = db.Write(context.Background(), kv.Flushed, s.batch(n)); err == nil {
			log.Done(n)
		}
	}
	if err == nil {
		err = db.Compact(context.Background())
	}
	return errors.Join(err, db.Close())
}

// check objects unless the store is whole: some commits may be lost.
func (s shrinking) check(dir string, _ powertest.History[int]) error {
	db, err := s.open(dir)
	if err != nil {
		return err
	}
	err = db.Check(context.Background())
	if err == nil {
		err = db.View(context.Background(), func(v *kv.Snapshot) error {
			n := 0
			for k, value := range v.Scan(kv.Range{}) {
				if len(value) != 900 || strings.Trim(string(value), string(value[:1])) != "" {
					return fmt.Errorf("%s is %.20q", k, value)
				}
				n++
			}
			if n != 0 && n != shrinkingPairs && n != shrinkingPairs/2 {
				return fmt.Errorf("%d pairs, which no commit left", n)
			}
			return v.Err()
		})
	}
	return errors.Join(err, db.Close())
}

func aPowerCutBehindCompactBreaksNothing(t *testing.T, engine string) {
	s := shrinking{engine}
	states, objections := powertest.EveryCut(t, powertest.Case[int]{Work: s.work, Check: s.check}, 2)
	if len(objections) > 0 {
		t.Errorf("%d of %d states are broken, such as %s", len(objections), states, objections[0])
	}
}

func whereCommitsCutTheFileFullKeepsNothingIntact(t *testing.T, engine string) {
	for mode, intact := range map[string]bool{"NONE": true, "FULL": false, "INCREMENTAL": true} {
		path := filepath.Join(t.TempDir(), "db")
		otherProgram(t, path, "PRAGMA auto_vacuum="+mode+"; CREATE TABLE kv(k BLOB PRIMARY KEY, v BLOB)")
		for level, want := range map[string]bool{"FULL": intact, "EXTRA": true, "NORMAL": false} {
			db := open(t, engine, path, "?Table=kv&journal_mode=DELETE&synchronous="+level)
			if got := db.Caps().Promise(kv.Flushed); got.Intact != want || !got.Supported {
				t.Errorf("auto_vacuum=%s, synchronous=%s: got %+v, want intact %v", mode, level, got, want)
			}
			closeDB(t, db)
		}
		db := open(t, engine, path, "?Table=kv&journal_mode=WAL")
		if got := db.Caps().Promise(kv.Flushed); !got.Intact {
			t.Errorf("auto_vacuum=%s, a log: got %+v, want intact", mode, got)
		}
		closeDB(t, db)
	}
}
