package state_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"time"

	_ "github.com/assaydb/assay/engines/bboltkv"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/state"
	"github.com/assaydb/assay/stores/state/sqlitelegacy"
)

// A hook that an editor calls all the time. Each call of a method opens a file, does its work and
// closes the file, so that many such processes can work at once.
func Example() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "hook") // a real program says state.Home("hook") instead
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	store, err := state.New("bbolt:"+folder, &state.Options{Buckets: []state.Bucket{
		{Name: "checkpoints"},
		{Name: "answers", Kind: state.Cache, TTL: time.Hour},
		{Name: "tokens", Kind: state.Secret},
	}})
	if err != nil {
		log.Fatal(err)
	}

	_, err = store.Get(ctx, "tokens", []byte("github"))
	fmt.Println("before the first login:", err)
	if err := store.Put(ctx, "tokens", []byte("github"), []byte("s3cret")); err != nil {
		log.Fatal(err)
	}

	// Several steps as one: nobody else writes in between.
	for range 3 {
		err := store.Update(ctx, "checkpoints", func(tx *state.Tx) error {
			calls := 0
			value, err := tx.Get([]byte("calls"))
			if err == nil {
				calls, err = strconv.Atoi(string(value))
			}
			if err != nil && !errors.Is(err, kv.NotFound) {
				return err
			}
			return tx.Put([]byte("calls"), []byte(strconv.Itoa(calls+1)))
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	calls, err := store.Get(ctx, "checkpoints", []byte("calls"))
	fmt.Printf("called %s times, %v\n", calls, err)

	for _, question := range []string{"is a.go fine?", "is b.go fine?"} {
		if err := store.Put(ctx, "answers", []byte(question), []byte("yes")); err != nil {
			log.Fatal(err)
		}
	}
	answers, err := store.Scan(ctx, "answers", []byte("is "))
	if err != nil {
		log.Fatal(err)
	}
	for _, a := range answers {
		fmt.Printf("%s %s\n", a.Key, a.Value)
	}
	// Output:
	// before the first login: not found
	// called 3 times, <nil>
	// is a.go fine? yes
	// is b.go fine? yes
}

// A swap decides between processes without holding a lock while they think.
func ExampleStore_CompareAndSwap() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "hook")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	store, err := state.New("bbolt:"+folder, &state.Options{Buckets: []state.Bucket{{Name: "leases"}}})
	if err != nil {
		log.Fatal(err)
	}
	for _, process := range []string{"first", "second"} {
		err := store.CompareAndSwap(ctx, "leases", []byte("indexer"), nil, []byte(process)) // only if nobody has it
		fmt.Println(process, "is refused:", errors.Is(err, kv.Conflict))
	}
	// Output:
	// first is refused: false
	// second is refused: true
}

// Values of a type, which one process after another changes.
func ExampleTyped() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "hook")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	store, err := state.New("bbolt:"+folder, &state.Options{Buckets: []state.Bucket{{Name: "sessions"}}})
	if err != nil {
		log.Fatal(err)
	}
	type session struct{ Calls, Failed int }
	sessions, err := state.In[session](store, "sessions")
	if err != nil {
		log.Fatal(err)
	}
	for _, failed := range []bool{false, true, false} {
		err := sessions.Change(ctx, []byte("7"), func(s session) (session, error) {
			s.Calls++
			if failed {
				s.Failed++
			}
			return s, nil
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	s, err := sessions.Get(ctx, []byte("7"))
	fmt.Printf("%+v, %v\n", s, err)
	// Output:
	// {Calls:3 Failed:1}, <nil>
}

// A cache that never has more than its bound: what was written first goes.
func ExampleBucket_Max() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "hook")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	store, err := state.New("bbolt:"+folder, &state.Options{Buckets: []state.Bucket{
		{Name: "answers", Kind: state.Cache, TTL: 24 * time.Hour, Max: 10_000},
	}})
	if err != nil {
		log.Fatal(err)
	}
	for i := range 100 {
		if err := store.Put(ctx, "answers", fmt.Appendf(nil, "question %02d", i), make([]byte, 500)); err != nil {
			log.Fatal(err)
		}
	}
	_, first := store.Get(ctx, "answers", []byte("question 00"))
	_, last := store.Get(ctx, "answers", []byte("question 99"))
	fmt.Println(first, last)
	// Output:
	// not found <nil>
}

// A program that kept everything in one SQLite file moves it at its first call. The older file is
// kept, as tool.db.sqlite.
func ExampleOptions_older() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "hook")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	older, err := sql.Open("sqlite", filepath.Join(folder, "tool.db"))
	if err != nil {
		log.Fatal(err)
	}
	_, err = older.Exec(`CREATE TABLE sessions (id TEXT PRIMARY KEY, body TEXT); CREATE TABLE tokens (name TEXT PRIMARY KEY, token TEXT);
		INSERT INTO sessions VALUES ('7', 'calls=3'); INSERT INTO tokens VALUES ('github', 's3cret')`)
	if err := errors.Join(err, older.Close()); err != nil {
		log.Fatal(err)
	}

	store, err := state.New("bbolt:"+folder, &state.Options{
		Buckets: []state.Bucket{{Name: "sessions"}, {Name: "tokens", Kind: state.Secret}},
		Older:   "tool.db",
		Legacy: sqlitelegacy.Tables(
			sqlitelegacy.Table{Bucket: "sessions", Name: "sessions", Key: "id", Value: "body"},
			sqlitelegacy.Table{Bucket: "tokens", Name: "tokens", Key: "name", Value: "token"},
		),
	})
	if err != nil {
		log.Fatal(err)
	}
	token, err := store.Get(ctx, "tokens", []byte("github"))
	fmt.Printf("%s, %v\n", token, err)
	session, err := store.Get(ctx, "sessions", []byte("7"))
	fmt.Printf("%s, %v\n", session, err)
	// Output:
	// s3cret, <nil>
	// calls=3, <nil>
}
