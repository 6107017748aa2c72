package sqlqueue

import (
	"context"
	"database/sql"
	"errors"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/internal/sqlite"
	"github.com/assaydb/assay/stores/queue"
	"github.com/assaydb/assay/stores/queue/internal/intables"
)

// backend keeps queues in SQLite: one connection that writes and several that read.
type backend struct {
	file sqlite.File

	readers *sql.DB
	read    readStatements

	// The rest is used by Commit alone.
	writer   writer
	tx       *sql.Tx // in place of writer: of the program
	begin    stmt
	commit   stmt
	rollback stmt
	write    statements
	inside   bool             // a transaction is open
	dues     intables.Dues    // by queue
	held     map[string]*held // by queue
	self     int64            // in queues.holder; another one for each backend
}

var _ queue.Backend = (*backend)(nil)

// Traits implements queue.Backend.
func (b *backend) Traits() queue.Traits { return queue.Traits{Shared: true} }

// Close implements queue.Backend. SQLite: the last connection copies the log into the database and
// removes it.
func (b *backend) Close() error {
	var err error
	if b.readers != nil {
		err = b.readers.Close()
	}
	if b.writer != nil {
		err = errors.Join(err, b.writer.close())
	}
	return b.wrap("close queues", err)
}

// prepare takes pairs of a *stmt and its text.
func (b *backend) prepare(pairs ...any) error {
	for i := 0; i < len(pairs); i += 2 {
		s, text := pairs[i].(*stmt), pairs[i+1].(string)
		if b.tx != nil {
			*s = &statement{joined: &joinedStatement{text: text, on: b.tx}}
			continue
		}
		var err error
		if *s, err = b.writer.keep(text); err != nil {
			return err
		}
	}
	return nil
}

// transaction runs fn in a transaction of class d. ctx is not consulted once it began.
func (b *backend) transaction(ctx context.Context, d kv.Durability, fn func() error) error {
	if err := b.file.SetLevel(d, b.writer.exec); err != nil {
		return err
	}
	if err := b.file.Retry(ctx, func() error { return run(b.begin) }); err != nil {
		return err
	}
	err := fn()
	if err == nil {
		err = b.file.Committed(run(b.commit))
	}
	if err != nil {
		_ = run(b.rollback) // SQLite: some errors have rolled back already, and then this one fails
	}
	return err
}

// run runs a statement whose changes need no counting.
func run(s stmt, args ...any) error {
	_, err := s.run(args...)
	return err
}

// wrap makes err an error of kv.
func (b *backend) wrap(op string, err error) error { return b.file.Wrap(op, err) }
