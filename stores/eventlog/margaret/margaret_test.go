package margaret_test

import (
	"context"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog/feed"
	"github.com/assaydb/assay/stores/eventlog/feedtest"
	"github.com/assaydb/assay/stores/eventlog/margaret"
)

func TestConformance(t *testing.T) {
	delivers := map[kv.Durability]kv.Durability{}
	for d, p := range margaret.Promises {
		delivers[kv.Durability(d)] = p.Class
	}
	feedtest.Run(t, feedtest.Target{
		NoTrim: true,
		Open: func(dir string) (*feed.Feed, func() error, error) {
			log, err := margaret.Open(context.Background(), dir, nil)
			if err != nil {
				return nil, nil, err
			}
			return log.Feed, log.Close, nil
		},
		Delivers: delivers,
	})
}
