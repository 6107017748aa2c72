package feed_test

import (
	"errors"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog/feed"
)

// Two feeds that each keep the end in memory would overwrite each other's messages.
func TestASecondFeedOverTheSameKeysIsRefused(t *testing.T) {
	db, err := kv.Open(t.Context(), "mem:second-feed")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	first, err := feed.New(db, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := feed.New(db, nil); !errors.Is(err, kv.Invalid) || kv.HintOf(err) == "" {
		t.Errorf("got %v, want invalid with a hint", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := feed.New(db, nil)
	if err != nil {
		t.Fatalf("after the first was closed: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}
