package powerfs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// realFS is a file system of the kernel that a rule is held against.
type realFS struct {
	name string   // as mount(2) takes it; mkfs.NAME makes it
	mkfs []string // its arguments
	size int64    // in bytes, at least
	rule Entries
	// copies: there is no way to shut it down, so that what has reached the device is copied while
	// it is mounted.
	copies bool
	// splits: of a rename into another folder, which one of them carries with its sync, the other's
	// half may be missing: the file then has both names, or none. That is in no image.
	splits bool
}

// f2fs is missing: few kernels have it beside the others.
var realFSs = []realFS{
	{name: "ext4", mkfs: []string{"-q", "-F", "-b", "4096"}, size: 16 << 20, rule: Ordered},
	{name: "xfs", mkfs: []string{"-q", "-f", "-b", "size=4096"}, size: 320 << 20, rule: Ordered},
	{name: "btrfs", mkfs: []string{"-q", "-f"}, size: 128 << 20, rule: PerFile, copies: true, splits: true},
}

// TestRealFileSystemsLeaveWhatTheirRuleAllows does every scenario on a file system of its own, cuts
// that off without writing anything out (the journal neither), mounts it again, and wants what is
// left to be what the rule allows, and one of the images of a Disk.
//
// A child does it in a mount namespace of its own, on a loop device that detaches itself, over
// memory without a name: however it ends, the kernel takes all of it away with the process.
func TestRealFileSystemsLeaveWhatTheirRuleAllows(t *testing.T) {
	for _, fs := range realFSs {
		t.Run(fs.name, func(t *testing.T) {
			for i, c := range scenarios {
				if testing.Short() && i%5 != 0 {
					continue
				}
				t.Run(c.name, func(t *testing.T) { fs.holds(t, strconv.Itoa(i), c.do) })
			}
		})
	}
}

// TestRealFileSystemsAndRandomOperations does the same with sequences that a seed makes up.
func TestRealFileSystemsAndRandomOperations(t *testing.T) {
	seeds := 20
	if testing.Short() {
		seeds = 4
	}
	for _, fs := range realFSs {
		t.Run(fs.name, func(t *testing.T) {
			for seed := range uint64(seeds) {
				left := fs.crash(t, fmt.Sprint("seed ", seed))
				h := newChronicle()
				scriptOf(seed)(h)
				if why := fs.forbids(h, left); why != "" {
					t.Errorf("seed %d: %s is left: %s", seed, tree(t, left), why)
				}
			}
		})
	}
}

// holds crashes the file system after a scenario.
func (fs realFS) holds(t *testing.T, scenario string, do func(doer)) {
	left := fs.crash(t, scenario)
	h := newChronicle()
	do(h)
	if why := fs.forbids(h, left); why != "" {
		t.Fatalf("%s is left: %s", tree(t, left), why)
	}
	if fs.splits && fs.forbidsWhole(h, left) != "" {
		t.Logf("%s is left, which no image holds: of a rename into another folder, half is there", tree(t, left))
		return
	}
	b := newBench(t, Options{From: startingImage(t)})
	do(b)
	if !fs.isAnImageOf(t, b.d.Crash(), left) {
		t.Errorf("%s is left, which is no image of a disk", tree(t, left))
	}
}

// forbids returns why the rule does not allow what is left. Where each file has a log, the sync of
// one may carry names of others in its folder as well: any set of acts is allowed that holds what
// the rule makes durable and what its acts stand upon.
func (fs realFS) forbids(h *chronicle, left *Image) string {
	why := fs.forbidsWhole(h, left)
	if why != "" && fs.splits {
		s := h.split()
		why = s.noStrictSubset(left, s.logged(), true)
	}
	return why
}

// forbidsWhole is forbids where renames are whole.
func (fs realFS) forbidsWhole(h *chronicle, left *Image) string {
	why := h.forbids(Rule{fs.rule, Sectors}, left)
	if why != "" && fs.rule == PerFile {
		why = h.noStrictSubset(left, h.logged(), true)
	}
	return why
}

// isAnImageOf looks for the image among many of the crash.
func (fs realFS) isAnImageOf(t *testing.T, c *Crash, left *Image) bool {
	want := tree(t, left)
	for seed := range uint64(500) {
		for _, r := range Rules() {
			if r.Entries == fs.rule && tree(t, c.Image(r, seed)) == want {
				return true
			}
		}
	}
	return false
}

// cannot is the exit status of a child on a machine that lacks something.
const cannot = 3

// command returns the child, in a mount namespace of its own, and what it will have said.
func (fs realFS) command(t *testing.T, dir, out, scenario string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	if _, err := exec.LookPath("mkfs." + fs.name); err != nil {
		t.Skipf("NOT TESTED against a real %s: %v; install e2fsprogs, xfsprogs, btrfs-progs", fs.name, err)
	}
	cmd := exec.Command(os.Args[0], childRole, "real", fs.name, dir, out, scenario)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	said := new(bytes.Buffer)
	cmd.Stderr = said
	return cmd, said
}

// skipWithout skips the test if err says that this machine cannot do it, and fails it for any other
// error.
func (fs realFS) skipWithout(t *testing.T, cmd *exec.Cmd, err error, said *bytes.Buffer) {
	t.Helper()
	switch {
	case err == nil:
	case errors.Is(err, os.ErrPermission):
		t.Skipf("NOT TESTED against a real %s: a mount namespace needs root: %v", fs.name, err)
	case cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == cannot:
		t.Skipf("NOT TESTED against a real %s: %s", fs.name, said)
	default:
		t.Fatalf("%v: %s", err, said)
	}
}

// crash returns what a scenario leaves on the real file system.
func (fs realFS) crash(t *testing.T, scenario string) *Image {
	t.Helper()
	out := filepath.Join(t.TempDir(), "left")
	cmd, said := fs.command(t, t.TempDir(), out, scenario)
	fs.skipWithout(t, cmd, cmd.Run(), said)
	img, err := Import(out)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// lacking is an error of a machine that cannot do this at all.
type lacking struct{ error }

func lack(what string, err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%s: %w", what, err)
	for _, missing := range []error{unix.EPERM, unix.EACCES, unix.ENOENT, unix.ENODEV, unix.ENXIO, unix.ENOSYS,
		unix.ENOTTY, unix.EOPNOTSUPP} {
		if errors.Is(err, missing) {
			return lacking{err}
		}
	}
	return err
}

// use is the child: it makes the file system, does the scenario, and copies to out what a crash
// leaves.
func (fs realFS) use(dir, out string, do func(doer)) error {
	memory, err := fs.make()
	if err != nil {
		return err
	}
	defer memory.Close()
	loop, err := loopOver(memory)
	if err != nil {
		return err
	}
	defer func() { loop.Close() }()
	fmt.Println(loop.Name(), memoryName())
	mount := func() error { return lack("mount "+fs.name, unix.Mount(loop.Name(), dir, fs.name, 0, "")) }
	if err := mount(); err != nil {
		return err
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	if err := os.RemoveAll(filepath.Join(dir, "lost+found")); err != nil {
		return err
	}
	real := realDisk(dir)
	begin(real)
	if fs.copies { // else it may commit all at the next sync, as what all stands on is new
		real.with("", os.O_RDONLY, func(f *os.File) error { return unix.Syncfs(int(f.Fd())) })
	}
	do(real)
	if fs.copies {
		memory, err = copied(memory)
	} else {
		err = shutDown(dir)
	}
	if err != nil {
		return err
	}
	if err := unix.Unmount(dir, 0); err != nil {
		return fmt.Errorf("unmount: %w", err)
	}
	if fs.copies {
		defer memory.Close()
		if err := loop.Close(); err != nil {
			return err
		}
		if loop, err = loopOver(memory); err != nil {
			return err
		}
	}
	if err := mount(); err != nil { // the journal is replayed
		return err
	}
	img, err := Import(dir)
	if err != nil {
		return err
	}
	return img.Export(out)
}

// memoryName is what the system shows as the file behind the loop device.
func memoryName() string { return fmt.Sprintf("assay-real-%d", os.Getpid()) }

// newMemory returns a file without a name in memory.
func newMemory(size int64) (*os.File, error) {
	fd, err := unix.MemfdCreate(memoryName(), unix.MFD_CLOEXEC)
	if err != nil {
		return nil, lack("memory as a file", err)
	}
	memory := os.NewFile(uintptr(fd), "memory")
	return memory, memory.Truncate(size)
}

// make returns an empty file system in memory.
func (fs realFS) make() (*os.File, error) {
	memory, err := newMemory(fs.size)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("mkfs."+fs.name, append(fs.mkfs, "/proc/self/fd/3")...)
	cmd.ExtraFiles = []*os.File{memory}
	if said, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%v: %w: %s", cmd, err, said)
	}
	return memory, nil
}

// copied returns a copy of what is in memory, without its holes.
func copied(memory *os.File) (*os.File, error) {
	info, err := memory.Stat()
	if err != nil {
		return nil, err
	}
	to, err := newMemory(info.Size())
	if err != nil {
		return nil, err
	}
	const dataFrom, holeFrom = 3, 4 // SEEK_DATA, SEEK_HOLE
	for at := int64(0); ; {
		if at, err = memory.Seek(at, dataFrom); errors.Is(err, unix.ENXIO) {
			return to, nil
		} else if err != nil {
			return nil, err
		}
		end, err := memory.Seek(at, holeFrom)
		if err != nil {
			return nil, err
		}
		if _, err := io.Copy(io.NewOffsetWriter(to, at), io.NewSectionReader(memory, at, end-at)); err != nil {
			return nil, err
		}
		at = end
	}
}

// loopOver returns a loop device over memory, which is gone with the last who has it open.
func loopOver(memory *os.File) (*os.File, error) {
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return nil, lack("loop devices", err)
	}
	defer control.Close()
	for {
		number, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return nil, lack("a free loop device", err)
		}
		loop, err := os.OpenFile(fmt.Sprintf("/dev/loop%d", number), os.O_RDWR, 0)
		if err != nil {
			return nil, lack("loop device", err)
		}
		config := unix.LoopConfig{Fd: uint32(memory.Fd()), Info: unix.LoopInfo64{Flags: unix.LO_FLAGS_AUTOCLEAR}}
		err = unix.IoctlLoopConfigure(int(loop.Fd()), &config)
		if err == nil {
			return loop, nil
		}
		loop.Close()
		if err != unix.EBUSY { // somebody else has taken it
			return nil, lack("attach the loop device", err)
		}
	}
}

// shutDown lets the file system fail from now on, without writing its journal.
func shutDown(dir string) error {
	const (
		shutdown   = 0x8004587d // EXT4_IOC_SHUTDOWN, XFS_IOC_GOINGDOWN: _IOR('X', 125, __u32)
		noLogFlush = 2
	)
	root, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return lack("shut the file system down", unix.IoctlSetPointerInt(int(root.Fd()), shutdown, noLogFlush))
}

// realDisk does operations below a folder of the system. It panics where one fails.
type realDisk string

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func (r realDisk) at(path string) string { return filepath.Join(string(r), path) }

func (r realDisk) with(path string, flags int, do func(f *os.File) error) {
	f, err := os.OpenFile(r.at(path), flags, 0o644)
	must(err)
	must(errors.Join(do(f), f.Close()))
}

func (r realDisk) create(path string) {
	r.with(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, func(*os.File) error { return nil })
}

func (r realDisk) write(path string, off int64, data string) {
	r.with(path, os.O_WRONLY, func(f *os.File) error {
		_, err := f.WriteAt([]byte(data), off)
		return err
	})
}

func (r realDisk) fallocate(path string, mode uint32, off, n int64) {
	r.with(path, os.O_WRONLY, func(f *os.File) error { return unix.Fallocate(int(f.Fd()), mode, off, n) })
}

func (r realDisk) punch(path string, off, n int64) {
	r.fallocate(path, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, off, n)
}

func (r realDisk) mkdir(path string)                  { must(os.Mkdir(r.at(path), 0o755)) }
func (r realDisk) truncate(path string, size int64)   { must(os.Truncate(r.at(path), size)) }
func (r realDisk) allocate(path string, off, n int64) { r.fallocate(path, 0, off, n) }
func (r realDisk) sync(path string)                   { r.with(path, os.O_RDONLY, (*os.File).Sync) }
func (r realDisk) unlink(path string)                 { must(unix.Unlink(r.at(path))) }
func (r realDisk) rmdir(path string)                  { must(unix.Rmdir(r.at(path))) }
func (r realDisk) rename(from, to string)             { must(os.Rename(r.at(from), r.at(to))) }
func (r realDisk) link(from, to string)               { must(os.Link(r.at(from), r.at(to))) }

// realChild does the scenario args[3], or the script of a seed, or waits to be killed in the middle
// of one, on the file system args[0].
func realChild(args []string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the scenario: %v", p)
		}
		if errors.As(err, new(lacking)) {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(cannot)
		}
	}()
	do := func(b doer) {
		b.write("old", 0, "x")
		_, err := os.Stdin.Read(make([]byte, 1))
		must(err)
	}
	scenario, cuts := strings.CutPrefix(args[3], "cuts ")
	seed := uint64(0)
	if i, err := strconv.Atoi(scenario); err == nil {
		do, seed = scenarios[i].do, uint64(i)
	} else if number, ok := strings.CutPrefix(scenario, "seed "); ok {
		seed, err = strconv.ParseUint(number, 10, 64)
		must(err)
		do = scriptOf(seed)
	} else if number, ok := strings.CutPrefix(scenario, "data "); ok {
		i, err := strconv.Atoi(number)
		must(err)
		do = func(b doer) { dataSyncs[i].do(b.(dataDoer)) }
	}
	i := slices.IndexFunc(realFSs, func(fs realFS) bool { return fs.name == args[0] })
	if cuts {
		return realFSs[i].cuts(args[1], args[2], seed, do)
	}
	return realFSs[i].use(args[1], args[2], do)
}

// TestNothingIsLeftOfARealFileSystem kills the child while it holds its loop device and its mount.
func TestNothingIsLeftOfARealFileSystem(t *testing.T) {
	fs, dir := realFSs[0], t.TempDir()
	cmd, said := fs.command(t, dir, filepath.Join(dir, "left"), "wait")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	fs.skipWithout(t, cmd, cmd.Start(), said)
	var loop, name string
	if _, err := fmt.Fscanln(out, &loop, &name); err != nil {
		fs.skipWithout(t, cmd, cmd.Wait(), said)
		t.Fatalf("the child did not begin: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); cmd.ProcessState.Exited() {
		t.Fatalf("the child has ended by itself: %v: %s", err, said)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || bytes.Contains(mounts, []byte(dir)) {
		t.Errorf("still mounted on %s: %v", dir, err)
	}
	backing := filepath.Join("/sys/block", filepath.Base(loop), "loop/backing_file")
	for start := time.Now(); ; time.Sleep(time.Millisecond) { // the kernel detaches it a little later
		file, err := os.ReadFile(backing)
		if err != nil || !bytes.Contains(file, []byte(name)) {
			break
		}
		if time.Since(start) > time.Minute {
			t.Fatalf("%s is still attached to %s", loop, file)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("left in the folder: %v, %v", entries, err)
	}
}
