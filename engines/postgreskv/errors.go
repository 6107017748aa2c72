package postgreskv

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/assaydb/assay/kv/driver"
)

// States of SQL, as PostgreSQL's appendix A lists them.
const (
	uniqueViolation = "23505"
	duplicateTable  = "42P07"
	undefinedTable  = "42P01"
	queryCanceled   = "57014" // by a timeout, or by hand
)

var kinds = map[string]driver.Kind{
	"40001": driver.Aborted, // serialization_failure
	"40P01": driver.Aborted, // deadlock_detected
	"55P03": driver.Busy,    // lock_not_available
	"53300": driver.Busy,    // too_many_connections
	"57P03": driver.Busy,    // cannot_connect_now: the server begins
	"25006": driver.NotWritable,
	"42501": driver.Permission,
	"53100": driver.Full,
	"3D000": driver.NoStore,     // the database
	"0A000": driver.Unsupported, // feature_not_supported

	queryCanceled:  driver.Canceled,
	undefinedTable: driver.NoStore,
}

var classes = map[string]driver.Kind{
	"28": driver.Permission, // invalid_authorization_specification
	"54": driver.TooLarge,   // program_limit_exceeded
	"XX": driver.Corrupt,    // data_corrupted and the like
}

// sqlState returns the state of an error of the server, "" of another.
func sqlState(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// classify gives an error its kind.
func classify(err error) error {
	var known *driver.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	state := sqlState(err)
	kind, ok := kinds[state]
	if !ok && len(state) == 5 {
		kind, ok = classes[state[:2]]
	}
	switch {
	case ok:
		return &driver.Error{Kind: kind, Err: err}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &driver.Error{Kind: driver.Canceled, Err: err}
	case lost(err):
		return &driver.Error{Kind: driver.Other, Err: err, Hint: hintLost}
	}
	return err
}
