package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/lab/child"
	"github.com/assaydb/assay/lab/workload"
)

// Child is the whole life of a child process: it answers the parent's requests until in ends.
func Child(ctx context.Context, in io.Reader, out io.Writer) error {
	s := state{}
	ballast := make([]byte, ballastSize)
	err := child.Serve(in, out, func(r request) response { return s.answer(ctx, r) })
	runtime.KeepAlive(ballast)
	return errors.Join(err, s.close())
}

// ballastSize is how much more than by itself a child allocates between two collections. Each
// collection marks the 1.5 MB that the lab and the packages of all engines hold, and in a heap of
// 4 MB, the least that Go has, the operation would pay for that: bbolt's get took 1.2 times as long
// as in a loop of its own, SQLite's, which allocates little, as long. The ballast is never touched,
// so that it is no memory.
const ballastSize = 8 << 20

// state is that of a child process: at most one open cell.
type state struct {
	spec   *cellSpec
	op     workload.Op
	runner workload.Runner
	slicer *slicer
	warmed int          // iterations of the longest slice of warm, 0 if there was none
	logged func() int64 // bytes of the log that the engine keeps beside its file, nil if it keeps none
}

func (s *state) answer(ctx context.Context, r request) response {
	var resp response
	var err error
	switch r.Command {
	case cmdProbe:
		var promises [3]kv.Promise
		promises, err = Probe(ctx, r.Probe.Entry, r.Probe.Dir)
		resp.Promises = promises[:]
	case cmdSetup:
		resp.Setup, err = s.setup(ctx, *r.Cell)
	case cmdWarm:
		err = s.warm(ctx, r.Target, r.Least)
	case cmdCalibrate:
		resp.Slice, err = s.calibrate(ctx, r.Target)
	case cmdSlice:
		resp.Slice, err = s.slice(ctx, *r.Slice)
	case cmdPrepare:
		err = s.prepare(r.Slice.N)
	case cmdDo:
		err = s.do(ctx, r.Slice.N)
	case cmdFinish:
		resp.Finish, err = s.finish(ctx, r.Compact)
	default:
		err = fmt.Errorf("unknown command %q", r.Command)
	}
	if err != nil {
		resp.Error, resp.Hint = err.Error(), kv.HintOf(err)
		resp.Invalid = errors.Is(err, kv.Invalid)
		if resp.Refused = r.Command == cmdSetup && errors.Is(err, kv.Unsupported); resp.Refused {
			resp.Error = reason(err)
		}
		if s.close() != nil && resp.Hint == "" {
			resp.Hint = "the store could not be closed either"
		}
	}
	return resp
}

// reason is what err says beside what was done to what, so that it is the same text for all
// engines.
func reason(err error) string {
	var e *kv.Error
	if errors.As(err, &e) && e.Err != nil {
		return e.Err.Error()
	}
	return err.Error()
}

// Probe opens fresh stores of an entry in dir, one for each class, and tells what a commit of each
// delivers.
func Probe(ctx context.Context, e Entry, dir string) (promises [3]kv.Promise, err error) {
	for _, d := range driver.Durabilities {
		url := fmt.Sprintf("%s:%s?%s", e.Engine, filepath.ToSlash(filepath.Join(dir, d.String())), e.Options)
		db, err := kv.Open(ctx, url, kv.WithWeakest(d))
		if errors.Is(err, kv.Unsupported) {
			continue
		}
		if err != nil {
			return promises, err
		}
		promises[d] = db.Caps().Promise(d)
		if err := db.Close(); err != nil {
			return promises, err
		}
	}
	return promises, nil
}

func (s *state) setup(ctx context.Context, spec cellSpec) (*setupReport, error) {
	if s.runner != nil {
		return nil, fmt.Errorf("set up %s: %s is still open", spec.Operation, s.spec.Operation)
	}
	w, ok := workload.Lookup(spec.Workload)
	if !ok {
		return nil, fmt.Errorf("unknown workload %q", spec.Workload)
	}
	op, ok := w.Op(spec.Operation)
	if !ok {
		return nil, fmt.Errorf("unknown operation %q of %s", spec.Operation, spec.Workload)
	}
	if err := os.MkdirAll(spec.Dir, 0o700); err != nil {
		return nil, err
	}
	runner, err := op.New(workload.Env{
		Dir: spec.Dir, Engine: spec.Engine, Options: spec.Options, Form: spec.Form, Durability: spec.Durability,
		Seed: spec.Seed, Params: spec.Params, Self: spec.Helper, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	op = op.With(spec.Params)
	callers := op.Workers
	if crowd, ok := runner.(workload.Crowd); ok {
		op.Workers = crowd.Workers()
		if _, starts := runner.(workload.Resetter); !starts {
			callers, op.Cycle = op.Workers, whole(op.Workers, cycleOf(op))
		}
	}
	s.spec, s.op, s.runner, s.slicer = &spec, op, runner, newSlicer(runner, callers)
	s.logged = besides(spec)
	s.slicer.slow(spec.Slow)
	resetPeakRSS()
	if err := runner.Setup(ctx); err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	size, err := runner.Size()
	if err != nil {
		return nil, err
	}
	runtime.GC() // the garbage of loading is not the operation's
	r := &setupReport{Description: runner.Describe(), Size: size, Goroutines: runtime.NumGoroutine(),
		Workers: max(op.Workers, 1), Cycle: cycleOf(op), Resets: s.slicer.reset != nil}
	if others, ok := runner.(workload.Apart); ok {
		r.Apart, r.Staying = true, others.Staying()
	}
	return r, nil
}

// besides returns a function that tells how many bytes the files of a cell have that its engine
// keeps beside its own, or nil if it keeps none.
func besides(spec cellSpec) func() int64 {
	d, ok := driver.Lookup(spec.Engine)
	if !ok {
		return nil
	}
	endings := d.Info().Companions
	if len(endings) == 0 {
		return nil
	}
	return func() (sum int64) {
		_ = filepath.WalkDir(spec.Dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !slices.ContainsFunc(endings, func(s string) bool { return strings.HasSuffix(path, s) }) {
				return nil
			}
			size, _ := kv.SizeOf(path) // what cannot be read grows no more
			sum += size.Apparent
			return nil
		})
		return sum
	}
}

// warm does slices, each twice as long as the one before, for as long as target, once fill was
// through. An operation that opens its store meets a new log each time: it fills none.
func (s *state) warm(ctx context.Context, target time.Duration, least int) error {
	if s.runner == nil {
		return errors.New("warm: no cell is set up")
	}
	defer s.slicer.forget()
	start := time.Now()
	if least > 0 && s.logged != nil && s.slicer.reset == nil && s.slicer.restore == nil {
		if err := s.fill(ctx, warmStretch*target, least*cycleOf(s.op)); err != nil {
			return err
		}
	}
	for n := whole(s.warmed/8, cycleOf(s.op)); ; n = whole(2*n, cycleOf(s.op)) {
		wall, _, err := s.slicer.run(ctx, sliceSpec{N: n})
		s.warmed = max(s.warmed, n)
		if err != nil || time.Since(start)+wall > target {
			return err
		}
	}
}

// fill works for as long as a log beside the store's file grows, which the engine will soon write
// anew from its start: at most least operations, or warmWritten bytes, and only if they seem to fit
// into the limit. Where the runner can, it does so by commits that do not wait for the disk. Of a
// mix so many cycles count, of each of which at least one operation commits.
func (s *state) fill(ctx context.Context, limit time.Duration, least int) error {
	if w, ok := s.runner.(workload.Weaker); ok {
		class := w.Commit(max(s.spec.Durability, kv.Flushed))
		defer w.Commit(class)
	}
	start, done, written, size, part := time.Now(), 0, int64(0), s.logged(), 0.0
	for n := cycleOf(s.op); ; n = whole(min(2*n, least/16), cycleOf(s.op)) {
		wall, _, err := s.slicer.run(ctx, sliceSpec{N: n})
		s.warmed, done = max(s.warmed, n), done+n
		if bytes := s.slicer.meter.used.written; bytes != nil {
			written += *bytes
		}
		before, had := size, part
		size = s.logged()
		part = max(float64(done)/float64(least), float64(written)/warmWritten)
		took := time.Since(start)
		// Half of what it will be, by this slice: others work beside the first ones.
		left := time.Duration(float64(wall) * (1 - part) / max(part-had, 1e-9) / 2)
		if err != nil || size <= before || part >= 1 || took > limit/10 && took+left > limit {
			return err
		}
	}
}

// calibrate does slices that double until one takes target, and returns the last one. What the
// first took is never the estimate, unless warm came before.
func (s *state) calibrate(ctx context.Context, target time.Duration) (*sliceReport, error) {
	if s.runner == nil {
		return nil, errors.New("calibrate: no cell is set up")
	}
	cycle := cycleOf(s.op)
	n := max(s.warmed/8, cycle)
	for first := s.warmed == 0; ; first = false {
		wall, perOp, err := s.slicer.run(ctx, sliceSpec{N: n})
		if err != nil {
			return nil, err
		}
		full := wall >= target*2/3 || n >= maxOps/2
		if full && !first {
			s.slicer.forget()
			return &sliceReport{N: fit(target, perOp, cycle), NS: perOp}, nil
		}
		if !full {
			// At most tenfold: the first iterations are the slowest and would mislead.
			n = whole(min(max(2*n, min(10*n, int(0.9*float64(target)/max(perOp, 1)))), maxOps), cycle)
		}
	}
}

func (s *state) slice(ctx context.Context, spec sliceSpec) (*sliceReport, error) {
	if s.runner == nil {
		return nil, errors.New("slice: no cell is set up")
	}
	if spec.Forget {
		s.slicer.forget()
	}
	wall, perOp, err := s.slicer.run(ctx, spec)
	if err != nil {
		return nil, err
	}
	used := s.slicer.meter.used
	r := &sliceReport{
		N: spec.N, Wall: wall, NS: perOp,
		Allocs: float64(used.allocs), AllocBytes: float64(used.allocBytes),
		CPU: used.cpu, Written: used.written, RSS: peakRSS(),
	}
	if m, ok := s.runner.(workload.Metered); ok {
		r.Metrics = m.Metrics()
	}
	return r, nil
}

func (s *state) prepare(n int) error {
	if s.runner == nil {
		return errors.New("prepare: no cell is set up")
	}
	return s.slicer.prepare(n)
}

func (s *state) do(ctx context.Context, n int) error {
	if s.runner == nil {
		return errors.New("do: no cell is set up")
	}
	_, err := s.slicer.do(ctx, sliceSpec{N: n, keep: true})
	return err
}

func (s *state) finish(ctx context.Context, compact bool) (*finishReport, error) {
	if s.runner == nil {
		return nil, errors.New("finish: no cell is set up")
	}
	var r finishReport
	var err error
	if s.slicer.owing > 0 {
		if err := s.slicer.verify(ctx); err != nil {
			return nil, err
		}
	}
	if r.Churned, err = s.runner.Size(); err != nil {
		return nil, err
	}
	if compact {
		if err := s.runner.Compact(ctx); err != nil {
			return nil, err
		}
		size, err := s.runner.Size()
		if err != nil {
			return nil, err
		}
		r.Compacted = &size
	}
	if r.Latencies, err = s.slicer.total.Encode(hdrhistogram.V2CompressedEncodingCookieBase); err != nil {
		return nil, err
	}
	return &r, s.close()
}

// close ends the cell, if one is open, and removes its folder.
func (s *state) close() error {
	if s.runner == nil {
		return nil
	}
	err := s.runner.Close()
	err = errors.Join(err, os.RemoveAll(s.spec.Dir))
	*s = state{}
	return err
}
