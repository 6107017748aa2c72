package pgqueue

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
	serializationFailure = "40001"
	deadlockDetected     = "40P01"
	uniqueViolation      = "23505"
	duplicateTable       = "42P07"
)

var kinds = map[string]kv.Kind{
	serializationFailure: kv.Busy,
	deadlockDetected:     kv.Busy,
	"55P03":              kv.Busy, // lock_not_available
	"57P03":              kv.Busy, // cannot_connect_now
	"53300":              kv.Busy, // too_many_connections
	"25006":              kv.NotWritable,
	"42501":              kv.Permission,
	"53100":              kv.Full,
	"57014":              kv.Canceled, // query_canceled
}

func isState(err error, states ...string) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && slices.Contains(states, e.Code)
}

// wrap makes err an error of kv.
func wrap(op string, err error) error {
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
