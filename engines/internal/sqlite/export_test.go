package sqlite

import (
	"context"
	"slices"

	"github.com/assaydb/assay/kv/driver"
)

// What the tests with real builds of SQLite, which cannot be in this package, see of it.

const MaxIdle = maxIdle

var (
	Rewrite  = rewrite
	EndOfLog = endOfLog

	ClearFrames = clearFrames
)

type TestConn = conn

func (c *conn) Text(sql string) (string, error) { return c.text(sql) }
func (c *conn) Exec(sql string) error           { return c.exec(sql) }

func (s *Store) Writer() *conn { return s.idle[writer][0] }
func (s *Store) DropWriter() error {
	c := s.Writer()
	s.idle[writer] = nil
	return c.drop()
}
func (s *Store) Idle() int { return len(s.idle[readers]) }

func (s *Store) Reading(ctx context.Context, fn func(*conn) error) error { return s.reading(ctx, fn) }

func (s *Store) Abandoned(err error) error { return s.abandoned(err) }

func ConnOf(tx driver.Txn) *conn { return tx.(*txn).c }

func (s *Store) LevelFor(d driver.Durability) int { return slices.Index(levels, s.levelFor(d)) }
