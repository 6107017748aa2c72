package postgres

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

// States of SQL, as PostgreSQL's appendix A lists them.
const (
	SerializationFailure = "40001"
	DeadlockDetected     = "40P01"

	uniqueViolation = "23505"
	duplicateTable  = "42P07"
)

var kinds = map[string]kv.Kind{
	SerializationFailure: kv.Busy,
	DeadlockDetected:     kv.Busy,
	"55P03":              kv.Busy, // lock_not_available
	"57P03":              kv.Busy, // cannot_connect_now
	"53300":              kv.Busy, // too_many_connections
	"25006":              kv.NotWritable,
	"42501":              kv.Permission,
	"53100":              kv.Full,
	"57014":              kv.Canceled, // query_canceled
}

// IsState reports whether err is one of the server's with one of these states.
func IsState(err error, states ...string) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && slices.Contains(states, e.Code)
}

// Wrap makes err an error of kv.
func Wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	kind := kv.KindOf(err)
	var e *pgconn.PgError
	if errors.As(err, &e) && kind == driver.Other {
		kind = kinds[e.Code]
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		kind = kv.Canceled
	}
	return &kv.Error{Op: op, Engine: "postgres", Kind: kind, Err: err, Hint: kv.HintOf(err)}
}

// Refused reports whether the server has said that what it was asked for was not done. A server
// that ends says so with an error that is fatal, whatever became of it. pgx: that an error is safe
// to retry is also said of a batch that was sent, if its connection is closed when it is read.
func Refused(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && e.SeverityUnlocalized == "ERROR"
}
