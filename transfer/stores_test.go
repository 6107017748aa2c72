package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/queue"
	"github.com/assaydb/assay/stores/record"
	"github.com/assaydb/assay/transfer"
)

// user is a record with an index.
type user struct {
	ID    int64  `record:"id"`
	Email string `record:"email"`
}

// program is one that keeps events, jobs and records in one store.
type program struct {
	db    *kv.DB
	log   *eventlog.Log
	jobs  *queue.Store
	mail  *queue.Queue
	users *record.Collection[user]
	now   time.Time
}

func startProgram(t *testing.T, db *kv.DB) *program {
	t.Helper()
	p := &program{db: db, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	var errs [4]error
	p.log, errs[0] = eventlog.Open(t.Context(), db.Namespace([]byte("e/")), &eventlog.Options{Streams: true})
	p.jobs, errs[1] = queue.New(db.Namespace([]byte("q/")), &queue.Options{Clock: func() time.Time { return p.now }})
	if errs[1] == nil {
		p.mail, errs[2] = p.jobs.Queue("mail", &queue.Settings{MaxAttempts: 1})
	}
	p.users, errs[3] = record.Open[user](t.Context(), db.Namespace([]byte("r/")), &record.Options{
		Indexes: []record.Index{{Name: "email", Fields: []string{"email"}, Unique: true}}})
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *program) end(t *testing.T) {
	t.Helper()
	if err := errors.Join(p.log.Close(), p.jobs.Close(), p.db.Close()); err != nil {
		t.Fatal(err)
	}
}

// work leaves something of every state in the store.
func (p *program) work(t *testing.T) {
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range 300 {
		_, err := p.log.Append(ctx, kv.Buffered, fmt.Sprint("order-", i%7), eventlog.Any,
			eventlog.Draft{Type: "Placed", Data: fmt.Append(nil, i)})
		must(err)
	}
	sub, err := p.log.Subscribe(ctx, "mailer")
	must(err)
	events, err := sub.Next(ctx, 123)
	must(err)
	must(sub.Ack(ctx, kv.Buffered, events[122].Position))
	for i := range 40 {
		_, err := p.mail.Publish(ctx, kv.Buffered, queue.Draft{Payload: fmt.Append(nil, "job ", i),
			Delay: time.Duration(i%4/3) * time.Hour, Key: fmt.Sprint("key", i)})
		must(err)
	}
	claimed, err := p.mail.Claim(ctx, kv.Buffered, 12)
	must(err)
	must(p.mail.Ack(ctx, kv.Buffered, claimed[0].Receipt, claimed[1].Receipt))
	must(p.mail.Fail(ctx, kv.Buffered, errors.New("no such mailbox"), 0, claimed[2].Receipt,
		claimed[3].Receipt)) // dead
	for i := range int64(500) {
		must(p.users.Put(ctx, kv.Buffered, &user{ID: i + 1, Email: fmt.Sprintf("u%d@example.com", i*7919%500)}))
	}
	must(p.users.Delete(ctx, kv.Buffered, record.Int(77)))
}

// seen is what the stores themselves say that they hold.
func (p *program) seen(t *testing.T) string {
	t.Helper()
	ctx := t.Context()
	text := ""
	tell := func(err error, values ...any) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		text += fmt.Sprintln(values...)
	}
	for e, err := range p.log.All(ctx, eventlog.Range{}) {
		tell(err, e.Position, e.Stream, e.Version, e.Type, string(e.Data), e.Time)
	}
	streams, err := p.log.Streams(ctx, "", "", 100)
	tell(err, streams)
	bookmarks, err := p.log.Subscriptions(ctx)
	tell(err, bookmarks)
	counts, err := p.mail.Counts(ctx)
	tell(err, counts)
	for _, state := range []queue.State{queue.Ready, queue.Delayed, queue.Claimed, queue.Dead} {
		jobs, err := p.mail.List(ctx, state, 100)
		tell(err)
		for _, j := range jobs {
			key, until := j.Key()
			tell(nil, j.ID, j.State, string(j.Payload), j.Attempts, j.CreatedAt, j.VisibleAt, key, until, j.Failures())
		}
	}
	tell(p.users.Check(ctx))
	for u, err := range p.users.Query(ctx, record.Query{Index: "email"}) {
		tell(err, u)
	}
	return text
}

// goesOn goes on with the work of the store that was moved, as the old one would have.
func (p *program) goesOn(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	sub, err := p.log.Subscribe(ctx, "mailer")
	if err != nil {
		t.Fatal(err)
	}
	if next, err := sub.Next(ctx, 1); err != nil || next[0].Position != 124 {
		t.Errorf("the subscription goes on at %v, %v, want 124", next, err)
	}
	if done, err := p.log.Append(ctx, kv.Buffered, "order-0", eventlog.Version(43),
		eventlog.Draft{Type: "Paid"}); err != nil || done.First != 301 {
		t.Errorf("the next event: %+v, %v, want position 301", done, err)
	}
	if ids, err := p.mail.Publish(ctx, kv.Buffered, queue.Draft{Key: "key39"}); err != nil || ids[0] != 0 {
		t.Errorf("a job whose key is taken: %v, %v", ids, err)
	}
	if err := p.users.Insert(ctx, kv.Buffered, &user{ID: 9999, Email: "u1@example.com"}); !errors.Is(err, kv.Conflict) {
		t.Errorf("an address that is taken: %v", err)
	}
}

// TestStoresMoveAsStores: after a move each store says of itself what it said before, and goes on
// where it was.
func TestStoresMoveAsStores(t *testing.T) {
	dir := t.TempDir()
	old := "bbolt:" + filepath.Join(dir, "old")
	db, err := kv.Open(t.Context(), old, kv.WithWeakest(kv.Buffered))
	if err != nil {
		t.Fatal(err)
	}
	p := startProgram(t, db)
	p.work(t)
	want := p.seen(t)
	p.end(t)
	if len(want) < 10_000 {
		t.Fatalf("the stores hold only\n%s", want)
	}
	for _, to := range some() {
		t.Run(to, func(t *testing.T) {
			to := to + ":" + filepath.Join(t.TempDir(), "new")
			db, err := transfer.Open(context.Background(), to, []string{old}, nil, kv.WithWeakest(kv.Buffered))
			if err != nil {
				t.Fatal(err)
			}
			p := startProgram(t, db)
			defer p.end(t)
			if got := p.seen(t); got != want {
				t.Errorf("what the stores say differs:\n%s\nwant\n%s", excerptOf(got, want), excerptOf(want, got))
			}
			p.goesOn(t)
		})
	}
}

// excerptOf returns where a begins to differ from b.
func excerptOf(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return a[max(0, n-100):min(len(a), n+100)]
}
