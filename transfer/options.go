package transfer

import (
	"context"

	"golang.org/x/time/rate"

	"github.com/assaydb/assay/kv"
)

// Options says what is copied or compared, and how. A nil *Options is the zero Options: all pairs
// as they are, as fast as possible.
type Options struct {
	// Range bounds the source's keys. Reverse and KeysOnly mean nothing here. Verify bounds both
	// stores by it if there is no Change.
	Range kv.Range

	// Change returns what becomes of a pair, and whether it is kept. It may use both slices until
	// it returns, and what it returns is used before its next call. The keys that it returns must
	// ascend as those that it was given did. It must return the same each time: a copy that goes on
	// after a kill asks again. Nil keeps every pair as it is.
	Change func(key, value []byte) (k, v []byte, keep bool)

	// Into bounds the keys of b that Verify compares with what Change makes. The zero Range is all
	// keys.
	Into kv.Range

	// BytesPerSecond is how much of keys and values is copied in a second, at most. 0 is no limit.
	BytesPerSecond int

	// Restart removes what an earlier copy to the same destination has left, and begins anew.
	Restart bool

	// Limit is how many differences Verify names, and how many pairs that do not fit Copy names. 0
	// is 10.
	Limit int

	// Progress is told how far the work is, every megabyte or so, by one goroutine at a time.
	Progress func(Progress)
}

// Progress is how far a copy or a comparison is.
type Progress struct {
	Phase        string // "check" that every pair fits, "copy", "verify"
	Pairs, Bytes int64  // done in this phase
	Of           int64  // of so many pairs; 0 where nobody knows
}

// or returns o, or the zero Options.
func (o *Options) or() Options {
	var options Options
	if o != nil {
		options = *o
	}
	if options.Limit == 0 {
		options.Limit = 10
	}
	if options.Progress == nil {
		options.Progress = func(Progress) {}
	}
	for _, r := range []*kv.Range{&options.Range, &options.Into} {
		r.Reverse, r.KeysOnly = false, false
	}
	return options
}

// limiter returns what holds the copy back, or nil.
func (o *Options) limiter() *rate.Limiter {
	if o.BytesPerSecond <= 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(o.BytesPerSecond), o.BytesPerSecond)
}

// await waits until n more bytes may be copied.
func await(ctx context.Context, l *rate.Limiter, n int) error {
	for l != nil && n > 0 {
		part := min(n, l.Burst())
		if err := l.WaitN(ctx, part); err != nil {
			return err
		}
		n -= part
	}
	return nil
}
