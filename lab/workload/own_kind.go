package workload

import (
	"cmp"
	"fmt"
)

// ownKind is a kind of store that a file may have instead of keys and values.
type ownKind struct {
	field, called  string // in a file, and in a sentence
	counted, sized string // the fields that say how many things it holds, and how long each is; sized may be ""
	does           []string
	batch          []string // of does, those that take several things at once
	workers        []string // those that several goroutines do
	processes      []string // those that several processes do
	open           []string // those that keep the store open if they are told to
	forms          []Form
	least          func(batch int) int // things that it holds
	complete       func(op ownOp, out Op) Op
}

var queueKind = ownKind{field: "queue", called: "a queue", counted: "backlog", sized: "payload",
	does:  []string{"publish", "claim", "ack", "nack", "cycle", "pipeline"},
	batch: []string{"claim"}, workers: []string{"cycle"}, processes: []string{"cycle"}, forms: aboveKV,
	least: func(int) int { return 0 }, complete: ownOp.onQueue}

// onQueue completes an operation on a job queue.
func (op ownOp) onQueue(out Op) Op {
	n := max(1, op.Batch)
	switch {
	case op.Does == "publish":
		out.Summary = cmp.Or(out.Summary, "publish one job")
		return queueOp(out, queueTask{do: (*queueRunner).publish, publishes: true})
	case op.Does == "claim":
		out.Summary, out.Items = cmp.Or(out.Summary, fmt.Sprintf("claim %d ready jobs at once", n)), n
		return queueOp(out, queueTask{do: (*queueRunner).claimBatch, ready: n})
	case op.Does == "ack":
		out.Summary = cmp.Or(out.Summary, "acknowledge a claimed job")
		return queueOp(out, queueTask{do: (*queueRunner).ack, claimed: true})
	case op.Does == "nack":
		out.Summary = cmp.Or(out.Summary, "give a claimed job back")
		return queueOp(out, queueTask{do: (*queueRunner).nack, claimed: true, returns: true})
	case op.Does == "pipeline":
		out.Summary = cmp.Or(out.Summary, "publish a job, claim one, acknowledge it, by a producer and a consumer at once")
		return queueOp(out, queueTask{do: (*queueRunner).pipeline, publishes: true, meets: true, ahead: 8})
	case op.Processes > 0:
		out.Summary = cmp.Or(out.Summary, fmt.Sprintf("%d cycles, by producers and consumers that are processes", processJobs))
		return processQueueOp(out)
	case op.Workers > 1:
		out.Summary = cmp.Or(out.Summary, "publish a job, claim one, acknowledge it, as many producers as consumers")
		return queueOp(out, queueTask{do: (*queueRunner).meet, publishes: true, meets: true})
	}
	out.Summary = cmp.Or(out.Summary, "publish a job, claim the first, acknowledge it")
	return queueOp(out, queueTask{do: (*queueRunner).cycle, publishes: true})
}

var logKind = ownKind{field: "log", called: "a log", counted: "events", sized: "data",
	does:  []string{"append", "read", "first", "walk", "last"},
	batch: []string{"append", "read", "first"}, workers: []string{"append"}, forms: aboveKV,
	least: func(batch int) int { return max(1000, batch) }, complete: ownOp.onLog}

// onLog completes an operation on an event log.
func (op ownOp) onLog(out Op) Op {
	n := max(1, op.Batch)
	switch op.Does {
	case "append":
		out.Summary = cmp.Or(out.Summary, fmt.Sprintf("append %d events at once", n))
		return eventOp(out, eventTask{load: given, appends: n})
	case "read":
		out.Summary = cmp.Or(out.Summary, fmt.Sprintf("load %d consecutive events from anywhere in the log", n))
		return eventOp(out, eventTask{load: given, reads: n, read: (*eventsRunner).loadAnywhere})
	case "first":
		out.Summary = cmp.Or(out.Summary, fmt.Sprintf("load the first %d events", n))
		return eventOp(out, eventTask{load: given, reads: n, read: (*eventsRunner).loadFirst})
	case "last":
		out.Summary = cmp.Or(out.Summary, "ask for the position of the last event")
		return eventOp(out, eventTask{load: given, reads: 1, read: (*eventsRunner).lastPosition})
	}
	out.Summary = cmp.Or(out.Summary, "walk through all events, 1,000 at a time")
	return eventOp(out, eventTask{load: given, reads: 1, read: (*eventsRunner).walk})
}

var feedKind = ownKind{field: "feed", called: "a feed", counted: "messages",
	does: []string{"append", "get", "read", "walk"}, batch: []string{"append", "get", "read", "walk"},
	forms: feeds.Forms, least: func(batch int) int { return max(1, batch) }, complete: ownOp.onFeed}

// onFeed completes an operation on a feed of messages.
func (op ownOp) onFeed(out Op) Op {
	n := max(1, op.Batch)
	switch op.Does {
	case "append":
		out.Summary = cmp.Or(out.Summary, fmt.Sprintf("append %d messages in one transaction", n))
		return feedOp(out, feedTask{appends: n})
	case "get":
		out.Summary = cmp.Or(out.Summary, fmt.Sprintf("read %d messages anywhere in the feed, in one read transaction", n))
		return feedOp(out, feedTask{reads: n, read: (*feedRunner).random})
	case "read":
		out.Summary = cmp.Or(out.Summary, fmt.Sprintf("read %d consecutive messages one by one, in one read transaction", n))
		return feedOp(out, feedTask{reads: n, read: (*feedRunner).sequential})
	}
	out.Summary = cmp.Or(out.Summary, fmt.Sprintf("iterate over %d messages from anywhere in the feed", n))
	return feedOp(out, feedTask{reads: n, read: (*feedRunner).iterate})
}

var recordsKind = ownKind{field: "records", called: "records", counted: "n",
	does: []string{"insert", "get", "walk", "sum", "update"}, batch: []string{"insert"},
	forms: records.Forms, least: func(int) int { return 3 }, complete: ownOp.onRecords}

// onRecords completes an operation on typed records.
func (op ownOp) onRecords(out Op) Op {
	name := map[string]string{"get": "read", "walk": "read_many", "sum": "field_sum", "update": "update"}[op.Does]
	if builtIn, ok := records.Op(name); ok {
		return op.as(builtIn)
	}
	out.Commits, out.Items = true, max(1, op.Batch)
	out.Summary = cmp.Or(out.Summary, fmt.Sprintf("insert %d records in one transaction", out.Items))
	return recordOp(out, (*recordsRunner).write)
}

var commandKind = ownKind{field: "command", called: "the store of a command", counted: "keys", sized: "value",
	does:    []string{"open", "put", "get", "put-get", "scan", "session", "delete-stale", "process"},
	workers: []string{"get", "scan"}, processes: []string{"process"}, open: []string{"get", "scan"},
	forms: hook.Forms[:2], least: func(int) int { return 1 }, complete: ownOp.onCommand}

// onCommand completes an operation of a command that opens its store each time.
func (op ownOp) onCommand(out Op) Op {
	switch {
	case op.Does == "process":
		out.Commits, out.Cycle = true, putEvery
		out.Summary = cmp.Or(out.Summary, fmt.Sprintf(
			"a process opens, does one get or put, closes; %d at a time, 5 %% are killed", out.Workers))
		return hookOp(out, newProcessRunner)
	case op.Open == "once" && op.Does == "scan":
		out.Summary = cmp.Or(out.Summary, "scan the 20 keys of a prefix through an open handle")
		out.New = sharedRead(out.Workers, (*hookReader).scan)
		return out
	case op.Open == "once":
		out.Summary = cmp.Or(out.Summary, "get a key through an open handle")
		out.New = sharedRead(out.Workers, (*hookReader).get)
		return out
	}
	builtIn, _ := hook.Op(map[string]string{"open": "open_close", "put": "put", "get": "get", "put-get": "put_get",
		"scan": "scan20", "session": "session", "delete-stale": "delete_stale"}[op.Does])
	return op.as(builtIn)
}
