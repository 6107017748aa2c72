// Package queue is a job queue: jobs are published, claimed by one worker each, and acknowledged
// when they are done.
//
//	import _ "github.com/assaydb/assay/engines/bboltkv" // the engine that the URL names
//
//	db, err := kv.Open(ctx, "bbolt:app.db")
//	defer db.Close()
//	store, err := queue.New(db, nil)
//	defer store.Close() // before db
//	mail, err := store.Queue("mail", nil)
//
//	// Publish: now, later, or before others.
//	ids, err := mail.Publish(ctx, kv.Synced, queue.Draft{Payload: []byte("hello")})
//
//	// Work, in as many goroutines as there are to work at once. A job whose function fails is tried again.
//	err = mail.Work(ctx, kv.Synced, func(ctx context.Context, job queue.Job) error { return send(job.Payload) })
//
// [Queue.In] puts the same calls into a transaction of the program's own, with the data that the
// jobs are about:
//
//	err = db.Update(ctx, kv.Synced, func(tx *kv.Tx) error {
//		...
//		jobs, err := mail.In(tx)
//		...
//		_, err = jobs.Publish(queue.Draft{Payload: id})
//		return err
//	})
//
// [Workers] runs several kinds of jobs, each with a typed function of its own, a number at once and
// settings, and the [Schedule] values that publish jobs by the clock:
//
//	var letters = queue.Kind[Letter]{Name: "mail"}
//
//	w, err := queue.NewWorkers(store, kv.Synced, &queue.WorkersOptions{Total: 16})
//	err = queue.Handle(w, letters, 4, nil, func(ctx context.Context, l Letter) error { return send(ctx, l) })
//	err = w.Run(ctx) // until w.Shutdown
//
// Both keep a job claimed for as long as its function runs, take a panic for a failure, keep the
// error of each failure with the job, and give a job back, the attempt not counted, when the
// program ends. A function says by its error what becomes of its job: tried again after
// [Settings.Backoff], dead at once ([Never]), or tried again [Later] without an attempt.
// [Options.Ended] and [Queue.Stats] tell how attempts ended, how long jobs waited and how long they
// ran.
//
// Beneath are the calls that programs can also make themselves: [Queue.Next] claims a job and waits
// for it, [Queue.Claim] does not wait, [Queue.Ack] says that it is done, [Queue.Fail] and
// [Queue.Nack] give it back, and [Queue.Swap] acknowledges and claims in one transaction. A program
// that ends when there is nothing left to do calls Claim and Ack until Claim returns no job, or
// ends Work by its ctx.
//
// [New] keeps queues in any engine of package kv; package sqlqueue keeps them in SQL tables of an
// SQLite file. Both give a [*Store] with the same promises, and package queuetest holds the tests
// that say what they are. On SQLite the first is the faster one in most cases; choose the second
// where SQL is to look at the jobs, too.
//
// # A job's life
//
// A job is [Ready], or [Delayed] until its time has come. A claim makes it [Claimed] for as long as
// the lease, 30 s by default, and counts an attempt. [Queue.Ack] deletes it. [Queue.Nack] makes it
// ready again, or delayed, and so does [Queue.Fail], which keeps why. [Queue.Extend] makes the
// lease longer; [Queue.Release] and [Queue.Snooze] give the job back as if it had not been claimed.
// When a lease ends without any of these, as when the worker died, the job is ready again, and that
// is kept as its failure. After [Settings.MaxAttempts] attempts that failed, or
// [Draft.MaxAttempts], it is [Dead]: it is kept, listed by [Queue.List], and given out no more
// until [Queue.Requeue].
//
// A job with a [Draft.Key] is alone in its queue: while it is ready, delayed or claimed, and for as
// long as [Draft.KeyFor] says, no other with that key is published.
//
// Delays and leases end by the clock, and take effect at the next Claim, Next or Sweep of the queue
// in any process.
//
// # What is promised
//
//   - At least once: a job whose Publish was acknowledged is given out until a claim of it is
//     acknowledged, or it is dead, or retention or a purge takes it. It can be given out more than
//     once: make the work repeatable.
//   - One live claim: of one job there are never two live claims. A claim is live from Claim until
//     Ack, Nack, a purge, or the moment after the end of its lease when the job is made ready
//     again. A [Receipt] tells claims of one job apart: what is done with a receipt that is not
//     live fails with a [*StaleError], of kind Conflict, and changes nothing.
//   - A job that was acknowledged does not come back.
//   - One job of a key, and one of each tick of a schedule, however many processes publish at once.
//   - Order: a claim takes the first of the ready jobs by (priority, visible_at, id), the smallest
//     first. visible_at is when the job became ready, in milliseconds: when it was published, its
//     delay ended, it was given back, or its lease ended. Ids grow in the order of publishing.
//     Where more than 1,000 delays and leases have ended since the last claim, the jobs become
//     ready in the order of visible_at, at least 1,000 at each claim.
//   - All or nothing: what one call publishes is there as a whole or not at all, and so are the
//     jobs of one Claim, Ack, Nack, Extend, Requeue and Delete. Purge and Sweep work in several
//     transactions.
//   - If ctx ends before the commit began, nothing was done and the error is Canceled. No claim is
//     lost to a cancellation: a call that claimed returns the jobs.
//
// # Durability
//
// Each call names the class that its own effect needs. After a crash that the class does not
// survive
//
//   - a Publish may be undone: the job never was, and its key is free. Use the class that the
//     publisher must be able to rely on. The tick of a schedule goes with its job, so that it is
//     published again.
//   - a Claim, Nack, Fail, Snooze or Extend may be undone: the job is as it was before, and is
//     given out again. The weakest class does no harm here but attempts that are not counted and
//     receipts that are stale.
//   - an Ack may be undone: the job is given out again, although it was done. That is at least
//     once, not a loss.
//
// That there is one live claim holds through crashes that the claim's class survives. After one
// that it does not, the receipts from before it are stale. What a class delivers is the engine's
// matter: see kv.Caps.
//
// # Several processes
//
// Where the store allows it (SQLite, in both forms), several processes may work on one queue, with
// all promises above across them; they should open it with equal [Settings] and have clocks that
// agree.
//
// A worker that waits in Next sleeps until a job is there. What its own Store publishes it is given
// by the commit that publishes; it is woken by what its Store gives back, by the end of delays and
// leases, and by what another Store over the same *kv.DB does. What another process does it looks
// for every [Options.Poll], and more often right after there was a job.
//
// # Cost
//
// Over kv a job that is done at the first attempt is written once and deleted once, and a claim
// moves nothing: see the format in docs/formats.md. A claim costs the same at every backlog: where
// the ready jobs begin is stored, and what comes next is kept in memory, because on engines that
// merge later (Pebble, Badger) a search from the beginning of the queue would step over every job
// that was ever claimed. Calls that wait for each other are committed together, whatever they do: a
// producer and a worker that are both busy share their commits. A program that works on one job
// after the other halves its commits by Work or Swap. Who waits when a job is published claims it
// by the same commit, if the publish asks for no less than the claim: a job for a worker that has
// nothing to do is two commits, the publish and the acknowledgement. [Queue.Counts] reads counters
// over kv, and counts in SQL.
package queue
