package workload

import (
	"fmt"
	"strconv"
	"time"

	"github.com/assaydb/assay/stores/eventlog"
)

// eventsParams is what can be varied in events.
var eventsParams = []Param{
	{Name: "events", Default: "10k", Usage: "events in the log of last_position and size"},
	{Name: "index", Default: "none", Usage: "indexes that the log keeps: none, or stream"},
	{Name: "writers", Default: "8", Of: []string{"append_parallel"},
		Usage: "writers at once, of append_parallel alone: 1, 2, 4, 8, 16"},
	{Name: "data", Default: indexData, Usage: "bytes in an event; index: the JSON of the published comparison"},
	{Name: "variant", Default: "none", Usage: "ebuse: as published, three indexes on the table of the form sql, none elsewhere"},
}

// indexData stands for the data of the published comparison, which are the event's index.
const indexData = "index"

// events is a published comparison of SQLite and Pebble as event stores. There SQLite kept three
// indexes that Pebble did not, and Pebble did not sync; here every engine keeps the same indexes,
// and is compared at the same promise.
var events = Workload{
	Name:    "events",
	Summary: "an event store: append, load ranges, stream, size",
	Params:  eventsParams,
	Forms:   aboveKV,
	Ops: []Op{
		eventOp(Op{Name: "append1", Summary: "append one event", Core: true},
			eventTask{appends: 1}),
		eventOp(Op{Name: "append100", Summary: "append 100 events at once", Core: true},
			eventTask{appends: 100}),
		eventOp(Op{Name: "read100", Summary: "load the first 100 of 1,000 events", Core: true},
			eventTask{load: 1000, reads: 100, read: (*eventsRunner).loadFirst}),
		eventOp(Op{Name: "load10k", Summary: "load all of 10,000 events at once"},
			eventTask{load: 10_000, reads: 10_000, read: (*eventsRunner).loadFirst}),
		eventOp(Op{Name: "stream10k", Summary: "walk through 10,000 events, 1,000 at a time"},
			eventTask{load: 10_000, reads: 10_000, read: (*eventsRunner).walk}),
		eventOp(Op{Name: "append_parallel", Summary: "append one event, n writers at once", Core: true, Workers: 8},
			eventTask{appends: 1, crowd: true}),
		eventOp(Op{Name: "last_position", Summary: "ask for the position of the last event"},
			eventTask{load: given, reads: 1, read: (*eventsRunner).lastPosition}),
		eventOp(Op{Name: "size", Summary: "load 1,000 consecutive events from anywhere in the log", Sized: true},
			eventTask{load: given, reads: 1000, read: (*eventsRunner).loadAnywhere}),
	},
}

// eventTask says what an operation does. It appends or reads.
type eventTask struct {
	crowd   bool // as many at once as the parameter "writers" says
	load    int  // events in the log at the start
	appends int  // events that an iteration appends, in one append
	reads   int  // events that an iteration reads
	read    readEvents
}

// given as eventTask.load is the parameter "events".
const given = -1

// eventOp completes an operation with what it does.
func eventOp(op Op, task eventTask) Op {
	op.Commits = task.appends > 0
	op.Items = task.appends + task.reads
	op.Forms = eventForms
	op.New = func(env Env) (Runner, error) { return newEventsRunner(env, task, op.Name) }
	return op
}

// eventForms are kv on every engine, and tables of its own where inTables says so.
func eventForms(engine, options string) []string {
	if inTables(engine, options) {
		return []string{"kv", "sql"}
	}
	return []string{"kv"}
}

// eventType, eventData and eventTime make the event with an index, which differs from all others.
const eventType = "BenchEvent"

// appendEventData appends the data of event index to dst.
func appendEventData(dst []byte, index int) []byte {
	dst = append(dst, `{"index": `...)
	dst = strconv.AppendInt(dst, int64(index), 10)
	return append(dst, '}')
}

// eventTime returns the time of event index: they are a millisecond and a nanosecond apart.
func eventTime(index int) time.Time {
	return time.Unix(1_700_000_000, 0).UTC().Add(time.Duration(index) * (time.Millisecond + time.Nanosecond))
}

// eventStreams are the names of the streams that events belong to where the log keeps an index of
// streams.
var eventStreams = func() (names [100]string) {
	for i := range names {
		names[i] = fmt.Sprintf("stream-%02d", i)
	}
	return names
}()

// draft returns event index to append, its data appended to the first slice.
func (r *eventsRunner) draft(data []byte, index int) ([]byte, eventlog.Draft) {
	n := len(data)
	data = r.appendData(data, index)
	return data, eventlog.Draft{Type: eventType, Data: data[n:len(data):len(data)], Time: eventTime(index)}
}
