package sqllog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
)

// rows says how many events one statement inserts, the most first.
var rows = []int{50, 10, 1}

func (b *backend) prepareWriter() error {
	b.versions = map[string]uint64{}
	b.insert = make([]*sql.Stmt, len(rows))
	queries := map[**sql.Stmt]string{
		&b.state: `SELECT (SELECT seq FROM sqlite_sequence WHERE name = 'events'), (SELECT reserved FROM eventlog),
			(SELECT max(position) FROM events)`,
		&b.version: selectVersion,
		&b.mark:    `UPDATE subscriptions SET position = max(position, ?) WHERE name = ?`,
		&b.single: `INSERT INTO events (stream, type, data, time) SELECT ?, ?, ?, ? FROM eventlog
			WHERE ? OR reserved > (SELECT seq FROM sqlite_sequence WHERE name = 'events')`,
	}
	// AUTOINCREMENT gives the positions that were planned: nobody else writes meanwhile. Every parameter costs.
	columns, row := `(stream, type, data, time)`, `(?, ?, ?, ?)`
	if b.streams {
		columns, row = `(stream, type, data, time, version)`, `(?, ?, ?, ?, ?)`
	}
	for i, n := range rows {
		queries[&b.insert[i]] = `INSERT INTO events ` + columns + ` VALUES ` + row + strings.Repeat(`, `+row, n-1)
	}
	return b.prepare(queries)
}

// state is what positions depend on.
type state struct {
	floor    uint64 // positions up to it are used, lost or skipped
	reserved uint64
	last     uint64 // of the last event
}

func (b *backend) readState() (s state, err error) {
	var last sql.Null[uint64]
	err = b.state.QueryRowContext(context.Background()).Scan(&s.floor, &s.reserved, &last)
	s.last = last.V
	return s, err
}

// errReserve rolls a transaction back that needs positions reserved first.
var errReserve = errors.New("positions must be reserved")

// Commit implements eventlog.Backend. A reservation must be durable before positions are given out, so it is a
// transaction of its own.
func (b *backend) Commit(ctx context.Context, d kv.Durability, group []*eventlog.Pending) error {
	for {
		if isSingle(group, b.streams) {
			if done, err := b.commitSingle(ctx, d, group[0]); done || err != nil {
				return b.wrap("append", err)
			}
		}
		var assigned uint64
		err := b.transaction(ctx, d, func() (err error) {
			assigned, err = b.append(d, group)
			return err
		})
		if err != errReserve {
			return b.wrap("append", err)
		}
		if err := b.reserve(ctx, assigned); err != nil {
			return b.wrap("append", err)
		}
	}
}

// isSingle reports whether a group is one event that is appended whatever there is.
func isSingle(group []*eventlog.Pending, streams bool) bool {
	p := group[0]
	return len(group) == 1 && len(p.Drafts) == 1 && p.Expected == eventlog.Any && (p.Stream == "" || !streams)
}

// commitSingle appends one event by one statement, which is a transaction of its own: AUTOINCREMENT gives it the
// position. It is not done if positions must be reserved first.
func (b *backend) commitSingle(ctx context.Context, d kv.Durability, p *eventlog.Pending) (done bool, err error) {
	p.Appended, p.Err = eventlog.Appended{}, nil
	draft := &p.Drafts[0]
	var result sql.Result
	err = b.inTurn(ctx, d, func() error {
		return b.retry(ctx, func() (err error) {
			result, err = b.single.ExecContext(context.Background(), p.Stream, draft.Type, stored(draft.Data), draft.Time.UnixNano(),
				d == kv.Synced || b.block == 0)
			return err
		})
	})
	if err != nil {
		return false, err
	}
	if n, err := result.RowsAffected(); n == 0 || err != nil {
		return false, err
	}
	id, err := result.LastInsertId()
	p.Appended = eventlog.Appended{First: uint64(id), Last: uint64(id)}
	return true, err
}

// stored returns data as the column takes it, which has no NULL.
func stored(data []byte) []byte {
	if data == nil {
		return []byte{}
	}
	return data
}

// append plans the group, then inserts its events, and returns the last position that it gives out.
func (b *backend) append(d kv.Durability, group []*eventlog.Pending) (assigned uint64, err error) {
	s, err := b.readState()
	if err != nil {
		return 0, err
	}
	if assigned, err = b.plan(s, group); err != nil {
		return 0, err
	}
	if d != kv.Synced && b.block > 0 && assigned > max(s.reserved, s.floor) {
		return assigned, errReserve
	}
	for _, p := range group {
		if p.Err == nil {
			if err := b.insertAll(p); err != nil {
				return 0, err
			}
		}
	}
	return assigned, nil
}

// plan gives each append whose expectation holds its positions and versions.
func (b *backend) plan(s state, group []*eventlog.Pending) (assigned uint64, err error) {
	clear(b.versions)
	assigned = max(s.floor, s.last)
	for _, p := range group {
		p.Appended, p.Err = eventlog.Appended{}, nil
		version, err := b.versionOf(p.Stream)
		if err != nil {
			return 0, err
		}
		n := uint64(len(p.Drafts))
		if p.Err = p.Expected.Check(p.Stream, s.last, version); p.Err != nil || n == 0 {
			continue
		}
		p.Appended = eventlog.Appended{First: assigned + 1, Last: assigned + n}
		if b.streams && p.Stream != "" {
			p.Appended.Version = version + n
			b.versions[p.Stream] = version + n
		}
		assigned += n
		s.last = assigned
	}
	return assigned, nil
}

// versionOf returns the version of a stream with the group's appends so far.
func (b *backend) versionOf(stream string) (uint64, error) {
	if !b.streams || stream == "" {
		return 0, nil
	}
	if v, ok := b.versions[stream]; ok {
		return v, nil
	}
	var v sql.Null[uint64]
	err := b.version.QueryRowContext(context.Background(), stream).Scan(&v)
	if err == nil {
		b.versions[stream] = v.V
	}
	return v.V, err
}

// insertAll inserts the events of an append, which get the positions that were planned.
func (b *backend) insertAll(p *eventlog.Pending) error {
	position := p.Appended.First - 1 // of the event before
	version := p.Appended.Version    // of the event before; 0 if none are kept
	if version > 0 {
		version -= uint64(len(p.Drafts))
	}
	defer func() { clear(b.args) }()
	for left, i := p.Drafts, 0; len(left) > 0; left = left[rows[i]:] {
		for rows[i] > len(left) {
			i++
		}
		b.args = b.args[:0]
		for _, d := range left[:rows[i]] {
			b.args = append(b.args, p.Stream, d.Type, stored(d.Data), d.Time.UnixNano())
			switch {
			case p.Appended.Version > 0:
				version++
				b.args = append(b.args, int64(version))
			case b.streams:
				b.args = append(b.args, nil)
			}
		}
		position += uint64(rows[i])
		result, err := b.insert[i].ExecContext(context.Background(), b.args...)
		if err != nil {
			return err
		}
		if last, err := result.LastInsertId(); err != nil || uint64(last) != position {
			return &kv.Error{Kind: kv.Corrupt, Err: errors.Join(fmt.Errorf("an event got the position %d instead of %d", last, position), err)}
		}
	}
	return nil
}

// reserve reserves a block above assigned.
func (b *backend) reserve(ctx context.Context, assigned uint64) error {
	err := b.transaction(ctx, kv.Synced, func() error {
		return b.exec(`UPDATE eventlog SET reserved = max(reserved, ?)`, int64(assigned+b.block))
	})
	if err == nil {
		b.block = eventlog.NextBlock(b.block)
	}
	return err
}

// skipReserved gives up the positions that are reserved or acknowledged: a crash may have lost the events that had them.
// That another process is still using them cannot be known, and costs it no more than a new reservation.
func (b *backend) skipReserved(ctx context.Context) error {
	var behind bool
	const skipped = `max((SELECT reserved FROM eventlog), (SELECT ifnull(max(position), 0) FROM subscriptions))`
	err := b.row(`SELECT seq < ` + skipped + ` FROM sqlite_sequence WHERE name = 'events'`).Scan(&behind)
	if err != nil || !behind {
		return err
	}
	return b.transaction(ctx, kv.Synced, func() error {
		return b.exec(`UPDATE sqlite_sequence SET seq = max(seq, ` + skipped + `) WHERE name = 'events'`)
	})
}

// giveBack ends the reservation at the last position given out. A process that still uses it reserves again.
func (b *backend) giveBack() error {
	if s, err := b.readState(); err != nil || s.reserved <= s.floor || b.block == 0 {
		return err
	}
	return b.transaction(context.Background(), kv.Synced, func() error {
		s, err := b.readState()
		if err != nil {
			return err
		}
		return b.exec(`UPDATE eventlog SET reserved = min(reserved, ?)`, int64(s.floor))
	})
}
