package etcdkv

import (
	"context"
	"errors"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/assaydb/assay/kv/driver"
)

// refusals are the errors by which the cluster says that it has done nothing.
var refusals = map[error]driver.Error{
	rpctypes.ErrRequestTooLarge:  {Kind: driver.TooLarge, Hint: "make the transaction smaller, or start etcd with --max-request-bytes"},
	rpctypes.ErrTooManyOps:       {Kind: driver.TooLarge, Hint: "make the transaction smaller, or start etcd with --max-txn-ops"},
	rpctypes.ErrNoSpace:          {Kind: driver.Full, Hint: "compact and defragment the cluster, then: etcdctl alarm disarm"},
	rpctypes.ErrPermissionDenied: {Kind: driver.Permission, Hint: "grant the user the keys of the store: etcdctl role grant-permission"},
	rpctypes.ErrUserEmpty:        {Kind: driver.Permission, Hint: "give a user and a password: etcdkv.Open"},
	rpctypes.ErrNoLeader:         {Kind: driver.Aborted, Hint: "try again: the node is parted from the others, or they choose a leader"},
	rpctypes.ErrTooManyRequests:  {Kind: driver.Aborted, Hint: "try again: the cluster is behind with what it was asked to commit"},
	rpctypes.ErrCompacted:        {Kind: driver.Aborted, Hint: "the snapshot is older than what the cluster keeps: take another one"},
}

// classify turns an error of the client into one of package driver. ctx is the caller's.
func classify(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if e, refused := refusal(err); refused {
		return e
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &driver.Error{Kind: driver.Other, Err: err,
		Hint: "see whether a majority of the nodes is up: etcdctl endpoint status --cluster"}
}

// refusal returns err as one of package driver, if it says that nothing was done.
func refusal(err error) (error, bool) {
	for known, e := range refusals {
		if errors.Is(err, known) {
			e.Err = err
			return &e, true
		}
	}
	// the limit of a message, met before a node looks at what is in it
	if status.Code(err) == codes.ResourceExhausted {
		e := refusals[rpctypes.ErrRequestTooLarge]
		e.Err = err
		return &e, true
	}
	return err, false
}
