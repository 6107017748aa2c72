package duckdbkv

import (
	"context"
	"errors"
	"strings"

	"github.com/assaydb/assay/kv/driver"
)

// Apply commits ops as one transaction. Of the operations on one key the last counts: DuckDB
// refuses a statement that writes a row twice.
func (s *store) Apply(ctx context.Context, ops []driver.Op, _ driver.Durability) error {
	t, err := s.begin(ctx)
	if err != nil {
		return driver.NotDone(err)
	}
	last := make(map[string]int, len(ops))
	for i := range ops {
		last[string(ops[i].Key)] = i
	}
	puts := make([]driver.Op, 0, len(last))
	for i := range ops {
		switch {
		case last[string(ops[i].Key)] != i:
		case ops[i].Delete:
			err = t.run(ctx, deleteOne, ops[i].Key)
		default:
			puts = append(puts, ops[i])
		}
		if err != nil {
			break
		}
	}
	if err == nil {
		err = t.put(ctx, puts)
	}
	if err != nil {
		return driver.NotDone(errors.Join(err, t.Close()))
	}
	return t.Commit()
}

// One statement of a batch writes so many pairs, if they are no more than so many bytes: between
// two statements it is seen that the caller waits no longer.
const rowsAtOnce, bytesAtOnce = 256, 1 << 20

// insert returns the statement that puts n pairs.
func insert(n int) string {
	return "INSERT INTO kv(k, v) VALUES " + strings.Repeat("(?, ?), ", n-1) + "(?, ?) " +
		"ON CONFLICT(k) DO UPDATE SET v = excluded.v"
}

// put writes pairs whose keys differ.
func (t *txn) put(ctx context.Context, pairs []driver.Op) error {
	for len(pairs) > 0 {
		n := rowsAtOnce
		if len(pairs) < n || bytesOf(pairs[:n]) > bytesAtOnce {
			n = 1
		}
		args := make([]any, 0, 2*n)
		for i := range pairs[:n] {
			args = append(args, pairs[i].Key, append([]byte{}, pairs[i].Value...)) // nil is NULL
		}
		if err := t.run(ctx, insert(n), args...); err != nil {
			return err
		}
		pairs = pairs[n:]
	}
	return nil
}

func bytesOf(pairs []driver.Op) (n int) {
	for i := range pairs {
		n += len(pairs[i].Key) + len(pairs[i].Value)
	}
	return n
}
