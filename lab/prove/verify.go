package prove

import (
	"bytes"
	"context"
	"fmt"
	"os"

	"github.com/assaydb/assay/kv"
)

// verify is verifyStore, of the store and of its backup.
func verify(ctx context.Context, spec verifySpec) outcome {
	var found *outcome
	if _, err := os.Lstat(spec.Store.backup()); spec.Copies && err == nil {
		it := spec.Store
		it.Copy = true
		o := examine(ctx, it, spec.Past)
		found = &o
	}
	o := verifyStore(ctx, spec)
	o.Copy = found
	return o
}

// verifyStore opens a store, compares its content with the past and checks it. If all is well, it
// makes further commits, now and then in a store that was closed and opened once more, closes it,
// opens it again and compares again: what a recovery left behind may only then come to light.
func verifyStore(ctx context.Context, spec verifySpec) outcome {
	s, o := open(ctx, spec.Store, spec.Past)
	if s == nil {
		return o
	}
	if goesOn := spec.More > 0 && !spec.Reopen && o.Torn == "" && o.Broken == ""; !goesOn {
		o.closed(spec.Store, s)
	}
	if spec.More == 0 || o.Torn != "" || o.Broken != "" {
		return o
	}
	then := past{Seed: spec.Past.Seed, Work: spec.Past.Work}
	then.Work.Further = spec.Salt
	for w, c := range o.chains {
		then.Chains = append(then.Chains, c.next(o.N[w], spec.Salt))
	}
	if spec.Reopen {
		var err error
		if s, err = openSubject(ctx, spec.Store, then); err != nil {
			o.Broken = "further writes: did not open again: " + without(spec.Store.Dir, err)
			return o
		}
	}
	if err := writeOn(ctx, s, spec, then, o.N); err != nil {
		o.Broken = "further writes: " + without(spec.Store.Dir, err)
		return o
	}
	after := examine(ctx, spec.Store, then)
	switch {
	case after.Broken != "":
		o.Broken = "after further writes: " + after.Broken
	case after.Torn != "":
		o.Broken = "after further writes: " + after.Torn
	}
	for w, n := range after.N {
		if n != o.N[w]+spec.More {
			o.broken(fmt.Sprintf("after further writes: writer %d has %d commits, not %d", w, n, o.N[w]+spec.More))
		}
	}
	return o
}

// examine opens the store, reads all of it, compares it with the past, runs the engine's check and
// closes it.
func examine(ctx context.Context, spec storeSpec, p past) outcome {
	s, o := open(ctx, spec, p)
	if s != nil {
		o.closed(spec, s)
	}
	return o
}

// open opens the store, reads all of it, compares it with the past and runs the engine's check. The
// subject is nil if there is nothing to close.
func open(ctx context.Context, spec storeSpec, p past) (s subject, o outcome) {
	gone := func(what string, err error) outcome {
		return outcome{N: make([]uint64, len(p.Chains)), Broken: what + ": " + without(spec.Dir, err), Gone: true}
	}
	s, err := openSubject(ctx, spec, p)
	if err != nil {
		return nil, gone("did not open", err)
	}
	if o, err = s.compare(ctx, p); err != nil {
		_ = s.Close() // the store is broken: what it says on closing adds nothing
		return nil, gone("could not be read", err)
	}
	if err := s.Check(ctx); err != nil {
		o.broken("check: " + without(spec.Dir, err))
	}
	return s, o
}

// closed closes the store.
func (o *outcome) closed(spec storeSpec, s subject) {
	if err := s.Close(); err != nil {
		o.broken("close: " + without(spec.Dir, err))
	}
}

// readAll returns every pair of the store. It ends where a crash has mixed up a file, too.
func readAll(ctx context.Context, db *kv.DB) (map[string][]byte, error) {
	found := map[string][]byte{}
	err := db.View(ctx, func(s *kv.Snapshot) error {
		return s.Each(kv.Range{}, func(k, v []byte) error {
			found[string(k)] = bytes.Clone(v)
			return nil
		})
	})
	return found, err
}

// readEach returns every pair whose value can be read, and the keys of the others. An error is that
// the keys cannot be read.
func readEach(ctx context.Context, db *kv.DB) (found map[string][]byte, unread []string, err error) {
	found = map[string][]byte{}
	err = db.View(ctx, func(s *kv.Snapshot) error {
		var all []string
		err := s.Each(kv.Range{KeysOnly: true}, func(k, _ []byte) error {
			all = append(all, string(k))
			return nil
		})
		if err != nil {
			return err
		}
		for _, k := range all {
			if v, err := s.Get([]byte(k)); err == nil {
				found[k] = bytes.Clone(v)
			} else {
				unread = append(unread, k)
			}
		}
		return s.Err()
	})
	return found, unread, err
}

// writeOn makes further commits, writer by writer in turn, and closes the store.
func writeOn(ctx context.Context, s subject, spec verifySpec, then past, from []uint64) error {
	s.goOn(then)
	for w, c := range then.Chains {
		s.seek(w, from[w], c)
	}
	for range spec.More {
		for w := range then.Chains {
			if err := s.next(ctx, w, spec.Salt, spec.Store.Class); err != nil {
				_ = s.Close() // the commit's error is the one to tell
				return err
			}
		}
	}
	return s.Close()
}
