package sqlitelegacy_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	_ "github.com/assaydb/assay/engines/bboltkv"
	"github.com/assaydb/assay/stores/state"
	"github.com/assaydb/assay/stores/state/sqlitelegacy"
)

// SQLite finds a table whatever the case of its name, and so did the older program. One that is
// named so is not passed over as missing.
func TestATableIsFoundWhateverTheCaseOfItsName(t *testing.T) {
	dir := t.TempDir()
	old, err := sql.Open("sqlite", filepath.Join(dir, "old.db"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"CREATE TABLE KV(k TEXT, v TEXT)", "CREATE TABLE Tokens(name TEXT, token TEXT)",
		"INSERT INTO KV VALUES('a', '1')", "INSERT INTO Tokens VALUES('mail', 's3cret')"} {
		if _, err := old.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	store, err := state.New("bbolt:"+filepath.ToSlash(dir), &state.Options{
		Buckets: []state.Bucket{{Name: "values"}, {Name: "tokens", Kind: state.Secret}},
		Older:   "old.db",
		Legacy: sqlitelegacy.Tables(sqlitelegacy.Table{Bucket: "values", Name: "KV", Key: "k", Value: "v"},
			sqlitelegacy.Table{Bucket: "tokens", Name: "tokens", Key: "name", Value: "token"}),
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := store.Get(t.Context(), "tokens", []byte("mail")); string(got) != "s3cret" || err != nil {
		t.Errorf("the token is %q, %v", got, err)
	}
}
