package postgreskv_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/assaydb/assay/engines/postgreskv/postgrestest"
	"github.com/assaydb/assay/kv"
)

// replicated is a server whose commits wait for a replica as the option synced says.
type replicated struct {
	*testing.T
	primary, replica *postgrestest.Server
	acknowledged     []string // and to be there when the replica takes over
}

// open opens the store whose commits wait for so much of the replica.
func (r *replicated) open(synced string) *kv.DB {
	r.Helper()
	db, err := kv.Open(r.Context(), "postgres:kv?synced="+synced+"&timeout=600&"+paramsOf(r.primary.DSN()))
	if err != nil {
		r.Fatal(err)
	}
	return db
}

// put begins a commit, of the next key, and returns what becomes of it.
func (r *replicated) put(db *kv.DB) (ended <-chan error) {
	key := fmt.Sprintf("key %04d", len(r.acknowledged))
	r.acknowledged = append(r.acknowledged, key)
	end := make(chan error, 1)
	go func() { end <- db.Put(r.Context(), kv.Synced, []byte(key), nil) }()
	return end
}

func (r *replicated) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// ask asks a server for a value.
func ask[T any](r *replicated, server *postgrestest.Server, query string) (answer T) {
	r.Helper()
	conn, err := pgx.Connect(r.Context(), server.DSN())
	r.must(err)
	defer conn.Close(context.Background())
	r.must(conn.QueryRow(r.Context(), query).Scan(&answer))
	return answer
}

// awaitWaiting returns when a commit waits for the replica, which ended must not be before.
func (r *replicated) awaitWaiting(ended <-chan error) {
	r.Helper()
	for !ask[bool](r, r.primary, "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep'") {
		if len(ended) > 0 {
			r.Fatalf("it does not wait for the replica: %v", <-ended)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// TestSyncedIsWhatTheReplicaHas: a commit waits until the replica shows it, has it, or for nothing
// of it, as the option synced says; and what was acknowledged is there when the replica takes over.
func TestSyncedIsWhatTheReplicaHas(t *testing.T) {
	t.Parallel()
	r := &replicated{T: t, primary: postgrestest.Start(t, "synchronous_standby_names=*")}
	r.replica = postgrestest.StartReplica(t, r.primary)
	shown, had, written, local := r.open("remote_apply"), r.open("on"), r.open("remote_write"), r.open("local")

	r.must(<-r.put(shown))
	looked, err := kv.Open(t.Context(), "postgres:kv?"+paramsOf(r.replica.DSN()), kv.WithMode(kv.ReadOnly))
	r.must(err)
	for range 50 {
		r.must(<-r.put(shown))
		key := r.acknowledged[len(r.acknowledged)-1]
		if has, err := looked.Has(t.Context(), []byte(key)); !has {
			t.Fatalf("the replica does not show what was acknowledged as applied there: %v", err)
		}
	}
	r.must(looked.Close())

	ask[int](r, r.replica, "SELECT count(*) FROM pg_wal_replay_pause()")
	for ask[string](r, r.replica, "SELECT pg_get_wal_replay_pause_state()") != "paused" {
		time.Sleep(5 * time.Millisecond)
	}
	r.must(<-r.put(had)) // before it waits behind one that waits
	r.must(<-r.put(written))
	waits := r.put(shown)
	r.awaitWaiting(waits)
	ask[int](r, r.replica, "SELECT count(*) FROM pg_wal_replay_resume()")
	r.must(<-waits)

	r.must(r.replica.Kill())
	r.must(local.Put(t.Context(), kv.Synced, []byte("on one disk"), nil))
	waits = r.put(had)
	r.awaitWaiting(waits)
	r.must(r.replica.Launch())
	r.must(<-waits)

	r.must(errors.Join(shown.Close(), had.Close(), written.Close(), local.Close(), r.primary.Kill()))
	if !ask[bool](r, r.replica, "SELECT pg_promote()") {
		t.Fatal("the replica does not take over")
	}
	db, err := kv.Open(t.Context(), "postgres:kv?"+paramsOf(r.replica.DSN()))
	r.must(err)
	defer db.Close()
	for _, key := range r.acknowledged {
		if has, err := db.Has(t.Context(), []byte(key)); !has {
			t.Errorf("%s is not there: %v", key, err)
		}
	}
	r.must(db.Put(t.Context(), kv.Synced, []byte("goes on"), nil))
}

// TestAReplicaHasNoSerialViews, and says so.
func TestAReplicaHasNoSerialViews(t *testing.T) {
	t.Parallel()
	r := &replicated{T: t, primary: postgrestest.Start(t)}
	r.must(r.open("on").Close())
	r.replica = postgrestest.StartReplica(t, r.primary)
	db, err := kv.Open(t.Context(), "postgres:kv?views=serial&"+paramsOf(r.replica.DSN()), kv.WithMode(kv.ReadOnly))
	r.must(err)
	defer db.Close()
	err = db.View(t.Context(), func(*kv.Snapshot) error { return nil })
	if !errors.Is(err, kv.Unsupported) {
		t.Errorf("a View: %v, want unsupported", err)
	}
}
