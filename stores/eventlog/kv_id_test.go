package eventlog

import (
	"fmt"
	"testing"

	"github.com/assaydb/assay/kv"
)

// As many ids are kept as is said, not more than twice as many, and those that are too old go.
func TestIDsAreForgotten(t *testing.T) {
	ctx := t.Context()
	db, err := kv.Open(ctx, "mem:ids")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	log, err := Open(ctx, db, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	draft := func(i int) Draft { return Draft{Type: "T", ID: fmt.Sprint(i)} }
	const total, step = 4*Remembered + 1000, 1000
	for i := 0; i < total; i += step {
		var drafts []Draft
		for j := range min(step, total-i) {
			drafts = append(drafts, draft(i+j))
		}
		if _, err := log.Append(ctx, kv.Buffered, "", Any, drafts...); err != nil {
			t.Fatal(err)
		}
	}
	kept := 0
	err = db.View(ctx, func(s *kv.Snapshot) error {
		for range s.Keys(kv.Prefix([]byte{idPrefix})) {
			kept++
		}
		return s.Err()
	})
	if err != nil || kept < Remembered || kept > 2*Remembered+1 {
		t.Errorf("%d ids are kept, %v, want %d to %d", kept, err, Remembered, 2*Remembered)
	}
	for _, i := range []int{total - 1, total - Remembered} {
		if done, err := log.Append(ctx, kv.Buffered, "", Any, draft(i)); err != nil || done.First != uint64(i+1) {
			t.Errorf("append %d again is at %d, %v, want %d", i, done.First, err, i+1)
		}
	}
	if done, err := log.Append(ctx, kv.Buffered, "", Any, draft(0)); err != nil || done.First != uint64(total+1) {
		t.Errorf("an id that is forgotten is at %d, %v, want %d", done.First, err, total+1)
	}
}
