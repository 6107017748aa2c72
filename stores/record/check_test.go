package record_test

import (
	"bytes"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/record"
)

// Every pair of a collection is removed, changed and made twice, and Check finds it.
func TestCheckFindsEveryDifference(t *testing.T) {
	type thing struct {
		ID    int64
		Name  string
		Tags  []string
		Views int64 `record:",hot"`
		Quiet bool  `record:",hot"` // and in no index
	}
	open := func() (*kv.DB, *record.Collection[thing]) {
		db, err := kv.Open(t.Context(), "mem:check")
		if err != nil {
			t.Fatal(err)
		}
		c, err := record.Open[thing](t.Context(), db, &record.Options{Indexes: []record.Index{
			{Name: "name", Fields: []string{"Name"}, Unique: true}, {Name: "tag", Fields: []string{"Tags"}},
			{Name: "views", Fields: []string{"Views"}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		err = c.PutAll(t.Context(), kv.Buffered, []thing{{1, "a", []string{"x", "y"}, 1, true},
			{2, "b", []string{"x"}, 2, false}})
		if err == nil {
			err = c.Check(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		return db, c
	}
	var all [][2][]byte
	db, _ := open()
	err := db.View(t.Context(), func(s *kv.Snapshot) error {
		for k, v := range s.Scan(kv.Range{}) {
			if k[0] != 'h' {
				all = append(all, [2][]byte{bytes.Clone(k), bytes.Clone(v)})
			}
		}
		return nil
	})
	if err != nil || len(all) != 2+2+2+2+3+2 {
		t.Fatalf("%d pairs, %v", len(all), err)
	}
	db.Close()
	for _, pair := range all {
		key, value := pair[0], pair[1]
		other := bytes.Clone(key)
		other[len(other)-1] += 7 // of another record, or, in the unique index, of other values
		if key[0] == 'i' && len(value) > 0 {
			other[3]++
		}
		for what, spoil := range map[string]func(db *kv.DB) error{
			"removed": func(db *kv.DB) error { return db.Delete(t.Context(), kv.Buffered, key) },
			"copied":  func(db *kv.DB) error { return db.Put(t.Context(), kv.Buffered, other, value) },
			"changed": func(db *kv.DB) error {
				return db.Put(t.Context(), kv.Buffered, key, append(bytes.Clone(value), 1))
			},
		} {
			db, c := open()
			if err := spoil(db); err != nil {
				t.Fatal(err)
			}
			if err := c.Check(t.Context()); kv.KindOf(err) != kv.Corrupt {
				t.Errorf("%q %s: %v, want corrupt", key, what, err)
			}
			db.Close()
		}
	}
}
