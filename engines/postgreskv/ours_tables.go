package postgreskv

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"github.com/assaydb/assay/kv/driver"
)

// nameOf returns the name of the table for a path.
func nameOf(path string) string {
	if len(path) <= maxName {
		return path
	}
	sum := sha256.Sum256([]byte(path))
	end := fmt.Sprintf("_%x", sum[:8])
	return strings.ToValidUTF8(path[:maxName-len(end)], "") + end
}

// prepare makes the tables, and looks whether the server syncs. CockroachDB has no fsync: it always
// does.
func (s *store) prepare(ctx context.Context, mode driver.Mode) error {
	var fsync *string
	if err := s.pool.QueryRow(ctx, "SELECT current_setting('fsync', true)").Scan(&fsync); err != nil {
		return err
	}
	if fsync != nil && *fsync == "off" {
		s.caps.Promises[driver.Synced] = driver.Promise{}
	}
	if mode == driver.ReadOnly {
		_, err := s.pool.Exec(ctx, "SELECT 1 FROM "+s.table+" LIMIT 1")
		return err
	}
	s.handle = rand.Text()
	return errors.Join(s.create(ctx, s.table, "k bytea PRIMARY KEY, v bytea NOT NULL"), s.createCommits(ctx))
}

// create makes a table that is not there. PostgreSQL: two that make it at once meet in its
// catalogue, and then it is there; and who may not make tables may not say IF NOT EXISTS either.
func (s *store) create(ctx context.Context, name, columns string) error {
	_, err := s.pool.Exec(ctx, "SELECT 1 FROM "+name+" LIMIT 1")
	if sqlState(err) != undefinedTable {
		return err
	}
	_, err = s.pool.Exec(ctx, "CREATE TABLE IF NOT EXISTS "+name+" ("+columns+")")
	if state := sqlState(err); state == uniqueViolation || state == duplicateTable {
		_, err = s.pool.Exec(ctx, "SELECT 1 FROM "+name+" LIMIT 1")
	}
	return err
}
