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
)

var kinds = map[string]driver.Kind{
	"40001": driver.Aborted, // serialization_failure
	"40P01": driver.Aborted, // deadlock_detected
	"55P03": driver.Busy,    // lock_not_available
	"53300": driver.Busy,    // too_many_connections
	"25006": driver.NotWritable,
	"42501": driver.Permission,
	"53100": driver.Full,
	"57014": driver.Canceled, // query_canceled
	"42P01": driver.NoStore,  // undefined_table
	"3D000": driver.NoStore,  // the database
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
	if err == nil {
		return nil
	}
	state := sqlState(err)
	kind, known := kinds[state]
	if !known && len(state) == 5 {
		kind, known = classes[state[:2]]
	}
	if !known && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		kind, known = driver.Canceled, true
	}
	if !known {
		return err
	}
	return &driver.Error{Kind: kind, Err: err}
}

// committed returns what an error of a commit says: that it was not done, if the server has said so
// or was never asked; otherwise the commit is in doubt. A server that ends says so with an error
// that is fatal, whatever became of the commit.
func committed(err error) error {
	var e *pgconn.PgError
	if errors.As(err, &e) && e.Severity == "ERROR" || pgconn.SafeToRetry(err) {
		return driver.NotDone(classify(err))
	}
	return err
}
