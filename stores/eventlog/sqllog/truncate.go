package sqllog

import (
	"context"
	"database/sql"

	"github.com/assaydb/assay/kv"
)

// truncateStep is how many events one transaction removes.
const truncateStep = 1000

// Truncate implements eventlog.Backend.
func (b *backend) Truncate(ctx context.Context, d kv.Durability, before uint64) error {
	for more := true; more; {
		err := b.transaction(ctx, d, func() (err error) {
			more, err = b.truncateSome(before)
			return err
		})
		if err != nil {
			return b.wrap("truncate", err)
		}
	}
	return nil
}

// truncateSome removes the first events, and reports whether there may be more below before.
func (b *backend) truncateSome(before uint64) (more bool, err error) {
	var last sql.Null[int64]
	err = b.writer.QueryRowContext(context.Background(), `SELECT max(position) FROM (SELECT position FROM events WHERE position < ?
		ORDER BY position LIMIT ?)`, int64(before), truncateStep).Scan(&last)
	if err != nil || !last.Valid {
		return false, err
	}
	err = b.exec(`INSERT INTO truncated (stream, version) SELECT stream, max(version) FROM events
		WHERE position <= ? AND version IS NOT NULL GROUP BY stream ON CONFLICT DO UPDATE SET version = excluded.version`, last.V)
	if err == nil {
		err = b.exec(`DELETE FROM events WHERE position <= ?`, last.V)
	}
	return true, err
}
