package workload

import (
	"slices"
)

// queueParams is what can be varied in queue.
var queueParams = []Param{
	{Name: "backlog", Default: "1k", Usage: "jobs that are ready besides those of the operation: 0 to 1M"},
	{Name: "payload", Default: "256", Usage: "bytes in a job"},
}

// jobs is a published comparison of two ways to call SQLite from a job queue. There the queue was
// near-empty for the cycle and long for the claim; here the backlog is a parameter, and every job
// is accounted for.
var jobs = Workload{
	Name:    "queue",
	Summary: "a job queue: publish, claim, acknowledge",
	Params:  queueParams,
	Forms: []Form{
		throughKV,
		{"sql", "tables of its own in SQLite"},
		{"published", "tables in SQLite as the published comparison had them"},
		{ourForm, "published, by sqlite/sqldriver in place of mattn's driver"},
		{serialForm, "published, one job at a time from publish to acknowledge"},
	},
	Ops: []Op{
		queueOp(Op{Name: "publish", Summary: "publish one job", Forms: withPublished},
			queueTask{do: (*queueRunner).publish, publishes: true}),
		queueOp(Op{Name: "claim", Summary: "claim the first ready job", Forms: withPublished},
			queueTask{do: (*queueRunner).claimBatch, ready: 1}),
		queueOp(Op{Name: "ack", Summary: "acknowledge a claimed job", Forms: withPublished},
			queueTask{do: (*queueRunner).ack, claimed: true}),
		queueOp(Op{Name: "nack", Summary: "give a claimed job back"},
			queueTask{do: (*queueRunner).nack, claimed: true, returns: true}),
		queueOp(Op{Name: "claim_batch100", Summary: "claim the first 100 ready jobs at once", Items: 100},
			queueTask{do: (*queueRunner).claimBatch, ready: 100}),
		queueOp(Op{Name: "cycle", Summary: "publish a job, claim the first, acknowledge it", Core: true,
			Forms:     withPublished,
			CoreForms: []string{"kv", "sql"}},
			queueTask{do: (*queueRunner).cycle, publishes: true}),
		queueOp(Op{Name: "cycle_4", Summary: "publish a job, claim one, acknowledge it, 4 producers and 4 consumers at once", Workers: 4},
			queueTask{do: (*queueRunner).meet, publishes: true, meets: true}),
		queueOp(Op{Name: "cycle_16", Summary: "publish a job, claim one, acknowledge it, 16 producers and 16 consumers at once", Workers: 16},
			queueTask{do: (*queueRunner).meet, publishes: true, meets: true}),
		queueOp(Op{Name: "pipeline", Summary: "publish a job, claim one, acknowledge it, a producer and a consumer at once, the producer up to 8 jobs ahead",
			Forms: withSerial}, queueTask{do: (*queueRunner).pipeline, publishes: true, meets: true, ahead: 8}),
		processQueueOp(Op{Name: "cycle_processes_1", Summary: "20 cycles, by a producer and a consumer that are processes", Workers: 1}),
		processQueueOp(Op{Name: "cycle_processes_4", Summary: "20 cycles, by 4 producers and 4 consumers that are processes", Workers: 4}),
		processQueueOp(Op{Name: "cycle_processes_16", Summary: "20 cycles, by 16 producers and 16 consumers that are processes", Workers: 16}),
	},
}

// queueTask says what an operation does.
type queueTask struct {
	do        doJob
	publishes bool // an iteration publishes a job
	ready     int  // jobs published before the slice, for each iteration to claim
	claimed   bool // a job is claimed before the slice, for each iteration to settle
	returns   bool // an iteration gives its job back
	meets     bool // each worker has a producer that publishes at the same time
	ahead     int  // jobs that a producer publishes before the iteration that claims as many
}

// queueOp completes an operation with what it does.
func queueOp(op Op, task queueTask) Op {
	op.Commits = true
	if op.Forms == nil {
		op.Forms = queueForms
	}
	op.New = func(env Env) (Runner, error) {
		task := task
		if env.Form == serialForm && slices.Contains(op.Forms(env.Engine, env.Options), serialForm) {
			env.Form, task = "published", queueTask{do: (*queueRunner).cycle, publishes: true}
		}
		r, err := newQueueRunner(env, task, op)
		if err != nil {
			return nil, err
		}
		return r, nil
	}
	return op
}

// queueForms are kv on every engine that keeps jobs, and tables of its own where the engine is
// SQLite with options that those take.
func queueForms(engine, options string) []string {
	switch {
	case engine == "null":
		return []string{} // what is not kept cannot be claimed
	case inTables(engine, options):
		return []string{"kv", "sql"}
	}
	return []string{"kv"}
}

// withPublished adds to the forms the published one, where there is an own one in SQL, and on
// SQLite through C, there by two drivers.
func withPublished(engine, options string) []string {
	forms := queueForms(engine, options)
	if slices.Contains(forms, "sql") || engine == cEngine && options == "" {
		forms = append(forms, "published")
	}
	if slices.Contains(forms, "sql") && engine == cEngine {
		forms = append(forms, ourForm)
	}
	return forms
}

// ourForm is the published queue on the repository's own driver of SQLite in C.
const ourForm = "published-sqldriver"

// serialForm is the published queue, used as it was when it was published: a job is published,
// claimed and acknowledged, then the next.
const serialForm = "published-serial"

// withSerial adds it to the forms beside which it is measured.
func withSerial(engine, options string) []string {
	forms := withPublished(engine, options)
	if slices.Contains(forms, "published") {
		forms = append(forms, serialForm)
	}
	return forms
}
