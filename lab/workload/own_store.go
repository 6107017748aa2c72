package workload

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/assaydb/assay/kv"
)

// ownQueue and ownLog say that a store of a file is a job queue or an event log instead of pairs.
type ownQueue struct {
	Backlog any // 500 or 10k
	Payload int
}

type ownLog struct {
	Events any // 500 or 10k
	Data   int
}

// aboveKV are the forms of workloads whose stores have tables of their own in SQLite.
var aboveKV = []Form{throughKV, {"sql", "tables of its own in SQLite"}}

// queueDoes and logDoes are what an operation of a file does with a store that is no pairs.
var (
	queueDoes = []string{"publish", "claim", "ack", "nack", "cycle"}
	logDoes   = []string{"append", "read", "walk"}
)

// onStore returns operation i of a file, on a job queue or an event log: that of the built-in
// workload queue or events which does the same.
func (c *ownCheck) onStore(i int, op ownOp, name string, store ownStore, params []Param) (Op, error) {
	if err := c.fits(i, op, name, store); err != nil {
		return Op{}, err
	}
	out := Op{Name: op.Name, Summary: op.Summary, Workers: op.parts()}
	kind, counted, size := "queue", "backlog", indexData
	var count any
	least := 0
	if q := store.Queue; q != nil {
		count, size = cmp.Or(q.Backlog, any("1k")), fmt.Sprint(cmp.Or(q.Payload, 256))
		out = op.onQueue(out)
	} else {
		kind, counted, least = "log", "events", max(1000, op.Batch)
		if count = cmp.Or(store.Log.Events, any(defaultRecords)); store.Log.Data > 0 {
			size = fmt.Sprint(store.Log.Data)
		}
		out = op.onLog(out)
	}
	out.New = onShape(out.New, kind, params, fmt.Sprint(count), size, least)
	if _, err := out.New(Env{Engine: "mem", Self: []string{kind}}); err != nil {
		return Op{}, c.wrong(path("stores", name, kind, counted), err, kv.HintOf(err))
	}
	return out, nil
}

// onShape has a Runner of the built-in workload made with the shape that a file gives its store, or
// the parameters records and value do instead.
func onShape(create func(Env) (Runner, error), kind string, known []Param, count, size string,
	least int) func(Env) (Runner, error) {
	return func(env Env) (Runner, error) {
		loaded, bytes := count, size
		p := env.params(known)
		if given := p.text("records"); given != "file" {
			loaded = given
		}
		if given := p.text("value"); given != "file" {
			bytes = given
		}
		p.given = map[string]string{"records": loaded}
		if p.count("records", least, 1e8); p.err != nil {
			return nil, p.err
		}
		if env.Params = map[string]string{"backlog": loaded, "payload": bytes}; kind == "log" {
			env.Params = map[string]string{"events": loaded, "data": bytes}
		}
		return create(env)
	}
}

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
	}
	out.Summary = cmp.Or(out.Summary, "walk through all events, 1,000 at a time")
	return eventOp(out, eventTask{load: given, reads: 1, read: (*eventsRunner).walk})
}

// fits returns an error where an operation and its store do not go together.
func (c *ownCheck) fits(i int, op ownOp, name string, store ownStore) error {
	at := func(field string) []string { return path("operations", i, field) }
	kind, can := "a queue", queueDoes
	if store.Log != nil {
		kind, can = "a log", logDoes
	}
	use := "write " + strings.Join(can, ", ")
	switch {
	case store.Queue != nil && store.Log != nil || store.Keys.Count != nil || store.Keys.Order != "" ||
		store.Values.Size != 0:
		return c.wrong(path("stores", name), fmt.Errorf("it is %s and more", kind),
			"leave one of queue, log, and keys with values")
	case op.Does == "":
		return c.wrong(at("does"), fmt.Errorf("it is missing: %s is %s", name, kind), use)
	case !slices.Contains(can, op.Does):
		return c.wrong(at("does"), fmt.Errorf("%s cannot %s", kind, op.Does), use)
	case op.Batch > 1 && !slices.Contains([]string{"claim", "append", "read"}, op.Does):
		return c.wrong(at("batch"), fmt.Errorf("%s takes one at a time", op.Does), "leave it out")
	case op.Workers > 1 && op.Does != "cycle" && op.Does != "append":
		return c.wrong(at("workers"), fmt.Errorf("several workers %s", op.Does), "leave it out: cycle and append take it")
	case op.Processes > 0 && op.Does != "cycle":
		return c.wrong(at("processes"), fmt.Errorf("several processes %s", op.Does), "leave it out: cycle takes it")
	case op.Processes > 0 && op.Workers > 0:
		return c.wrong(at("workers"), errors.New("several workers in several processes"), "leave one of both out")
	}
	for field, there := range map[string]bool{"mix": op.Mix != nil, "phases": op.Phases != nil, "choose": op.Choose != "",
		"scan": op.Scan != 0, "open": op.Open != ""} {
		if there {
			return c.wrong(at(field), fmt.Errorf("%s has no %s", kind, field), "leave it out: does says what is done")
		}
	}
	return nil
}
