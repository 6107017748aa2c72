package pglog

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/eventlog/internal/intables"
)

// writing is what appends within a transaction.
type writing struct {
	on       sender
	appender intables.Appender

	// What read has read.
	state    intables.State
	alive    bool // the server has not crashed since the last append
	synced   bool // what the transaction commits is
	versions map[string]uint64
	known    map[string]known

	events columns
	ids    idColumns
}

// known is an event whose id is remembered.
type known struct {
	position, version uint64
	sum               uint32
}

// columns are those of events, which a statement takes as arrays.
type columns struct {
	positions, versions, times  []int64
	streams, types, data, extra [][]byte
}

// idColumns are those of ids.
type idColumns struct {
	ids                       [][]byte
	positions, versions, sums []int64
}

var _ intables.Tables = (*writing)(nil)

func newWriting(on sender, streams bool) *writing {
	w := &writing{on: on, versions: map[string]uint64{}, known: map[string]known{}}
	w.appender = intables.Appender{Tables: w, Streams: streams}
	return w
}

// read locks the head of the log, and reads what the appends of a group need to know, in one round
// trip behind what is queued already.
func (w *writing) read(ctx context.Context, batch *pgx.Batch, group []*eventlog.Pending) error {
	var streams bool
	batch.Queue(lockHead).QueryRow(func(row pgx.Row) error {
		return row.Scan(&w.state.Floor, &w.state.Reserved, &streams)
	})
	var acknowledged uint64
	batch.Queue(readState).QueryRow(func(row pgx.Row) error {
		return row.Scan(&w.state.Last, &w.alive, &acknowledged, &w.synced)
	})
	names, ids := w.asked(group)
	if len(names) > 0 {
		batch.Queue(readVersions, names).Query(func(rows pgx.Rows) error {
			var name []byte
			var version uint64
			_, err := pgx.ForEachRow(rows, []any{&name, &version}, func() error {
				w.versions[string(name)] = version
				return nil
			})
			return err
		})
	}
	if len(ids) > 0 {
		batch.Queue(readIDs, ids).Query(func(rows pgx.Rows) error {
			var id []byte
			var k known
			_, err := pgx.ForEachRow(rows, []any{&id, &k.position, &k.version, &k.sum}, func() error {
				w.known[string(id)] = k
				return nil
			})
			return err
		})
	}
	if err := w.on.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}
	if streams != w.appender.Streams {
		return eventlog.OptionMismatch(streams)
	}
	if !w.alive {
		w.state.Floor = max(w.state.Floor, w.state.Reserved, acknowledged)
	}
	return nil
}

// asked returns the names of streams and the ids that appends ask for.
func (w *writing) asked(group []*eventlog.Pending) (names, ids [][]byte) {
	seen := map[string]bool{}
	for _, pending := range group {
		for _, p := range pending.Parts(nil) {
			if w.appender.Streams && p.Stream != "" && !seen[p.Stream] {
				seen[p.Stream] = true
				names = append(names, []byte(p.Stream))
			}
			for i := range p.Drafts {
				if id := p.Drafts[i].ID; id != "" {
					ids = append(ids, []byte(id))
				}
			}
		}
	}
	return names, ids
}

// Version implements intables.Tables.
func (w *writing) Version(stream string) (uint64, error) { return w.versions[stream], nil }

// Find implements intables.Tables.
func (w *writing) Find(id string) (position, version uint64, sum uint32, err error) {
	k := w.known[id]
	return k.position, k.version, k.sum, nil
}

// Insert implements intables.Tables. The events are sent by what queue queues.
func (w *writing) Insert(p *eventlog.Pending) error {
	position, version := p.Appended.First, uint64(0)
	if p.Appended.Version > 0 {
		version = p.Appended.Version - uint64(len(p.Drafts)) + 1
	}
	e := &w.events
	for i := range p.Drafts {
		d := &p.Drafts[i]
		more, err := intables.Extra(d.ID, d.Meta)
		if err != nil {
			return err
		}
		e.positions, e.versions = append(e.positions, int64(position)), append(e.versions, int64(version))
		e.times, e.extra = append(e.times, d.Time.UnixNano()), append(e.extra, more)
		e.streams, e.types = append(e.streams, []byte(p.Stream)), append(e.types, []byte(d.Type))
		e.data = append(e.data, intables.Stored(d.Data))
		if d.ID != "" {
			if w.known[d.ID].position > 0 {
				return eventlog.TwiceTheID(d.ID)
			}
			k := known{position, version, d.Sum(p.Stream)}
			w.known[d.ID] = k
			w.ids.add(d.ID, k)
		}
		if position++; version > 0 {
			version++
		}
	}
	return nil
}

func (c *idColumns) add(id string, k known) {
	c.ids, c.sums = append(c.ids, []byte(id)), append(c.sums, int64(k.sum))
	c.positions, c.versions = append(c.positions, int64(k.position)), append(c.versions, int64(k.version))
}

// queue queues what was inserted. Events of one transaction have a number of its own.
func (w *writing) queue(batch *pgx.Batch, number int64) {
	e, i := &w.events, &w.ids
	n := len(e.positions)
	if n == 0 {
		return
	}
	batch.Queue(insertEvents, e.positions, e.streams, e.versions, e.types, e.data, e.times, e.extra, number)
	batch.Queue(setHead, e.positions[n-1])
	if !w.alive {
		batch.Queue(setAlive)
	}
	if len(i.ids) > 0 { // at the price of forgetting up to two for each
		batch.Queue(insertIDs, i.ids, i.positions, i.versions, i.sums)
		batch.Queue(forgetIDs, eventlog.Remembered, 2*len(i.ids))
	}
}
