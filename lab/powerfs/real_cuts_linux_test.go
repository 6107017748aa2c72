package powerfs

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A cut of a real file system shows more than one state: those that its device may hold at every
// moment, when the device has a cache that it writes as it likes between two flushes. So the device
// is a file on a Disk that records: played again, it gives the states of the device before every
// flush, each of which is mounted.

// watched counts the operations, up to a limit, and calls a function behind each.
type watched struct {
	doer
	left  int // operations beyond are not done
	after func()
	// nudge: written bytes are brought to the device at once, which makes nothing durable.
	nudge func(path string)
}

func (w *watched) op(do func()) {
	if w.left == 0 {
		return
	}
	w.left--
	do()
	if w.after != nil {
		w.after()
	}
}

func (w *watched) create(path string)               { w.op(func() { w.doer.create(path) }) }
func (w *watched) mkdir(path string)                { w.op(func() { w.doer.mkdir(path) }) }
func (w *watched) truncate(path string, size int64) { w.op(func() { w.doer.truncate(path, size) }) }
func (w *watched) allocate(path string, o, n int64) { w.op(func() { w.doer.allocate(path, o, n) }) }
func (w *watched) punch(path string, off, n int64)  { w.op(func() { w.doer.punch(path, off, n) }) }
func (w *watched) sync(path string)                 { w.op(func() { w.doer.sync(path) }) }
func (w *watched) unlink(path string)               { w.op(func() { w.doer.unlink(path) }) }
func (w *watched) rmdir(path string)                { w.op(func() { w.doer.rmdir(path) }) }
func (w *watched) rename(from, to string)           { w.op(func() { w.doer.rename(from, to) }) }
func (w *watched) link(from, to string)             { w.op(func() { w.doer.link(from, to) }) }
func (w *watched) write(path string, o int64, s string) {
	w.op(func() {
		w.doer.write(path, o, s)
		if w.nudge != nil {
			w.nudge(path)
		}
	})
}

const noLimit = -1

// writeOut starts and awaits the write-back of a file's bytes.
func (r realDisk) writeOut(path string) {
	const all = unix.SYNC_FILE_RANGE_WAIT_BEFORE | unix.SYNC_FILE_RANGE_WRITE | unix.SYNC_FILE_RANGE_WAIT_AFTER
	r.with(path, os.O_RDWR, func(f *os.File) error { return unix.SyncFileRange(int(f.Fd()), 0, 0, all) })
}

// deviceName is the file on the recording disk.
const deviceName = "device"

// deviceImage returns an image that holds what is in memory as one file.
func deviceImage(memory *os.File) (*Image, error) {
	info, err := memory.Stat()
	if err != nil {
		return nil, err
	}
	n := &node{mode: ModeFile | 0o600, size: info.Size(), pages: make(map[int64]*page)}
	for off := int64(0); off < n.size; {
		data, hole, err := nextData(memory, off, n.size)
		if err != nil {
			return nil, err
		}
		off = max(hole, off+1)
		if err := n.importPages(memory, data/pageSize, (hole+pageSize-1)/pageSize); err != nil {
			return nil, err
		}
	}
	return &Image{root: &node{mode: ModeDir | 0o755, entries: map[string]*node{deviceName: n}}}, nil
}

// cuts is the child: it does a scenario on the file system, whose device is recorded, and copies to
// out/K-N what is found, once it is mounted again, in states of the device after operation K, the
// first being 1, and to out/K~N in those while it went on.
func (fs realFS) cuts(dir, out string, seed uint64, do func(doer)) error {
	memory, err := fs.make()
	if err != nil {
		return err
	}
	defer memory.Close()
	img, err := deviceImage(memory)
	if err != nil {
		return err
	}
	tape, marks, err := fs.record(dir, img, seed, do)
	if err != nil {
		return err
	}
	p, err := tape.Play()
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(seed, 2))
	tried, found := map[[32]byte]*Image{}, map[string]bool{}
	for i := marks[0]; i <= marks[len(marks)-1]; i++ {
		var ops []string
		for k, end := range marks {
			if end == i {
				ops = append(ops, fmt.Sprint(k, "-"))
			}
		}
		if next, _ := slices.BinarySearch(marks, i); len(ops) == 0 {
			if tape.steps[i].Kind != OnSync {
				continue // what may be left here may be left before the next flush
			}
			ops = []string{fmt.Sprint(next, "~")}
		}
		if err := p.Forward(i); err != nil {
			return err
		}
		for _, s := range p.deviceStates(rng) {
			device, err := p.Image(s)
			if err != nil {
				return err
			}
			sum := device.Sum()
			if tried[sum] == nil {
				if tried[sum], err = fs.mounted(dir, device); err != nil {
					return fmt.Errorf("%v before %v: %w", s, i, err)
				}
			}
			left := tried[sum]
			for _, op := range ops {
				name := fmt.Sprintf("%s%x", op, left.Sum())
				if found[name] {
					continue
				}
				found[name] = true
				if err := left.Export(filepath.Join(out, name)); err != nil {
					return err
				}
			}
		}
	}
	fmt.Println(len(tried))
	return nil
}

// deviceStates returns states of the device: nothing and all of what was not flushed, prefixes of
// it, and some random subsets.
func (p *Player) deviceStates(rng *rand.Rand) []State {
	all := p.States(Ordered, rng)
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	var some []State
	of := map[string]int{}
	for _, s := range all {
		if of[s.Sort()]++; of[s.Sort()] <= 3 {
			some = append(some, s)
		}
	}
	return some
}

// record does a scenario on the file system, and returns what was done to its device, with the
// lengths of the tape before the first operation and behind each.
func (fs realFS) record(dir string, img *Image, seed uint64, do func(doer)) (tape *Tape, marks []int, err error) {
	disk, err := New(Options{From: img, Record: true, Memory: 1 << 30, SpillDir: os.TempDir()})
	if err != nil {
		return nil, nil, err
	}
	defer disk.Close()
	host := dir + ".device"
	if err := os.Mkdir(host, 0o700); err != nil {
		return nil, nil, err
	}
	m, err := disk.Mount(host)
	if err != nil {
		return nil, nil, lacking{err}
	}
	defer m.Unmount()
	file, err := os.OpenFile(filepath.Join(host, deviceName), os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	loop, err := loopOver(file)
	if err != nil {
		return nil, nil, err
	}
	defer loop.Close()
	if err := lack("mount "+fs.name, unix.Mount(loop.Name(), dir, fs.name, 0, "")); err != nil {
		return nil, nil, err
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	if err := os.RemoveAll(filepath.Join(dir, "lost+found")); err != nil {
		return nil, nil, err
	}
	real := realDisk(dir)
	begin(real)
	real.with("", os.O_RDONLY, func(f *os.File) error { return unix.Syncfs(int(f.Fd())) })
	mark := func() {
		disk.mu.Lock()
		defer disk.mu.Unlock()
		marks = append(marks, len(disk.tape.steps))
	}
	mark()
	rng := rand.New(rand.NewPCG(seed, 3))
	do(&watched{doer: real, left: noLimit, after: mark, nudge: func(path string) {
		if rng.IntN(2) == 0 {
			real.writeOut(path)
		}
	}})
	if err := unix.Unmount(dir, 0); err != nil {
		return nil, nil, fmt.Errorf("unmount: %w", err)
	}
	loop.Close()
	file.Close()
	if err := m.Unmount(); err != nil {
		return nil, nil, err
	}
	return disk.Tape(), marks, nil
}

// mounted returns what the file system shows that finds a device so.
func (fs realFS) mounted(dir string, device *Image) (*Image, error) {
	f, _ := device.File(deviceName)
	memory, err := newMemory(f.Size)
	if err != nil {
		return nil, err
	}
	defer memory.Close()
	var page [pageSize]byte
	for _, at := range f.Pages() {
		if _, err := f.ReadAt(page[:], at); err != nil {
			return nil, err
		}
		if _, err := memory.WriteAt(page[:], at); err != nil {
			return nil, err
		}
	}
	loop, err := loopOver(memory)
	if err != nil {
		return nil, err
	}
	defer loop.Close()
	if err := unix.Mount(loop.Name(), dir, fs.name, 0, ""); err != nil {
		return nil, fmt.Errorf("mount what a cut has left: %w", err)
	}
	left, err := Import(dir)
	if failed := unix.Unmount(dir, 0); err == nil && failed != nil {
		err = fmt.Errorf("unmount: %w", failed)
	}
	return left, err
}

// cutsVariable says how many seeds of random operations are tried besides the scenarios.
const cutsVariable = "ASSAY_CUTS"

// TestCutsOfRealFileSystemsAreAllowed cuts the power of the device below a real file system before
// each of its flushes, lets any of what was not flushed be there or not, and wants what is mounted
// then to be what the rule allows. It tells what the rule gives besides that was never seen: there
// it is harsher than the file system, or than what was tried.
func TestCutsOfRealFileSystemsAreAllowed(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED against real file systems: it takes a minute")
	}
	if err := Available(); err != nil {
		t.Skipf("NOT TESTED against real file systems: %v", err)
	}
	scenario := func(i int) (string, func(doer)) { return strconv.Itoa(i), scenarios[i].do }
	var tried []int
	for i := range scenarios {
		if i%3 == 0 || os.Getenv(cutsVariable) != "" {
			tried = append(tried, i)
		}
	}
	seeds, _ := strconv.Atoi(os.Getenv(cutsVariable)) // 0 without
	if seeds == 0 {
		seeds = 2
	}
	for _, fs := range realFSs {
		t.Run(fs.name, func(t *testing.T) {
			var seen, given seenStates
			for _, i := range tried {
				name, do := scenario(i)
				t.Run(scenarios[i].name, func(t *testing.T) { fs.holdsCuts(t, name, do, &seen, &given) })
			}
			for seed := range uint64(seeds) {
				name := fmt.Sprint("seed ", seed)
				t.Run(name, func(t *testing.T) { fs.holdsCuts(t, name, scriptOf(seed), &seen, &given) })
			}
			never := given.without(seen)
			t.Logf("%s: %d states of devices were mounted, which show %d states of files, all allowed by %v; the rule gives %d, of which %d were never seen, such as:\n%s",
				fs.name, seen.devices, len(seen.trees), fs.rule, len(given.trees), len(never),
				strings.Join(never[:min(len(never), 12)], "\n"))
		})
	}
}

// seenStates are states of files, each after the operation that was last, or went on.
type seenStates struct {
	devices int
	trees   map[string]bool
}

func (s *seenStates) add(tree string) {
	if s.trees == nil {
		s.trees = map[string]bool{}
	}
	s.trees[tree] = true
}

func (s *seenStates) without(others seenStates) []string {
	var left []string
	for tree := range s.trees {
		if !others.trees[tree] {
			left = append(left, tree)
		}
	}
	slices.Sort(left)
	return left
}

// holdsCuts holds what cuts of a scenario leave against the rule.
func (fs realFS) holdsCuts(t *testing.T, scenario string, do func(doer), seen, given *seenStates) {
	out := t.TempDir()
	cmd, said := fs.command(t, t.TempDir(), out, "cuts "+scenario)
	devices, err := cmd.Output()
	fs.skipWithout(t, cmd, err, said)
	n, err := strconv.Atoi(strings.TrimSpace(string(devices)))
	if err != nil {
		t.Fatal(err)
	}
	seen.devices += n
	entries, err := os.ReadDir(out)
	if err != nil || len(entries) == 0 {
		t.Fatalf("%d states, %v", len(entries), err)
	}
	histories := map[int]*chronicle{}
	after := func(op int) *chronicle {
		if histories[op] == nil {
			h := newChronicle()
			do(&watched{doer: h, left: op})
			histories[op] = h
		}
		return histories[op]
	}
	for _, e := range entries {
		number, _, done := strings.Cut(e.Name(), "-")
		number, _, _ = strings.Cut(number, "~")
		op, err := strconv.Atoi(number)
		if err != nil {
			t.Fatal(err)
		}
		left, err := Import(filepath.Join(out, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		seen.add(scenario + ": " + tree(t, left))
		why := fs.forbids(after(op), left)
		if why != "" && !done && fs.forbids(after(op-1), left) == "" {
			why = ""
		}
		if why != "" {
			t.Errorf("operation %d done %v: %s is left: %s", op, done, tree(t, left), why)
		}
	}
	for _, op := range slices.Sorted(maps.Keys(histories)) {
		b := newBench(t, Options{From: startingImage(t)})
		do(&watched{doer: b, left: op})
		c := b.d.Crash()
		for _, r := range Rules() {
			for seed := range uint64(20) {
				if r.Entries == fs.rule {
					given.add(scenario + ": " + tree(t, c.Image(r, seed)))
				}
			}
		}
	}
}
