package pglog

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/eventlog/internal/intables"
)

const (
	selectEvents = `SELECT position, stream, coalesce(version, 0), type, data, time, extra FROM assay_log_events `
	load         = selectEvents + `WHERE position BETWEEN $1 AND $2 ORDER BY position`
	loadStream   = selectEvents + `WHERE stream = $4 AND version BETWEEN $1 AND $2 ORDER BY version`
	lastPosition = `SELECT coalesce(max(position), 0) FROM assay_log_events`
	version      = `SELECT coalesce((SELECT max(version) FROM assay_log_events WHERE stream = $1 AND version IS NOT NULL),
		(SELECT version FROM assay_log_truncated WHERE stream = $1), 0)`
	streams = `SELECT stream, max(version) FROM assay_log_events WHERE version IS NOT NULL AND stream > $1 AND stream >= $2
			AND (stream < $3) IS NOT FALSE GROUP BY stream
		UNION ALL SELECT stream, version FROM assay_log_truncated t WHERE stream > $1 AND stream >= $2 AND (stream < $3) IS NOT FALSE
			AND NOT EXISTS (SELECT FROM assay_log_events e WHERE e.stream = t.stream AND version IS NOT NULL)
		ORDER BY stream LIMIT $4`
)

// limited ends a query for the events of a span.
func limited(text string, r eventlog.Span) string {
	if r.Reverse {
		text += " DESC"
	}
	return text + " LIMIT $3"
}

// Load implements eventlog.Backend.
func (b *backend) Load(ctx context.Context, r eventlog.Span) ([]eventlog.Event, error) {
	return collect(ctx, b, "load", scanEvent, limited(load, r), int64(r.From), int64(r.To), r.Limit)
}

// LoadStream implements eventlog.Backend.
func (b *backend) LoadStream(ctx context.Context, stream string, r eventlog.Span) ([]eventlog.Event, error) {
	return collect(ctx, b, "load stream", scanEvent, limited(loadStream, r), int64(r.From), int64(r.To), r.Limit, []byte(stream))
}

func scanEvent(row pgx.CollectableRow) (e eventlog.Event, err error) {
	var stream, kind, more []byte
	var at int64
	if err := row.Scan(&e.Position, &stream, &e.Version, &kind, &e.Data, &at, &more); err != nil {
		return e, err
	}
	e.Stream, e.Type, e.Time = string(stream), string(kind), time.Unix(0, at).UTC()
	if len(e.Data) == 0 {
		e.Data = nil
	}
	return e, intables.ParseExtra(&e, more)
}

// LastPosition implements eventlog.Backend.
func (b *backend) LastPosition(ctx context.Context) (uint64, error) {
	return one[uint64](ctx, b, "last position", lastPosition)
}

// StreamVersion implements eventlog.Backend.
func (b *backend) StreamVersion(ctx context.Context, stream string) (uint64, error) {
	return one[uint64](ctx, b, "stream version", version, []byte(stream))
}

// Streams implements eventlog.Backend.
func (b *backend) Streams(ctx context.Context, prefix, after string, limit int) ([]eventlog.Stream, error) {
	return collect(ctx, b, "streams", func(row pgx.CollectableRow) (s eventlog.Stream, err error) {
		var name []byte
		err = row.Scan(&name, &s.Version)
		s.Name = string(name)
		return s, err
	}, streams, []byte(after), []byte(prefix), kv.PrefixEnd([]byte(prefix)), limit)
}
