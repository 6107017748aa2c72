package live

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"

	"github.com/gofrs/flock"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

// side is one of the two stores.
type side struct {
	name         string // "old" or "new"
	db           *kv.DB // by which it was opened; it is used through its driver
	driver.Store        // the driver's
}

// class returns the class to ask of the side for a commit of class d: d, or the strongest that
// there is.
func (s *side) class(d driver.Durability) driver.Durability {
	if caps := s.Caps(); !caps.Promise(d).Supported {
		return caps.Strongest()
	}
	return d
}

// mending returns the cheapest class that keeps the side intact when the power fails: a shadow that
// is not there as a whole may be less, but not damaged.
func (s *side) mending() driver.Durability {
	caps := s.Caps()
	for d := driver.Buffered; d > driver.Synced; d-- {
		if p := caps.Promise(d); p.Supported && p.Intact {
			return d
		}
	}
	return caps.Strongest()
}

// store is an open switch.
type store struct {
	dir     string
	config  driver.Config
	logger  *slog.Logger
	lock    *flock.Flock
	caps    driver.Caps
	compare bool
	open    []*side         // all that Close must close
	turn    chan struct{}   // full while somebody writes to a side, or must not be disturbed by one who does
	passing chan struct{}   // full while a pass runs
	wake    chan struct{}   // full when the shadow is to be mended
	life    context.Context // ends with end, when the store is closed
	end     context.CancelFunc
	ended   sync.WaitGroup // mending, and calls of Switch

	mu       sync.Mutex // of what follows
	closing  bool       // no call of Switch begins any more
	state    state
	truth    *side
	shadow   *side // nil if there is none, or none that can be used before the next opening
	pairing  pairing
	status   Status // but for what is taken from above
	failures int64  // of the shadow
	doubt    bool   // whether the truth holds its last commit, or the file the last phase, is not known
}

// pairing tells whether two snapshots, of the truth and of the shadow, are of one state: they are
// if it was the same before and after, and inStep.
type pairing struct {
	truth, shadow *side
	commits       uint64 // that have begun
	committing    bool   // the truth may have what the shadow has not
	inStep        bool
}

var (
	_ driver.Applier    = (*store)(nil)
	_ driver.Compacter  = (*store)(nil)
	_ driver.Checker    = (*store)(nil)
	_ driver.Backuper   = (*store)(nil)
	_ driver.Configured = (*store)(nil)
)

func newStore(c driver.Config, st state, compare bool) *store {
	s := &store{dir: c.Path, config: c, logger: c.Logger, state: st, compare: compare,
		turn: make(chan struct{}, 1), passing: make(chan struct{}, 1), wake: make(chan struct{}, 1)}
	s.life, s.end = context.WithCancel(context.Background())
	return s
}

// use begins a call of Switch, of which kv does not know: Close ends its context and waits for it.
func (s *store) use(ctx context.Context) (within context.Context, leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return nil, nil, errClosed()
	}
	s.ended.Add(1)
	within, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.life, cancel)
	return within, func() {
		stop()
		cancel()
		s.ended.Done()
	}, nil
}

func errClosed() error { return &kv.Error{Kind: kv.Closed, Err: errors.New("the store is closed")} }

// openSides opens the truth and the shadow, and begins to mend. A shadow that is damaged keeps
// nobody from the truth, but for the first time, when the program may still be told.
func (s *store) openSides(ctx context.Context, first bool) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	truth, shadow := s.state.Phase.sides()
	if s.truth, err = s.openSide(ctx, truth); err != nil {
		return err
	}
	s.caps = s.truth.Caps()
	if s.config.Mode == driver.ReadOnly || shadow == "" {
		s.pairing.inStep = s.state.InStep // as it was closed
		s.declare(s.caps)
		return nil
	}
	s.shadow, err = s.openSide(ctx, shadow)
	switch kind := driver.KindOf(err); {
	case err == nil:
		s.caps = both(s.caps, s.shadow.Caps())
	case first, kind == driver.Invalid, kind == driver.Unsupported, kind == driver.Busy, kind == driver.Canceled:
		return err
	default:
		s.fail(err)
	}
	s.declare(s.caps)
	s.pairing.inStep = s.state.InStep && s.shadow != nil
	if s.state.InStep {
		s.state.InStep = false
		if err := s.state.write(s.dir); err != nil {
			return err
		}
	}
	s.start()
	return nil
}

// declare sets what the switch itself cannot do, or does.
func (s *store) declare(c driver.Caps) {
	c.Persistent, c.Folder = true, true
	c.Modes = []driver.Mode{driver.Exclusive, driver.ReadOnly}
	c.SharedReading, c.ConcurrentApply = false, false
	s.caps = c
}

// openSide opens the side called name, alone if its engine can.
func (s *store) openSide(ctx context.Context, name string) (*side, error) {
	rawURL := resolve(s.dir, name, s.state.url(name))
	d, _, err := find(rawURL)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	options := []kv.Option{kv.WithWait(0), kv.WithWeakest(s.config.Weakest), kv.WithLogger(s.logger)}
	if s.config.Mode == driver.ReadOnly || d.Info().Caps.Supports(s.config.Mode) {
		options = append(options, kv.WithMode(s.config.Mode))
	}
	db, err := kv.Open(ctx, rawURL, options...)
	if err != nil {
		return nil, &kv.Error{Kind: kv.KindOf(err), Err: fmt.Errorf("%s: %w", name, err), Hint: kv.HintOf(err)}
	}
	opened := &side{name: name, db: db, Store: db.Driver()}
	s.open = append(s.open, opened)
	return opened, nil
}

// both returns what holds whichever of two stores is the truth. The limits are those of a: each
// truth holds its own.
func both(a, b driver.Caps) driver.Caps {
	for i := range a.Promises {
		p, q := &a.Promises[i], b.Promises[i]
		p.Supported = p.Supported && q.Supported
		p.Class = max(p.Class, q.Class)
		p.Intact = p.Intact && q.Intact
		p.KillAtomic = p.KillAtomic && q.KillAtomic
		p.PowerAtomic = p.PowerAtomic && q.PowerAtomic
		p.DiskMayBreak = p.DiskMayBreak || q.DiskMayBreak
	}
	a.PureGo = a.PureGo && b.PureGo
	a.ReadersBlockWriters = max(a.ReadersBlockWriters, b.ReadersBlockWriters)
	a.WritersBlockReaders = max(a.WritersBlockReaders, b.WritersBlockReaders)
	a.MayAbort = a.MayAbort || b.MayAbort
	a.Remote = a.Remote && b.Remote
	a.TxnLimit = a.TxnLimit || b.TxnLimit
	a.Compacts = a.Compacts || b.Compacts
	a.Checks = a.Checks && b.Checks
	a.ChecksAlone = a.ChecksAlone || b.ChecksAlone
	return a
}

// Caps tells what both stores can do; the limits of keys and values are those of the truth.
func (s *store) Caps() driver.Caps { return s.caps }

// sides returns the truth and the shadow, nil if there is none.
func (s *store) sides() (truth, shadow *side) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.truth, s.shadow
}

// enter waits for the turn of those who write to a side.
func (s *store) enter(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *store) leave() { <-s.turn }

// enterWriting is enter for a commit, which is refused where it may go to the wrong side.
func (s *store) enterWriting(ctx context.Context) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.doubt {
		s.leave()
		return driver.NotDone(&driver.Error{Kind: driver.Stopped, Hint: "close the store and open it again",
			Err: errors.New("it is not known what the last commit, or the last change of the phase, left")})
	}
	return nil
}

// begun says that a commit to the truth begins; done that it is in the shadow, too, or that the
// shadow is out of step.
func (s *store) begun() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pairing.commits++
	s.pairing.committing = true
}

func (s *store) done(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pairing.committing = false
	if driver.IsInDoubt(err) {
		s.doubt, s.pairing.inStep = true, false
	}
}

// follow commits to the shadow what the truth has committed. It fails nobody: see miss.
func (s *store) follow(ctx context.Context, ops []driver.Op, d driver.Durability) {
	_, shadow := s.sides()
	if shadow == nil || len(ops) == 0 {
		return
	}
	err := s.answering(context.WithoutCancel(ctx), shadow, func(ctx context.Context) error {
		return shadow.apply(ctx, ops, shadow.class(d))
	})
	if err != nil {
		s.miss(err)
	}
}

// answering has do work on the shadow, while writers wait. A shadow on another machine that does
// not answer is not used any more until the next opening: else each commit would wait for it.
func (s *store) answering(ctx context.Context, shadow *side, do func(context.Context) error) error {
	if !shadow.Caps().Remote {
		return do(ctx)
	}
	within, cancel := context.WithTimeout(ctx, kv.DefaultWait)
	defer cancel()
	err := do(within)
	if ctx.Err() == nil && (errors.Is(err, context.DeadlineExceeded) || err != nil && within.Err() != nil) {
		err = &kv.Error{Kind: kv.InDoubt,
			Err: fmt.Errorf("%s: it did not answer within %v: %v", shadow.name, kv.DefaultWait, err)}
		s.lose(err)
	}
	return err
}

// miss says that the shadow lacks a commit.
func (s *store) miss(err error) {
	s.mu.Lock()
	s.status.Missed++
	s.mu.Unlock()
	s.lose(err)
}

// lose keeps the failure of a commit to the shadow. One in doubt ends its use until the next
// opening.
func (s *store) lose(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failLocked(err)
	if driver.IsInDoubt(err) {
		s.shadow = nil
	}
}

// fail keeps a failure of the shadow and has it mended.
func (s *store) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failLocked(err)
}

func (s *store) failLocked(err error) {
	s.status.Err = err
	s.failures++
	s.pairing.inStep = false
	s.logger.Warn("the shadow of a switch failed", "switch", s.dir, "error", err)
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Apply commits ops to the truth and then to the shadow.
func (s *store) Apply(ctx context.Context, ops []driver.Op, d driver.Durability) error {
	if err := s.enterWriting(ctx); err != nil {
		return err
	}
	defer s.leave()
	truth, _ := s.sides()
	s.begun()
	err := truth.apply(ctx, ops, d)
	if err == nil {
		s.follow(ctx, ops, d)
	}
	s.done(err)
	return err
}

// apply commits ops to the side, if all of them fit.
func (s *side) apply(ctx context.Context, ops []driver.Op, d driver.Durability) error {
	caps := s.Caps()
	for i := range ops {
		if err := fits(&caps, &ops[i]); err != nil {
			return driver.NotDone(err)
		}
	}
	return driver.Apply(ctx, s.Store, ops, d)
}

// fits refuses what is over the limits of a side; kv knows only those of the truth when the switch
// was opened.
func fits(caps *driver.Caps, op *driver.Op) error {
	if caps.MaxKey > 0 && len(op.Key) > caps.MaxKey || caps.MaxValue > 0 && len(op.Value) > caps.MaxValue {
		return &driver.Error{Kind: driver.TooLarge,
			Err: fmt.Errorf("key of %d bytes with a value of %d, at most %d and %d", len(op.Key), len(op.Value),
				caps.MaxKey, caps.MaxValue)}
	}
	return nil
}

// Compact compacts both stores.
func (s *store) Compact(ctx context.Context) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	truth, shadow := s.sides()
	if shadow != nil {
		if c, ok := shadow.Store.(driver.Compacter); ok {
			if err := c.Compact(ctx); err != nil {
				s.fail(err)
			}
		}
	}
	if c, ok := truth.Store.(driver.Compacter); ok {
		return c.Compact(ctx)
	}
	return nil
}

// Check checks the truth. That the shadow is equal to it is for Switch.Compare to see.
func (s *store) Check(ctx context.Context) error {
	if s.caps.ChecksAlone {
		if err := s.enter(ctx); err != nil {
			return err
		}
		defer s.leave()
	}
	truth, _ := s.sides()
	if c, ok := truth.Store.(driver.Checker); ok {
		return c.Check(ctx)
	}
	return driver.EachPair(ctx, truth.Store, func(_, _ []byte) error { return nil })
}

// Backup copies the truth. The copy is a switch in the same phase, with its stores in its own
// folder, of which the one to be shadow is made when it is opened.
func (s *store) Backup(ctx context.Context, path string) error {
	s.mu.Lock()
	truth, st := s.truth, s.state
	s.mu.Unlock()
	if err := driver.MakeDirs(path); err != nil {
		return err
	}
	if err := truth.db.Backup(ctx, filepath.Join(path, truth.name)); err != nil {
		return err
	}
	st.Old, st.New, st.InStep = withoutPath(st.Old), withoutPath(st.New), false
	return st.write(path)
}

// withoutPath returns a URL as of keep that names a store in the switch's folder.
func withoutPath(rawURL string) string { return withPath(rawURL, "") }

// files returns where the side's data lies, whether it is there now or not: nowhere on this machine
// if it is Remote.
func (s *side) files() []string {
	if s.Caps().Remote {
		return nil
	}
	files := []string{s.db.Path()}
	if d, ok := driver.Lookup(s.db.Engine()); ok {
		for _, ending := range d.Info().Companions {
			files = append(files, s.db.Path()+ending)
		}
	}
	return files
}

// Settings returns the URLs, the phase, and the settings of both stores.
func (s *store) Settings() []driver.Setting {
	s.mu.Lock()
	st := s.state
	s.mu.Unlock()
	list := []driver.Setting{{Name: "old", Value: st.Old}, {Name: "new", Value: st.New},
		{Name: "phase", Value: st.Phase.String()}}
	truth, shadow := s.sides()
	for _, one := range []*side{truth, shadow} {
		if one != nil {
			for _, set := range one.db.Settings() {
				list = append(list, driver.Setting{Name: one.name + "." + set.Name, Value: set.Value})
			}
		}
	}
	return list
}

// Close closes both stores. If they are in step it syncs all of their files and says so in the
// switch's own, so that the next opening need not compare them.
func (s *store) Close() error {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.end()
	s.ended.Wait()
	truth, shadow := s.sides()
	equal := shadow != nil && s.pairing.inStep
	var files []string
	if equal {
		files = append(truth.files(), shadow.files()...)
	}
	var err error
	for _, one := range slices.Backward(s.open) {
		cerr := one.db.Close()
		equal = equal && cerr == nil
		if cerr != nil && one != truth {
			s.fail(cerr)
			cerr = nil
		}
		err = errors.Join(err, cerr)
	}
	if equal {
		err = errors.Join(err, s.closedInStep(files))
	}
	if s.lock != nil {
		err = errors.Join(err, s.lock.Close())
	}
	return err
}

// closedInStep syncs files, and then says in the switch's file that both stores hold the same.
func (s *store) closedInStep(files []string) error {
	for _, path := range files {
		if err := syncAll(path); err != nil {
			return err
		}
	}
	s.state.InStep = true
	return s.state.write(s.dir)
}
