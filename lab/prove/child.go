package prove

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/lab/child"
	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/workdir"
)

// Child is the whole life of a writer or verifier process: it answers the parent's requests until
// in ends.
func Child(ctx context.Context, in io.Reader, out io.Writer) error {
	s := state{out: out}
	err := child.Serve(in, out, func(r request) message {
		done, err := s.answer(ctx, r)
		if err != nil {
			done.Error, done.Hint, done.Invalid = err.Error(), kv.HintOf(err), errors.Is(err, kv.Invalid)
		}
		return message{Done: &done}
	})
	for _, path := range s.inherits {
		err = errors.Join(err, workdir.Inherit(path))
	}
	return err
}

// state is that of a child process.
type state struct {
	mu  sync.Mutex
	out io.Writer

	memory   collector // of a verifier
	inherits []string  // folders

	syncs   *os.File // that hands them over, until they were taken
	subject subject  // of a writer, once it is open
	opened  time.Time
	chains  []chain   // of its writers, as they have gone on
	failed  []bool    // the last commit returned an error, after which its writer has not gone on
	doubt   []bool    // some commit has returned an error
	unsure  []uint64  // of each writer, the last commit that is in doubt by its error
	denied  []failure // of each writer, the last one by which a commit is not there
	acked   []uint64
}

func (s *state) answer(ctx context.Context, r request) (done doneMessage, err error) {
	switch {
	case r.Inherit != nil:
		s.inherits = r.Inherit
	case r.HandOver:
		if s.syncs, err = powerfs.HandOverSyncs(); err == nil {
			done.Syncs = int(s.syncs.Fd())
		}
	case r.Probe != nil:
		done.Caps, err = probe(ctx, *r.Probe)
	case r.Write != nil:
		if s.syncs != nil { // they were taken
			_, s.syncs = s.syncs.Close(), nil
		}
		err = s.write(ctx, *r.Write)
	case r.Verify != nil:
		s.memory.start()
		o := verify(ctx, *r.Verify)
		s.memory.collect()
		done.Outcome, done.Full = &o, usedUp()
	default:
		err = errors.New("unknown request")
	}
	return done, err
}

// say sends a message with one system call, so that a process that is killed has sent it or not.
func (s *state) say(m message) {
	line, err := json.Marshal(m)
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		_, err = s.out.Write(append(line, '\n'))
	}
	if err != nil {
		panic(fmt.Sprintf("tell the parent: %v", err)) // it has died, or this is a bug
	}
}

// probe opens fresh stores, one for each class, and tells what they promise.
func probe(ctx context.Context, spec storeSpec) (*[3]caps, error) {
	var all [3]caps
	for _, d := range driver.Durabilities {
		one := spec
		one.Class, one.Dir = d, filepath.Join(spec.Dir, d.String())
		db, err := kv.Open(ctx, one.url(), kv.WithWeakest(d))
		if errors.Is(err, kv.Unsupported) {
			continue
		}
		if err != nil {
			return nil, err
		}
		_, log := logOf(spec.Entry.Engine)
		all[d] = caps{Promise: db.Caps().Promise(d), Log: log, Shared: slices.Contains(db.Caps().Modes, kv.Shared),
			Remote: db.Caps().Remote}
		whole := db.Caps().Promise(kv.Synced)
		switch beside := d != kv.Synced && whole.Supported && whole.Class == kv.Synced && all[d].Class == d; {
		case beside && all[d].Intact:
			all[kv.Synced].Mixed = d
		case beside:
			all[kv.Synced].Loose = d
		}
		if err := db.Close(); err != nil {
			return nil, err
		}
	}
	return &all, nil
}

// without returns the text of err without the folder that the store lies in, which differs from run
// to run.
func without(dir string, err error) string {
	text := strings.ReplaceAll(err.Error(), filepath.ToSlash(dir)+"/", "")
	return strings.ReplaceAll(text, dir+string(filepath.Separator), "")
}
