package sqllog

import (
	"context"
	"database/sql"
	"errors"
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
	}
	for i, n := range rows {
		queries[&b.insert[i]] = `INSERT INTO events (position, stream, version, type, data, time) VALUES (?, ?, ?, ?, ?, ?)` +
			strings.Repeat(`, (?, ?, ?, ?, ?, ?)`, n-1)
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

func (b *backend) insertAll(p *eventlog.Pending) error {
	position := p.Appended.First
	version := p.Appended.Version // of the event before; 0 if none are kept
	if version > 0 {
		version -= uint64(len(p.Drafts))
	}
	defer func() { clear(b.args) }()
	for left, i := p.Drafts, 0; len(left) > 0; {
		for rows[i] > len(left) {
			i++
		}
		b.args = b.args[:0]
		for _, d := range left[:rows[i]] {
			var v any
			if p.Appended.Version > 0 {
				version++
				v = int64(version)
			}
			data := d.Data
			if data == nil {
				data = []byte{}
			}
			b.args = append(b.args, int64(position), p.Stream, v, d.Type, data, d.Time.UnixNano())
			position++
		}
		if err := run(b.insert[i], b.args...); err != nil {
			return err
		}
		left = left[rows[i]:]
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

// skipReserved gives up the positions that are reserved: a crash may have lost the events that had them.
// That another process is still using them cannot be known, and costs it no more than a new reservation.
func (b *backend) skipReserved(ctx context.Context) error {
	if s, err := b.readState(); err != nil || s.reserved <= s.floor {
		return err
	}
	return b.transaction(ctx, kv.Synced, func() error {
		s, err := b.readState()
		if err != nil {
			return err
		}
		return b.exec(`UPDATE sqlite_sequence SET seq = ? WHERE name = 'events'`, int64(max(s.floor, s.reserved)))
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
