package prove

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/assaydb/assay/lab/powerfs"
)

// What a recording of a server is like, and how many of its states are opened at once.
const (
	stretches     = 3   // of work, with upkeep after each
	acksOfStretch = 150 // by all clients together
	momentsOfTape = 24
	momentsFew    = 4 // where rounds are counted
	statesOfCut   = 4 // of each moment, at most
)

// powerRound records what a server does to its disk amid the transactions of clients, and starts a
// server on states that a power cut may leave, until a moment or to its end.
func (s *serverRun) powerRound(ctx context.Context, t *task, seed uint64, until time.Time) error {
	c := s.crowd(t, seed)
	defer c.end(0)
	tape, all, err := s.recordServer(ctx, t, c)
	if err != nil {
		return err
	}
	s.noteHistory(t, seed, all, 0)
	player, err := tape.Play()
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(seed, 2))
	steps, began := tape.Steps(), firstAck(all)
	first := slices.IndexFunc(steps, func(step powerfs.Step) bool { return step.Monotonic > began })
	if first < 0 {
		return errors.New("the server did nothing to its disk after the first commit")
	}
	moments := make([]int, momentsOfTape)
	if s.Rounds > 0 {
		moments = moments[:momentsFew]
	}
	for i := range moments {
		moments[i] = first + rng.IntN(len(steps)-first)
	}
	slices.Sort(moments)
	lanes, failed := errgroup.WithContext(ctx)
	lanes.SetLimit(runtime.GOMAXPROCS(0))
	tried := 0
	for _, at := range moments {
		if err := player.Forward(at); err != nil {
			return errors.Join(err, lanes.Wait())
		}
		for _, state := range someStates(player.States(powerfs.Ordered, rng), rng) {
			late := s.Rounds == 0 && !time.Now().Before(until)
			if failed.Err() != nil || late && tried > 0 {
				return errors.Join(ctx.Err(), lanes.Wait())
			}
			img, err := player.Image(state)
			if err != nil {
				return errors.Join(err, lanes.Wait())
			}
			tried++
			lanes.Go(func() error { return s.powerState(ctx, t, seed, c, img, all, steps[at].Monotonic) })
		}
	}
	return lanes.Wait()
}

// someStates returns some of the states of a moment: the one with nothing that was not synced, and
// others at random.
func someStates(states []powerfs.State, rng *rand.Rand) []powerfs.State {
	rest := states[1:]
	rng.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
	return states[:min(statesOfCut, len(states))]
}

// firstAck returns when the first transaction was acknowledged.
func firstAck(all []Transaction) (first int64) {
	for _, t := range all {
		if t.Told == Acknowledged && len(t.Writes) > 0 && (first == 0 || t.Return < first) {
			first = t.Return
		}
	}
	return first
}

// recordServer records a server on a disk while clients work.
func (s *serverRun) recordServer(ctx context.Context, t *task, c *crowd) (_ *powerfs.Tape, _ []Transaction, err error) {
	disk := s.servers[t.entry.Engine].Disk
	dir, err := s.folder(s.dir.Path)
	if err != nil {
		return nil, nil, err
	}
	template, run, at := filepath.Join(dir, "template"), filepath.Join(dir, "run"), filepath.Join(dir, "disk")
	if err := errors.Join(os.Mkdir(template, 0o755), os.Mkdir(run, 0o755), os.Mkdir(at, 0o755)); err != nil {
		return nil, nil, err
	}
	if err := disk.Make(template, run); err != nil {
		return nil, nil, err
	}
	from, err := powerfs.Import(template)
	if err != nil {
		return nil, nil, err
	}
	medium, err := powerfs.New(powerfs.Options{From: from, Record: true})
	if err != nil {
		return nil, nil, err
	}
	mount, err := medium.Mount(at)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, mount.Unmount()) }()
	server, err := disk.Record(at, run)
	if err != nil {
		return nil, nil, err
	}
	defer server.Stop()
	for range s.clientsOf() {
		if err := c.join(ctx, server.Params()); err != nil {
			return nil, nil, err
		}
	}
	for range stretches {
		if err := errors.Join(c.more(ctx, acksOfStretch), disk.Upkeep(ctx, server)); err != nil {
			return nil, nil, err
		}
	}
	if err := c.each(ctx, acksOfEach); err != nil {
		return nil, nil, err
	}
	all := c.end(serverPatience)
	return medium.Tape(), all, nil // from here on the disk is of no interest
}

// powerState starts a server on a state that a power cut at a moment has left, and judges it.
func (s *serverRun) powerState(ctx context.Context, t *task, seed uint64, c *crowd, img *powerfs.Image,
	all []Transaction, at int64) (err error) {
	dir, err := s.folder(s.fast)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	data, run := filepath.Join(dir, "data"), filepath.Join(dir, "run")
	if err := errors.Join(os.Mkdir(run, 0o755), img.Export(data)); err != nil {
		return err
	}
	var f finding
	server, err := s.servers[t.entry.Engine].Disk.Recover(data, run)
	if err != nil {
		f.say("a server does not start on it: %v", err)
	} else {
		defer server.Stop()
		if f, err = s.judgementOf(t, at, nil).open(ctx, c.url(server.Params()), all); err != nil {
			return err
		}
	}
	f.sum = img.Sum()
	s.found(t, seed, s.withEvidence(t, seed, all, f))
	return nil
}
