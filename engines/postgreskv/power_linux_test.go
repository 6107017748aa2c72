package postgreskv_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/assaydb/assay/engines/postgreskv/postgrestest"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/powerfs"
)

// As much as one server may hold in its caches, so that it has to write in between; and its log in
// small files, of which it uses many.
var poweredSettings = []string{"shared_buffers=1MB", "max_wal_size=2MB", "min_wal_size=2MB", "bgwriter_delay=10ms",
	"autovacuum_naptime=1s"}

// TestPowerCutsLoseNothing records what a server does to its disk amid commits, makes states that a
// power cut may leave, and starts a server on each: all that was acknowledged as synced before the
// cut is there, and of each writer the first of its commits and no others.
// ASSAY_POSTGRES_STATES=500 opens as many states that differ.
func TestPowerCutsLoseNothing(t *testing.T) {
	states := 10
	if testing.Short() {
		states = 2
	}
	states = postgrestest.AtLeast(t, "ASSAY_POSTGRES_STATES", states)
	tried, commits, errs := cuts(t, states, false)
	for _, err := range errs {
		t.Error(err)
	}
	t.Logf("%d states that differ were opened, with %d commits in all", tried, commits)
	if tried == 0 || commits == 0 {
		t.Error("nothing was tried")
	}
}

// TestALyingDiskLosesCommits is the control: were all commits found, syncs would not be what makes
// them durable here.
func TestALyingDiskLosesCommits(t *testing.T) {
	if testing.Short() {
		t.Skip("without -short")
	}
	tried, _, errs := cuts(t, 3, true)
	if len(errs) < tried || tried == 0 {
		t.Errorf("of %d states after lost syncs %d were found to be wrong", tried, len(errs))
	}
}

// cuts records a server's work, opens so many states that power cuts may leave of it, and returns
// what was wrong. Of a disk that lies, nothing is left that was not there at first.
func cuts(t *testing.T, states int, lying bool) (tried, commits int, errs []error) {
	t.Helper()
	if err := powerfs.Available(); err != nil {
		t.Skipf("NOT TESTED: this machine cannot mount: %v", err)
	}
	writers, tape := chronicle(t, lying)
	player, err := tape.Play()
	must(t, err)
	steps := tape.Steps()
	first := slices.IndexFunc(steps, func(s powerfs.Step) bool { return s.Monotonic > writers[0].told[0] })
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d, %d operations, %d before the first commit", seed, len(steps), first)
	moments := make([]int, max(1, states/4))
	for i := range moments {
		moments[i] = first + rng.IntN(len(steps)-first)
	}
	slices.Sort(moments)
	seen := map[[sha256.Size]byte]bool{}
	for i, at := range moments {
		must(t, player.Forward(at))
		all := player.States(powerfs.Ordered, rng)
		if lying {
			all = all[:1]
		}
		left := (states - len(seen)) / (len(moments) - i)
		for _, state := range chosen(all, rng) {
			if left <= 0 {
				break
			}
			img, err := player.Image(state)
			must(t, err)
			if seen[img.Sum()] {
				continue
			}
			seen[img.Sum()] = true
			left--
			found, err := open(t, img, writers, steps[at].Monotonic)
			if err != nil {
				errs = append(errs, fmt.Errorf("before operation %d of %d (%v), %v: %w", at, len(steps), steps[at], state, err))
			}
			tried, commits = tried+1, commits+found
		}
	}
	return tried, commits, errs
}

// chosen puts states in an order of chance, behind the one with nothing that was not synced.
func chosen(states []powerfs.State, rng *rand.Rand) []powerfs.State {
	rest := states[1:]
	rng.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
	return states
}

// chronicle returns what a server did, while writers committed.
func chronicle(t *testing.T, lying bool) ([]writer, *powerfs.Tape) {
	t.Helper()
	s, err := postgrestest.New()
	postgrestest.Check(t, err)
	t.Cleanup(s.Remove)
	template := t.TempDir()
	must(t, s.Mounted(), s.Make(filepath.Join(template, "data")))
	from, err := powerfs.Import(template)
	must(t, err)
	disk, err := powerfs.New(powerfs.Options{From: from, Record: true, Lying: lying})
	must(t, err)
	dir := t.TempDir()
	mount, err := disk.Mount(dir)
	must(t, err)
	defer func() { must(t, mount.Unmount()) }()
	s.Use(filepath.Join(dir, "data"))
	must(t, s.Launch(poweredSettings...))
	defer func() { must(t, s.Kill()) }()
	writers := write(t, s.DSN())
	return writers, disk.Tape() // from here on the server fails
}

// write lets two writers commit as synced, and one as flushed.
func write(t *testing.T, dsn string) []writer {
	t.Helper()
	writers := make([]writer, 3)
	wrote, stop := make(chan struct{}), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	for i := range writers {
		w := &writers[i]
		w.name, w.db = strconv.Itoa(i), openTable(t, paramsOf(dsn))
		if i == 2 {
			w.class = kv.Flushed
		}
		all.Go(func() {
			if err := w.run(ctx, wrote, stop); err != nil {
				t.Errorf("writer %s: %v", w.name, err)
				cancel()
			}
		})
	}
	wait := func(commits int) {
		for range commits {
			select {
			case <-wrote:
			case <-ctx.Done():
			}
		}
	}
	for range 3 {
		wait(50)
		must(t, writers[0].db.Compact(ctx), checkpoint(ctx, dsn))
	}
	wait(50)
	close(stop)
	all.Wait()
	for i := range writers {
		must(t, writers[i].db.Close())
	}
	if t.Failed() {
		t.FailNow()
	}
	return writers
}

// open starts a server on what a power cut at a time has left, and returns how many commits it
// holds.
func open(t *testing.T, img *powerfs.Image, writers []writer, at int64) (commits int, err error) {
	t.Helper()
	dir, err := os.MkdirTemp(t.TempDir(), "left")
	must(t, err)
	defer os.RemoveAll(dir)
	must(t, img.Export(dir))
	// the number of its first process may be another's by now, which is not so after a power cut
	must(t, os.RemoveAll(filepath.Join(dir, "data", "postmaster.pid")))
	s, err := postgrestest.New()
	must(t, err)
	defer s.Remove()
	must(t, s.Mounted())
	s.Use(filepath.Join(dir, "data"))
	if err := s.Launch("fsync=off"); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Kill()) }()
	db, err := kv.Open(t.Context(), "postgres:kv?"+paramsOf(s.DSN()), kv.WithWeakest(kv.Flushed))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for i := range writers {
		n, werr := writers[i].left(t.Context(), db, at)
		commits, err = commits+n, errors.Join(err, werr)
	}
	return commits, errors.Join(err, db.Put(t.Context(), kv.Flushed, []byte("afterwards"), nil))
}

// left returns how many of the writer's records are there: the first, all that it was told of
// before a time, and their number.
func (w *writer) left(ctx context.Context, db *kv.DB, at int64) (records int, err error) {
	err = db.View(ctx, func(s *kv.Snapshot) error {
		for k, v := range s.Scan(kv.Prefix([]byte("record/" + w.name + "/"))) {
			if want := w.key(records); string(k) != string(want) || string(v) != string(want) {
				return fmt.Errorf("writer %s: in place of record %d there is %q=%q", w.name, records, k, v)
			}
			records++
		}
		sum, err := number(s.Get(w.sum()))
		if err == nil && sum != records {
			err = fmt.Errorf("writer %s: %d records, their number is %d", w.name, records, sum)
		}
		return err
	})
	told, _ := slices.BinarySearch(w.told, at)
	if err == nil && w.class == kv.Synced && records < told {
		err = fmt.Errorf("writer %s: %d records of %d that were acknowledged", w.name, records, told)
	}
	return records, err
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
