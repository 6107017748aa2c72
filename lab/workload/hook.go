package workload

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"

	"github.com/assaydb/assay/kv"
)

// hook is a command-line tool that other programs call for every little thing: each run opens its
// store, does one thing and closes it. Operations with "shared" in their name keep one handle open
// instead, and those with "processes" really start a process each time. An operation that opens has
// two forms: kv, the engine's store through kv, and state, which is package state, made for such a
// tool, on the same engine.
var hook = Workload{
	Name:    "hook",
	Summary: "a short-lived command opens the store, works and closes it",
	Params:  hookParams,
	Forms: []Form{
		throughKV,
		{stateForm, "through package state, as a command-line tool keeps its state"},
		{plainForm, "plain SQLite with a busy_timeout, through database/sql; storm alone"},
	},
	Ops: []Op{
		hookOp(Op{Name: "open_close", Summary: "open and close"},
			hookWork(0, (*hookRunner).nothing, (*hookRunner).stateNothing)),
		hookOp(Op{Name: "put", Summary: "open, put one key, close", Commits: true, Core: true},
			hookWork(1, (*hookRunner).put, (*hookRunner).statePut)),
		hookOp(Op{Name: "get", Summary: "open, get one key, close", Core: true},
			hookWork(0, (*hookRunner).get, (*hookRunner).stateGet)),
		hookOp(Op{Name: "put_get", Summary: "open, put one key, get it, close", Commits: true},
			hookWork(1, (*hookRunner).putGet, (*hookRunner).statePutGet)),
		hookOp(Op{Name: "scan20", Summary: "open, scan the 20 keys of a prefix, close"},
			hookWork(0, (*hookRunner).scan, (*hookRunner).stateScan)),
		{Name: "get_shared_14", Summary: "14 goroutines get keys through one open handle", Workers: 14,
			New: sharedRead(14, (*hookReader).get)},
		{Name: "scan20_shared", Summary: "scan the 20 keys of a prefix through an open handle",
			New: sharedRead(1, (*hookReader).scan)},
		hookOp(Op{Name: "session", Summary: "80 gets and 20 puts in random order, each with an open and a close",
			Commits: true,
			Items:   sessionLength}, newSessionRunner),
		hookOp(Op{Name: "delete_stale", Summary: "open, delete the 10 old ones of the 20 keys of a prefix, close",
			Commits: true,
			Items:   groupSize / 2}, newStaleRunner),
		hookOp(Op{Name: "processes_1", Summary: "a process opens, does one get or put, closes; 5 % are killed",
			Commits: true,
			Workers: 1, Cycle: putEvery}, newProcessRunner),
		hookOp(Op{Name: "processes_4", Summary: "the same, 4 processes at a time", Commits: true,
			Workers: 4, Cycle: putEvery}, newProcessRunner),
		hookOp(Op{Name: "processes_14", Summary: "the same, 14 processes at a time", Commits: true,
			Workers: 14, Cycle: putEvery}, newProcessRunner),
		hookOp(Op{Name: "processes", Summary: "the same, n processes at a time", Commits: true, Cycle: putEvery},
			newCrowdRunner),
		stormOp,
	},
}

// stormOp is measured in one form more than the others.
var stormOp = Op{Name: "storm", Summary: "n processes at the same moment open, put one key each and close, or give up after 2 s", Commits: true,
	Forms: stormForms, CoreForms: []string{"kv"}, New: newStormRunner}

// hookOp completes an operation that opens the store itself. When no workload is named it runs in
// the form kv alone: state adds little, and its rows would take the time of the engines'.
func hookOp(op Op, create func(Env) (Runner, error)) Op {
	op.Forms, op.CoreForms, op.New = hookForms, []string{"kv"}, create
	return op
}

// hookForms are kv on every engine, and state where that takes the engine and its options.
func hookForms(engine, options string) []string {
	if engine != margaretForm { // which has no keys
		if _, err := newHookTool(Env{Engine: engine, Options: options}, 0); err == nil {
			return []string{"kv", stateForm}
		}
	}
	return []string{"kv"}
}

var hookParams = []Param{
	{Name: "keys", Default: "100", Usage: "keys in the store: 10, 100, 1k, 100k, 1M"},
	{Name: "value", Default: "128", Usage: "bytes of a value"},
	{Name: "n", Default: "50", Of: []string{"processes", "storm"},
		Usage: "processes at a time, of processes and storm alone: 50, 200, at most 1k"},
}

// mostProcesses is how many processes may run at a time: more are not through on two processors
// before the lab takes the one that starts them for hung.
const mostProcesses = 1000

// groupSize is how many keys share a prefix.
const groupSize = 20

// hookKeySize is the length of a key in bytes.
const hookKeySize = 16

// hookStore is a loaded store, and what it should hold.
type hookStore struct {
	kvStore            // in the form state, the file that state keeps
	tool     *hookTool // nil in the form kv
	values   values
	versions []uint64   // by the number of the key; 0 is absent
	rand     *rand.Rand // for the inputs; what they are depends on how many were drawn, not on the slices
	sample   *rand.Rand // for what is compared after a slice
}

func newHookStore(env Env) (hookStore, error) {
	p := env.params(hookParams)
	keys := p.count("keys", 1, 100e6)
	size := p.count("value", minValue, 1<<20)
	if p.err != nil {
		return hookStore{}, p.err
	}
	s := hookStore{
		kvStore:  newKVStore(env),
		values:   values{seed: env.Seed, size: size},
		versions: make([]uint64, keys),
		rand:     rand.New(rand.NewPCG(env.Seed, 1)),
		sample:   rand.New(rand.NewPCG(env.Seed, 2)),
	}
	switch env.Form {
	case "", "kv":
		return s, nil
	case stateForm:
		var err error
		s.tool, err = newHookTool(env, 0)
		s.url = env.url(filepath.Join("store", stateFile))
		return s, err
	}
	return s, &kv.Error{Op: "workload", Engine: env.Engine, Kind: kv.Invalid, Err: fmt.Errorf("form %q", env.Form),
		Hint: "use " + strings.Join(hookForms(env.Engine, env.Options), " or ")}
}

// Setup loads version 1 of every key.
func (s *hookStore) Setup(ctx context.Context) error {
	if s.tool != nil {
		if err := s.fillTool(ctx); err != nil {
			return err
		}
	}
	return s.create(ctx, func(db *kv.DB) error {
		if s.tool != nil {
			return nil
		}
		if s.closed && !db.Caps().Persistent {
			return &kv.Error{Op: "workload", Engine: s.env.Engine, Kind: kv.Unsupported,
				Err: errors.New("the store does not outlive a close")}
		}
		return s.fill(ctx, db, len(s.versions), func(i int, b *kv.Batch) { b.Put(s.first(i)) })
	})
}

// first returns key number i and its value in version 1, which it notes.
func (s *hookStore) first(i int) (key, value []byte) {
	s.versions[i] = 1
	return appendHookKey(nil, i), s.values.append(nil, uint64(i), 1)
}

// appendHookKey appends key number i: the number of its group, which is the prefix, and its own.
func appendHookKey(dst []byte, i int) []byte {
	return kv.AppendUint64(kv.AppendUint64(dst, uint64(i/groupSize)), uint64(i))
}

// drawKey draws the number of a key.
func (s *hookStore) drawKey() int { return s.rand.IntN(len(s.versions)) }

// bounds returns the numbers [first, end) of the keys of group g; the last group may be a short
// one.
func (s *hookStore) bounds(g int) (first, end int) {
	return g * groupSize, min((g+1)*groupSize, len(s.versions))
}

// checkPair returns the version of v; k and v must be key number i and its value.
func (s *hookStore) checkPair(k, v []byte, i int) (version uint64, err error) {
	if n, ok := kv.LastUint64(k); !ok || len(k) != hookKeySize || n != uint64(i) {
		return 0, fmt.Errorf("scan: key %x, want key %d", k, i)
	}
	return s.versions[i], s.values.check(v, uint64(i), s.versions[i])
}

// verify returns an error unless the store holds what was written last. touched are the keys that
// the slice was about.
func (s *hookStore) verify(ctx context.Context, touched []int) error {
	c := s.comparison(touched, func(i int, version uint64) error {
		if want := s.versions[i]; version != want {
			return fmt.Errorf("key %d: version %d, want %d (0 is absent)", i, version, want)
		}
		return nil
	})
	if s.tool != nil {
		return c.tool(ctx, s.tool)
	}
	return s.with(ctx, func(db *kv.DB) error { return c.db(ctx, db) })
}
