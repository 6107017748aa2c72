package record_test

import (
	"errors"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	_ "github.com/assaydb/assay/kv/memkv"
	"github.com/assaydb/assay/stores/record"
)

// A field of a struct within a slice that the type lacked when the record was written is zero once
// the type has it again; of a time that is the zero Time.
func TestATimeThatTheTypeLackedIsZero(t *testing.T) {
	type line struct {
		Note string
		At   time.Time
	}
	type whole struct {
		ID    int64
		Lines []line
	}
	type shortLine struct{ Note string }
	type short struct {
		ID    int64
		Lines []shortLine
	}
	ctx := t.Context()
	db, err := kv.Open(ctx, "mem:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := record.Open[whole](ctx, db, nil); err != nil {
		t.Fatal(err)
	}
	class := db.Caps().Cheapest()
	less, err := record.Open[short](ctx, db, &record.Options{Evolve: record.Drop})
	if err == nil {
		err = less.Put(ctx, class, &short{1, []shortLine{{"a"}}})
	}
	if err != nil {
		t.Fatal(err)
	}
	again, err := record.Open[whole](ctx, db, &record.Options{Evolve: record.Extend})
	if err != nil {
		t.Fatal(err)
	}
	got, err := again.Get(ctx, record.Int(1))
	if err != nil || len(got.Lines) != 1 || got.Lines[0].Note != "a" || !got.Lines[0].At.IsZero() {
		t.Errorf("got %+v, %v, want the zero time", got, err)
	}
}

// A limit that was counted wrong does not stand for none.
func TestANegativeLimitIsRefused(t *testing.T) {
	type user struct {
		ID   int64
		Name string
	}
	ctx := t.Context()
	db, err := kv.Open(ctx, "mem:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	users, err := record.Open[user](ctx, db, &record.Options{Indexes: []record.Index{{Name: "name",
		Fields: []string{"Name"}}}})
	class := db.Caps().Cheapest()
	if err == nil {
		err = users.PutAll(ctx, class, []user{{1, "a"}, {2, "a"}})
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []record.Query{{Index: "name", Limit: -1}, {Limit: -1}, {Offset: -1}} {
		if n, err := users.DeleteWhere(ctx, class, q); !errors.Is(err, kv.Invalid) || n != 0 {
			t.Errorf("%+v: deleted %d, %v, want Invalid", q, n, err)
		}
	}
	for user, err := range users.All(ctx, record.Span{Limit: -1}) {
		if !errors.Is(err, kv.Invalid) {
			t.Errorf("all up to -1: %v, %v, want Invalid", user, err)
		}
	}
	if n, err := users.Count(ctx, record.Query{}); n != 2 || err != nil {
		t.Errorf("%d records are left, %v, want both", n, err)
	}
}

// Offset is before the first page, and none between two pages.
func TestPagesGoOnBehindAnOffset(t *testing.T) {
	type user struct{ ID int64 }
	ctx := t.Context()
	db, err := kv.Open(ctx, "mem:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	users, err := record.Open[user](ctx, db, nil)
	class := db.Caps().Cheapest()
	for id := range int64(10) {
		if err == nil {
			err = users.Put(ctx, class, &user{1 + id})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	q := record.Query{Offset: 2, Limit: 3}
	want := int64(3)
	for {
		page, next, err := users.Page(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range page {
			if u.ID != want {
				t.Fatalf("got record %d, want %d", u.ID, want)
			}
			want++
		}
		if q.After = next; next == nil {
			break
		}
	}
	if want != 11 {
		t.Errorf("the pages end before record %d, want 11", want)
	}
}
