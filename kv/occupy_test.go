package kv_test

import (
	"testing"

	"github.com/assaydb/assay/kv"
)

func TestANamespaceIsOccupiedByOneValue(t *testing.T) {
	db := openMem(t)
	occupy := func(db *kv.DB, what string) (leave func()) {
		t.Helper()
		leave, err := db.Occupy(what)
		if err != nil {
			t.Fatal(err)
		}
		return leave
	}
	refused := func(when string) {
		t.Helper()
		_, err := db.Namespace([]byte("a")).Occupy("log")
		wantKind(t, when, err, kv.Invalid)
		if kv.HintOf(err) == "" {
			t.Errorf("%s: %v has no hint", when, err)
		}
	}
	leave := occupy(db.Namespace([]byte("a")), "log")
	refused("while it is occupied")
	occupy(db, "feed")                        // the store itself is another one
	occupy(db.Namespace([]byte("b")), "feed") // and so is another namespace
	leave()
	occupy(db.Namespace([]byte("a")), "log")
	leave()
	refused("after the one before has left again")
}

func TestWhatIsCommonIsSharedWithinANamespace(t *testing.T) {
	db := openMem(t)
	made := 0
	create := func() any { made++; return new(int) }
	first := db.Namespace([]byte("a")).Common("counter", create)
	if again := db.Namespace([]byte("a")).Common("counter", create); again != first {
		t.Error("the same namespace has another value")
	}
	if db.Common("counter", create) == first || db.Namespace([]byte("a")).Common("other", create) == first ||
		made != 3 {
		t.Errorf("another namespace or name shares it; %d were made, want 3", made)
	}
}
