package powerfs

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"

	"pgregory.net/rapid"
)

// TestRandomOperationsAgainstAHistory does random operations on a disk, cuts its power, and wants
// of every image that the history has a choice of its rule that leads to it.
func TestRandomOperationsAgainstAHistory(t *testing.T) {
	spill := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, spill)
		steps := rapid.SliceOfN(rapid.Custom(drawStep), 15, 40).Draw(t, "steps")
		for _, s := range steps {
			w.do(s)
		}
		crash := w.d.Crash()
		for _, r := range Rules() {
			seeds := uint64(2)
			if r.Survivors == Nothing || r.Survivors == Everything {
				seeds = 1
			}
			for seed := range seeds {
				img := crash.Image(r, seed)
				if why := w.h.forbids(r, img); why != "" {
					t.Fatalf("%v, seed %d: %s", r, seed, why)
				}
				w.mustBeADiskAgain(img)
				if r.Survivors == Nothing || r.Survivors == Everything {
					w.mustBePlayedAgain(r, img)
				}
			}
		}
		w.mustPlayAllowedStates()
	})
}

// step is one operation. Its numbers are taken modulo what there is to choose from.
type step struct {
	do       string
	a, b     int // what it is done to
	name, to string
	off, n   int
	how      int
}

func (s step) String() string {
	return fmt.Sprintf("%s %d %d %s %s off=%d n=%d how=%d", s.do, s.a, s.b, s.name, s.to, s.off, s.n, s.how)
}

var steps = []string{"write", "write", "write", "write", "back", "truncate", "allocate", "sync", "sync", "syncdir",
	"syncdir",
	"begin sync", "begin sync", "end sync",
	"create", "create", "mkdir", "symlink", "link", "unlink", "rmdir", "rename", "rename", "rename", "let go"}

func drawStep(t *rapid.T) step {
	number := rapid.IntRange(0, 20)
	name := rapid.SampledFrom([]string{"a", "b", "c"})
	return step{do: rapid.SampledFrom(steps).Draw(t, "do"), a: number.Draw(t, "a"), b: number.Draw(t, "b"),
		name: name.Draw(t, "name"), to: name.Draw(t, "to"), how: number.Draw(t, "how"),
		off: drawOffset(t, "off", room-1), n: drawOffset(t, "n", room)}
}

// drawOffset likes the borders of sectors and pages.
func drawOffset(t *rapid.T, label string, most int) int {
	border := rapid.SampledFrom([]int{0, 512, 1024, 4096, 8192, 12288, 20480}).Draw(t, label)
	return max(0, min(border+rapid.IntRange(-2, 1000).Draw(t, label), most))
}

// world is a disk, and the history of what was done to it.
type world struct {
	t    *rapid.T
	d    *Disk
	h    history
	ids  []ID   // by the history's numbers
	held []bool // there is a reference, so that it stays without a name
	slow []slowSync
}

// slowSync is a sync that goes on.
type slowSync struct {
	number   uint64
	file, at int // by the history
}

func newWorld(t *rapid.T, spill string) *world {
	d, err := New(Options{Memory: leastMemory, SpillDir: spill, Record: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	d.logLimit = defaultMemory // nothing is folded: pages alone go to the spill file
	w := &world{t: t, d: d}
	w.h.make(ModeDir)
	w.ids, w.held = []ID{Root}, []bool{true}
	for _, s := range []step{{do: "create", name: "a"}, {do: "create", name: "b"}, {do: "mkdir", name: "c"},
		{do: "syncdir"}} {
		w.do(s)
	}
	return w
}

func (w *world) live() map[entry]int { return w.h.entries(everything) }

// linked returns the things of a type that have a name, the root included, and if held is set those
// that are held.
func (w *world) linked(mode uint32, held bool) []int {
	var found []int
	named := map[int]bool{top: true}
	for _, n := range w.live() {
		named[n] = true
	}
	for i := range w.ids {
		if n := i + 1; w.h.mode(n) == mode && (named[n] || held && w.held[i]) {
			found = append(found, n)
		}
	}
	return found
}

func pick(from []int, i int) int {
	if len(from) == 0 {
		return 0
	}
	return from[i%len(from)]
}

// agree wants the disk to have done what the history does.
func (w *world) agree(s step, err error, want error) bool {
	if err != want {
		w.t.Fatalf("%v: got %v, want %v", s, err, want)
	}
	return want == nil
}

func (w *world) do(s step) {
	w.h.now++
	dir, toDir := pick(w.linked(ModeDir, false), s.a), pick(w.linked(ModeDir, false), s.b)
	switch s.do {
	case "create", "mkdir", "symlink":
		w.make(s, dir)
	case "link":
		w.link(s, toDir)
	case "unlink", "rmdir":
		w.remove(s, dir)
	case "rename":
		w.rename(s, dir, toDir)
	case "syncdir":
		w.sync(s, dir)
	case "begin sync":
		w.beginSync(s, pick(append(w.linked(ModeFile, true), dir), s.a))
	case "end sync":
		w.endSync()
	default:
		if file := pick(w.linked(ModeFile, true), s.a); file != 0 {
			w.change(s, file)
		}
	}
}

func (w *world) id(n int) ID { return w.ids[n-1] }

func (w *world) make(s step, dir int) {
	if len(w.ids) > 7 {
		return // few things, to which much happens
	}
	at := entry{dir, s.name}
	want := error(nil)
	if w.live()[at] != 0 {
		want = syscall.EEXIST
	}
	var a Attr
	var err error
	mode := uint32(ModeFile)
	switch s.do {
	case "create":
		a, err = w.d.Create(w.id(dir), s.name, 0o644, Owner{})
	case "mkdir":
		mode = ModeDir
		a, err = w.d.Mkdir(w.id(dir), s.name, 0o755, Owner{})
	case "symlink":
		mode = ModeSymlink
		a, err = w.d.Symlink(w.id(dir), s.name, "target", Owner{})
	}
	if w.agree(s, err, want) {
		w.ids, w.held = append(w.ids, a.ID), append(w.held, true)
		w.h.add(act{kind: entering, sets: []set{{at, w.h.make(mode)}}})
	}
}

func (w *world) link(s step, dir int) {
	file, at := pick(w.linked(ModeFile, false), s.a), entry{dir, s.name}
	if file == 0 {
		return
	}
	want := error(nil)
	if w.live()[at] != 0 {
		want = syscall.EEXIST
	}
	a, err := w.d.Link(w.id(file), w.id(dir), s.name)
	if w.agree(s, err, want) {
		w.d.Forget(a.ID, 1)
		w.h.add(act{kind: entering, sets: []set{{at, file}}})
	}
}

// empty reports whether nothing is in n.
func (w *world) empty(n int) bool {
	for e := range w.live() {
		if e.dir == n {
			return false
		}
	}
	return true
}

func (w *world) remove(s step, dir int) {
	at := entry{dir, s.name}
	n := w.live()[at]
	remove, want := w.d.Unlink, error(nil)
	if s.do == "rmdir" {
		remove = w.d.Rmdir
	}
	switch folder := n != 0 && w.h.mode(n) == ModeDir; {
	case n == 0:
		want = syscall.ENOENT
	case s.do == "unlink" && folder:
		want = syscall.EISDIR
	case s.do == "rmdir" && !folder:
		want = syscall.ENOTDIR
	case !w.empty(n):
		want = syscall.ENOTEMPTY
	}
	if w.agree(s, remove(w.id(dir), s.name), want) {
		w.h.add(act{kind: entering, sets: []set{{at, 0}}})
	}
}

func (w *world) rename(s step, dir, toDir int) {
	how := Replacement(s.how % 3)
	from, to := entry{dir, s.name}, entry{toDir, s.to}
	n, old := w.live()[from], w.live()[to]
	want := w.refused(how, n, old, toDir, dir)
	err := w.d.Rename(w.id(dir), s.name, w.id(toDir), s.to, how)
	if !w.agree(s, err, want) || n == old {
		return
	}
	a := act{kind: entering, sets: []set{{from, 0}, {to, n}}, folder: w.h.mode(n) == ModeDir}
	if how == Exchange {
		a.sets[0].to = old
		a.folder = a.folder || w.h.mode(old) == ModeDir
	}
	w.h.add(a)
}

// refused returns what rename(2) says.
func (w *world) refused(how Replacement, n, old, toDir, dir int) error {
	switch {
	case n == 0 || old == 0 && how == Exchange:
		return syscall.ENOENT
	case old != 0 && how == NoReplace:
		return syscall.EEXIST
	case n == old:
		return nil
	case w.above(n, toDir), how == Exchange && w.above(old, dir):
		return syscall.EINVAL
	case old == 0 || how == Exchange:
		return nil
	case w.h.mode(n) == ModeDir && w.h.mode(old) != ModeDir:
		return syscall.ENOTDIR
	case w.h.mode(n) != ModeDir && w.h.mode(old) == ModeDir:
		return syscall.EISDIR
	case !w.empty(old):
		return syscall.ENOTEMPTY
	}
	return nil
}

// above reports whether n is dir, or dir is somewhere in n.
func (w *world) above(n, dir int) bool {
	if n == dir {
		return true
	}
	for e, child := range w.live() {
		if e.dir == n && w.h.mode(child) == ModeDir && w.above(child, dir) {
			return true
		}
	}
	return false
}

func (w *world) sync(s step, n int) {
	if w.agree(s, w.d.Sync(w.id(n)), nil) {
		w.ended(len(w.slow))
		w.h.add(act{kind: syncing, file: n})
	}
}

func (w *world) beginSync(s step, n int) {
	w.d.mu.Lock()
	defer w.d.mu.Unlock()
	inode := w.d.inodes[w.id(n)]
	if w.agree(s, w.d.enter(OnSync, inode, ""), nil) {
		w.slow = append(w.slow, slowSync{w.d.beginSync(inode, w.d.commits(inode, false)), n, w.h.now})
	}
}

func (w *world) endSync() {
	if len(w.slow) == 0 {
		return
	}
	w.d.mu.Lock()
	defer w.d.mu.Unlock()
	w.d.seq++
	w.d.begin(0, w.d.root, "", false)
	w.d.endSync(w.slow[0].number)
	w.ended(1)
}

// ended lets the first syncs that go on have been at once when they began, which is all that they
// are for.
func (w *world) ended(n int) {
	for _, s := range w.slow[:n] {
		at := slices.IndexFunc(w.h.acts, func(a act) bool { return a.at > s.at })
		if at < 0 {
			at = len(w.h.acts)
		}
		w.h.acts = slices.Insert(w.h.acts, at, act{at: s.at, kind: syncing, file: s.file})
	}
	w.slow = w.slow[n:]
}

// change does what concerns one file, which may have lost its names.
func (w *world) change(s step, file int) {
	id, size := w.id(file), w.h.size(file, everything)
	switch s.do {
	case "sync":
		w.sync(s, file)
	case "fail":
		w.d.faults = []armedFault{{Fault: Fault{Op: OnSync, Nth: 1}}}
		w.agree(s, w.d.Sync(id), syscall.EIO)
		w.h.add(act{kind: failing, file: file})
	case "write", "back":
		source := FromCall
		data := bytes.Repeat([]byte{byte('A' + w.h.now%50)}, min(s.n, room-s.off))
		if s.do == "back" { // of a page that was mapped: it does not let the file grow
			source = FromCache
			data = data[:max(0, min(len(data), size-s.off))]
		}
		_, err := w.d.Write(id, int64(s.off), data, source)
		if w.agree(s, err, nil) && len(data) > 0 {
			w.h.add(act{kind: writing, file: file, off: s.off, n: len(data), data: data})
		}
	case "truncate":
		w.agree(s, w.d.Truncate(id, int64(s.n)), nil)
		w.resized(file, s.n)
	case "allocate":
		w.allocate(s, file)
	case "let go":
		if w.held[file-1] {
			w.held[file-1] = false
			w.d.Forget(id, 1)
		}
	}
	w.mustRead(s, file)
}

func (w *world) resized(file, size int) {
	if size != w.h.size(file, everything) {
		w.h.resize(file, size)
	}
}

func (w *world) allocate(s step, file int) {
	mode, n := Allocation(s.how%5), min(s.n, room-s.off)
	if n == 0 {
		w.agree(s, w.d.Fallocate(w.id(file), int64(s.off), 0, mode), syscall.EINVAL)
		return
	}
	w.agree(s, w.d.Fallocate(w.id(file), int64(s.off), int64(n), mode), nil)
	if mode == PunchHole || mode == ZeroRange || mode == ZeroKeep {
		w.h.clear(file, s.off, n)
	}
	if (mode == Extend || mode == ZeroRange) && s.off+n > w.h.size(file, everything) {
		w.resized(file, s.off+n)
	}
}

// mustRead wants processes to see all that was done.
func (w *world) mustRead(s step, file int) {
	if !slices.Contains(w.linked(ModeFile, true), file) {
		return
	}
	got := make([]byte, room+1)
	n, err := w.d.Read(w.id(file), 0, got)
	if want := w.h.content(file, everything); err != nil || !bytes.Equal(got[:n], want) {
		w.t.Fatalf("after %v, file %d: %v\n got %s\nwant %s", s, file, err, brief(got[:n]), brief(want))
	}
}

// mustBeADiskAgain makes a disk of the image, and wants it to hold that.
func (w *world) mustBeADiskAgain(img *Image) {
	d, err := New(Options{From: img, SpillDir: w.d.options.SpillDir})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, s := range []Survivors{Nothing, Everything} {
		if d.Crash().Image(Rule{Ordered, s}, 0).Sum() != img.Sum() {
			w.t.Fatalf("%v: a disk made from the image is another one", s)
		}
	}
}

// mustBePlayedAgain wants the tape to lead to the same image.
func (w *world) mustBePlayedAgain(r Rule, want *Image) {
	got, err := w.played().Image(Random(r, 0))
	if err != nil || got.Sum() != want.Sum() {
		w.t.Fatalf("%v: played again it is another image: %v", r, err)
	}
}

// mustPlayAllowedStates holds all states that are enumerated against the history.
func (w *world) mustPlayAllowedStates() {
	p := w.played()
	for _, e := range []Entries{Ordered, Strict} {
		for _, s := range p.States(e, rand.New(rand.NewPCG(1, 1))) {
			img, err := p.Image(s)
			if err != nil {
				w.t.Fatal(err)
			}
			if why := w.h.forbids(s.Rule, img); why != "" {
				w.t.Fatalf("%v: %s", s, why)
			}
		}
	}
}

func (w *world) played() *Player {
	p, err := w.d.Tape().Play()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := p.Forward(len(p.tape.steps)); err != nil {
		w.t.Fatal(err)
	}
	return p
}
