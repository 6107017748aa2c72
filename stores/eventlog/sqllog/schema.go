package sqllog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/internal/sqlite"
)

// format is the version of the tables. Those of the one before are changed when they are opened.
const (
	format        = 2
	formatWithout = 1 // the column extra and the tables of newTables
)

const tables = `
CREATE TABLE IF NOT EXISTS events (
	position INTEGER PRIMARY KEY AUTOINCREMENT,
	stream   TEXT NOT NULL,
	version  INTEGER,
	type     TEXT NOT NULL,
	data     BLOB NOT NULL,
	time     INTEGER NOT NULL,
	extra    TEXT
);
CREATE TABLE IF NOT EXISTS subscriptions (
	name     TEXT PRIMARY KEY NOT NULL,
	position INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS eventlog (
	id       INTEGER PRIMARY KEY CHECK (id = 1),
	format   INTEGER NOT NULL,
	streams  INTEGER NOT NULL,
	reserved INTEGER NOT NULL
);`

// newTables are made whenever they are missing: logs that older programs began have none.
const newTables = `
CREATE TABLE IF NOT EXISTS parked (
	name     TEXT NOT NULL,
	position INTEGER NOT NULL,
	cause    TEXT NOT NULL,
	PRIMARY KEY (name, position)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS truncated (
	stream   TEXT PRIMARY KEY NOT NULL,
	version  INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ids (
	n        INTEGER PRIMARY KEY AUTOINCREMENT,
	id       TEXT UNIQUE NOT NULL,
	position INTEGER NOT NULL,
	version  INTEGER NOT NULL,
	sum      INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS leases (
	name     TEXT PRIMARY KEY NOT NULL,
	holder   TEXT NOT NULL,
	until    INTEGER NOT NULL
) WITHOUT ROWID`

const versionIndex = `CREATE UNIQUE INDEX IF NOT EXISTS events_version ON events (stream, version) WHERE version IS NOT NULL`

// create makes what is not there yet, in the transaction that is open.
func (b *backend) create(o *Options) error {
	begun, err := sqlite.HasTable(context.Background(), b.writer, "eventlog")
	if err != nil {
		return err
	}
	if !begun {
		if err := b.exec(tables); err != nil {
			return err
		}
		if err := b.exec(`INSERT INTO sqlite_sequence (name, seq) VALUES ('events', 0)`); err != nil {
			return err
		}
		if err := b.exec(`INSERT INTO eventlog (id, format, streams, reserved) VALUES (1, ?, ?, 0)`, format,
			o.Streams); err != nil {
			return err
		}
	}
	if err := b.matchOptions(o); err != nil {
		return err
	}
	if err := b.exec(newTables); err != nil {
		return err
	}
	if o.Streams {
		if err := b.exec(versionIndex); err != nil {
			return err
		}
	}
	for _, column := range o.Indexes {
		if err := b.exec(fmt.Sprintf(`CREATE INDEX IF NOT EXISTS events_%s ON events (%s)`, column,
			column)); err != nil {
			return err
		}
	}
	return nil
}

// matchOptions refuses a log that was begun with other options. One without events is changed.
func (b *backend) matchOptions(o *Options) error {
	var stored int
	var streams, some bool
	err := b.row(`SELECT format, streams, EXISTS (SELECT 1 FROM events) FROM eventlog`).Scan(&stored, &streams, &some)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return &kv.Error{Kind: kv.Corrupt, Err: errors.New("the table eventlog is empty")}
	case err != nil:
		return err
	case stored == formatWithout:
		if err := b.exec(`ALTER TABLE events ADD COLUMN extra TEXT; UPDATE eventlog SET format = ` +
			strconv.Itoa(format)); err != nil {
			return err
		}
	case stored != format:
		return &kv.Error{Kind: kv.Unsupported, Err: fmt.Errorf("format %d, this program knows %d", stored, format),
			Hint: "use a newer program"}
	}
	switch {
	case streams == o.Streams:
		return nil
	case some:
		return eventlog.OptionMismatch(streams)
	}
	if err := b.exec(`DROP INDEX IF EXISTS events_version`); err != nil {
		return err
	}
	return b.exec(`UPDATE eventlog SET streams = ?`, o.Streams)
}

// exec and row run a statement once on the writer's connection.
func (b *backend) exec(query string, args ...any) error {
	_, err := b.writer.ExecContext(context.Background(), query, args...)
	return err
}

func (b *backend) row(query string) *sql.Row {
	return b.writer.QueryRowContext(context.Background(), query)
}
