package etcdkv

import (
	"errors"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/assaydb/assay/kv/driver"
)

// A node says with one code of gRPC that a message is too large, that its disk is full, and that it
// has too much to do.
func TestRefusalsOfOneCodeAreToldApart(t *testing.T) {
	for _, c := range []struct {
		err  error
		want driver.Kind
	}{
		{rpctypes.ErrTooManyRequests, driver.Aborted},
		{rpctypes.ErrNoSpace, driver.Full},
		{status.Error(codes.ResourceExhausted, "grpc: received message larger than max (3 vs. 2)"), driver.TooLarge},
	} {
		e, refused := refusal(c.err)
		if !refused || !errors.Is(e, c.want) || driver.HintOf(e) == "" {
			t.Errorf("%v: got %v (hint %q), want %v", c.err, e, driver.HintOf(e), c.want)
		}
	}
}
