// Package eventlog is an event store: an append-only log of events in one total order, for
// event-sourced programs.
//
//	import _ "github.com/assaydb/assay/engines/bboltkv" // the engine that the URL names
//
//	db, err := kv.Open(ctx, "bbolt:app.db")
//	defer db.Close()
//	log, err := eventlog.Open(ctx, db, &eventlog.Options{Streams: true})
//	defer log.Close() // before db
//
//	// Append atomically, and only if nobody else changed the stream in the meantime.
//	done, err := log.Append(ctx, kv.Synced, "order-17", eventlog.Version(2),
//		eventlog.Draft{Type: "OrderPaid", Data: []byte(`{"cents":1200}`)})
//	if errors.Is(err, kv.Conflict) { ... load the stream again, decide again ... }
//
//	// Read it back: the whole log, or one stream.
//	events, err := log.LoadStream(ctx, "order-17", eventlog.Range{})
//	for event, err := range log.All(ctx, eventlog.Range{From: done.First}) { ... }
//
//	// Work through the log, forever, without losing the place.
//	sub, err := log.Subscribe(ctx, "mailer")
//	events, err := sub.Next(ctx, 100) // waits for at least one
//	err = sub.Ack(ctx, kv.Synced, events[len(events)-1].Position)
//
// Or have a function deal with each event, again if it fails; what it never manages is parked, to
// be looked at.
//
//	err := log.Follow(ctx, "mailer", sendMail, &eventlog.FollowOptions{Filter: eventlog.Filter{Types: []string{"OrderPaid"}}})
//
// An event and the data that it is about go together, or not at all; so do a projection and how far
// it has come:
//
//	err := db.Update(ctx, kv.Synced, func(tx *kv.Tx) error {
//		events, err := log.In(tx)
//		...
//		_, err = events.Append("order-17", eventlog.Any, eventlog.Draft{Type: "OrderPlaced"})
//		return errors.Join(err, tx.Put(orderKey, order))
//	})
//
// [Open] keeps a log in any engine of package kv; package sqllog keeps one in SQL tables of an
// SQLite file. Both give a [*Log] with the same promises, and package logtest holds the tests that
// say what they are.
//
// # Order
//
// Every event has a position. Positions begin at 1 and grow by 1. An event is seen by readers only
// when every event below it is there to be seen and its own append is as durable as was asked, so a
// reader that goes on from the last position it saw misses nothing, however many writers there are.
//
// Appends that wait for each other are committed together: eight writers that ask for [kv.Synced]
// share one sync. Each is still atomic, and one whose expectation fails gets its own Conflict and
// disturbs no other. Acknowledgements of subscriptions are committed together in the same way.
//
// # Positions are not used twice
//
// A position that an append returned or a reader saw is never given to another event, not even if
// that event was lost. An event can be lost if it was appended with a class weaker than the crash
// that followed. Before it gives positions to such appends, the log therefore reserves a block of
// them durably (4,096 at first, growing with the log, see [Options]); after a crash it goes on
// above the block. So positions have gaps after a crash, and none after a [Log.Close]; an append
// that failed for a reason other than a Conflict may leave one too.
//
// A store on a server can lose what was not synced while programs go on: so appends there are
// synced, whatever is asked. Those in transactions of the program's are of its class.
//
// The reservation is committed with the strongest class that the store delivers, and holds as far
// as that class does: on a store that was opened without Synced, through the death of the process,
// not through a power loss.
//
// # Several processes
//
// Where the store allows it, several processes may append to and read one log. In a store that is
// open in Exclusive mode, there must be one Log at a time over the same keys: it keeps the last
// position in memory.
package eventlog
