package postgreskv

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/assaydb/assay/kv/driver"
)

// Pauses between attempts to reach the server again.
const (
	firstPause   = 10 * time.Millisecond
	longestPause = 500 * time.Millisecond
)

// again calls do, and calls it again while the connection is lost, until ctx ends or the option
// timeout has passed. What do does must do no harm if it is done twice.
func (s *store) again(ctx context.Context, do func(context.Context) error) error {
	err := do(ctx)
	if !lost(err) || ctx.Err() != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, s.o.timeout())
	defer cancel()
	for pause := firstPause; lost(err); pause = min(2*pause, longestPause) {
		s.pool.Reset() // the others are lost as well
		select {
		case <-time.After(pause):
			err = do(bounded)
		case <-bounded.Done():
			return unreached(ctx, err)
		}
	}
	if bounded.Err() != nil {
		return unreached(ctx, err)
	}
	return err
}

// unreached is the error of a wait for the server that has ended.
func unreached(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return &driver.Error{Kind: driver.Canceled, Err: errors.Join(ctx.Err(), err)}
	}
	return &driver.Error{Kind: driver.Other, Err: err, Hint: hintLost}
}

const hintLost = "see whether the server runs, and where: dsn=postgres://user@host/database"

// lost reports whether err is that of a server that was not reached, or went away.
func lost(err error) bool {
	if state := sqlState(err); state != "" {
		return gone[state] || state[:2] == "08" // connection_exception
	}
	var network net.Error
	var connect *pgconn.ConnectError
	switch {
	case errors.As(err, &connect):
		return true
	case errors.Is(err, context.DeadlineExceeded): // which has the methods of a net.Error
		return false
	}
	return errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, pgconn.ErrConnClosed)
}

// gone are the states of a server that ends, or begins, or ends a connection.
var gone = map[string]bool{
	"25P03": true, // idle_in_transaction_session_timeout
	"57P01": true, // admin_shutdown
	"57P02": true, // crash_shutdown
	"57P03": true, // cannot_connect_now
	"57P05": true, // idle_session_timeout
}

// failed returns err, of a step. A connection that is lost has rolled back: the transaction may be
// run again, and a snapshot taken again.
func (r *reader) failed(err error) error {
	if lost(err) && r.ctx.Err() == nil {
		r.s.pool.Reset()
		return &driver.Error{Kind: driver.Aborted, Err: err, Hint: "begin again: the connection was lost"}
	}
	return classify(err)
}

// mostConnections is how many a store opens at most, if the dsn does not say.
const mostConnections = 32

// poolConfig reads the dsn. What a statement outside of our transactions does, as the look for a
// commit in doubt, it does at the level of a commit that is synced.
func poolConfig(o *options) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(o.dsn)
	if err != nil {
		return nil, err
	}
	if said, err := pgx.ParseConfig(o.dsn); err == nil && said.RuntimeParams["pool_max_conns"] == "" {
		config.MaxConns = mostConnections
	}
	config.ConnConfig.ConnectTimeout = min(config.ConnConfig.ConnectTimeout, o.timeout())
	config.ConnConfig.RuntimeParams["synchronous_commit"] = o.synced
	config.ConnConfig.RuntimeParams["default_transaction_isolation"] = "read committed"
	return config, nil
}
