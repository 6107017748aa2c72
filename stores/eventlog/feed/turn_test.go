package feed

import (
	"errors"
	"runtime"
	"testing"

	"github.com/assaydb/assay/kv"
	_ "github.com/assaydb/assay/kv/memkv"
)

// An append has the feed's turn and waits for an Update, within whose function another one waits
// for the feed's turn: that one is refused.
func TestAnAppendWithinAnUpdateIsRefusedWhileAnotherWaits(t *testing.T) {
	db, err := kv.Open(t.Context(), "mem:feed-turns")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	f, err := Open(t.Context(), db, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	other := make(chan error, 1)
	err = db.Update(t.Context(), kv.Buffered, func(*kv.Tx) error {
		go func() {
			_, err := f.Append(t.Context(), kv.Buffered, []byte("other"))
			other <- err
		}()
		for len(f.turn) == 0 {
			runtime.Gosched()
		}
		_, err := f.Append(t.Context(), kv.Buffered, []byte("own"))
		return err
	})
	if !errors.Is(err, kv.Invalid) || kv.HintOf(err) == "" {
		t.Errorf("got %v, want invalid with a hint", err)
	}
	if err := <-other; err != nil {
		t.Errorf("the other one: %v", err)
	}
}
