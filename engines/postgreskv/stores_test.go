package postgreskv_test

import (
	"testing"

	"github.com/assaydb/assay/stores/eventlog/feedtest"
	"github.com/assaydb/assay/stores/eventlog/logtest"
	"github.com/assaydb/assay/stores/queue/queuetest"
	"github.com/assaydb/assay/stores/record"
	"github.com/assaydb/assay/stores/record/recordtest"
)

// The suites of the stores, which know nothing of where they run.

func TestEventLog(t *testing.T) { logtest.Run(t, logtest.OnKV(t, "postgres", "?"+params(t))) }
func TestFeed(t *testing.T)     { feedtest.Run(t, feedtest.OnKV(t, "postgres", "?"+params(t), nil)) }
func TestQueue(t *testing.T)    { queuetest.Run(t, queuetest.OnKV(t, "postgres", "?"+params(t))) }
func TestRecord(t *testing.T) {
	recordtest.Run(t, recordtest.OnKV(t, "postgres", "?"+params(t), record.Binary))
}
