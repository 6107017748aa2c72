package pglog

import (
	"context"

	"github.com/assaydb/assay/kv"
)

// truncateStep is how many events one transaction removes.
const truncateStep = 1000

const truncateSome = `WITH gone AS (DELETE FROM assay_log_events WHERE position IN
		(SELECT position FROM assay_log_events WHERE position < $1 ORDER BY position LIMIT $2) RETURNING stream, version),
	kept AS (INSERT INTO assay_log_truncated AS t (stream, version) SELECT stream, max(version) FROM gone WHERE version IS NOT NULL
		GROUP BY stream ORDER BY stream ON CONFLICT (stream) DO UPDATE SET version = greatest(t.version, excluded.version))
	SELECT FROM gone`

// Truncate implements eventlog.Backend.
func (b *backend) Truncate(ctx context.Context, d kv.Durability, before uint64) error {
	for {
		removed, err := b.write(ctx, "truncate", d, truncateSome, int64(before), truncateStep)
		if err != nil || removed < truncateStep {
			return err
		}
	}
}
