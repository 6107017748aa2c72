package powerfs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOnlySyncsAreDurable does in a process what might make a write durable, and cuts the power.
// Whatever it was, everything is there if everything survives: settling brings pages that are only
// mapped to the disk.
func TestOnlySyncsAreDurable(t *testing.T) {
	for role, want := range map[string]string{
		"write": "4096×o", "close": "4096×o", "sync_file_range": "4096×o",
		"mmap and sync_file_range": "4096×o",
		"O_DIRECT":                 "4096×o", "O_DIRECT and fsync": "4096×x",
		"copy_file_range": "4096×o", "copy_file_range and fsync": "4096×x",
		"io_uring write": "4096×o", "io_uring fsync": "4096×x", "syncfs": "4096×o",
		"mmap": "4096×o", "MS_ASYNC": "4096×o", "munmap": "4096×o", "many pages": "16777216×o",
		"fsync": "4096×x", "fdatasync": "4096×x", "O_SYNC": "4096×x",
		"O_DSYNC": "4096×x", "RWF_DSYNC": "4096×x", "MS_SYNC": "4096×x", "mmap and fdatasync": "4096×x",
	} {
		eachWay(t, role, func(t *testing.T, start starter) {
			needsRing(t, role)
			d, m := mounted(t, Options{})
			cmd, lines := start(t, role, m)
			if !lines.Scan() {
				t.Fatal("the child did not do its work")
			}
			d.CutBefore(d.Ops()+1, func() {
				if err := m.Settle(cmd.Process.Pid); err != nil {
					t.Error(err)
				}
			})
			d.Sync(Root) // the operation before which power fails
			crash := d.Crash()
			for _, entries := range []Entries{Ordered, Strict} {
				if got := tree(t, crash.Image(Rule{entries, Nothing}, 1)); got != "f="+want {
					t.Errorf("%v/nothing: got %s, want %s", entries, got, want)
				}
				whole := want[:len(want)-1] + "x"
				if got := tree(t, crash.Image(Rule{entries, Everything}, 1)); got != "f="+whole {
					t.Errorf("%v/everything: got %s, want %s", entries, got, whole)
				}
			}
		})
	}
}

// TestWriteBackOfAProcessThatGoesOn brings a mapped page to a disk, of which an image is made while
// the process is at it.
func TestWriteBackOfAProcessThatGoesOn(t *testing.T) {
	d, m := mounted(t, Options{})
	_, lines := start(t, "mmap", m.Dir())
	if !lines.Scan() {
		t.Fatal("the child did not do its work")
	}
	if err := d.Fail(Fault{Op: OnWrite, Nth: 1, Sticky: true}); err != nil {
		t.Fatal(err)
	}
	ops := d.Ops()
	if err := m.WriteBack(); err != nil {
		t.Fatal(err)
	}
	for s, want := range map[Survivors]string{Nothing: "f=4096×o", Everything: "f=4096×x"} {
		if got := tree(t, d.Image(Rule{Ordered, s}, 1)); got != want {
			t.Errorf("%v: got %s, want %s", s, got, want)
		}
	}
	if n := d.Ops() - ops; n != 0 || len(d.Struck()) > 0 {
		t.Errorf("%d operations were counted, %v failed", n, d.Struck())
	}
	if err := os.WriteFile(filepath.Join(m.Dir(), "g"), []byte("x"), 0o600); !errors.Is(err, unix.EIO) {
		t.Errorf("a write afterwards: %v, want the fault to strike", err)
	}
}

// TestFreezingAProcess brings a mapped page to a disk while the process stands still, which then
// goes on.
func TestFreezingAProcess(t *testing.T) {
	d, m := mounted(t, Options{})
	cmd, lines := start(t, "mmap", m.Dir())
	if !lines.Scan() {
		t.Fatal("the child did not do its work")
	}
	called := false
	if err := m.Freeze(cmd.Process.Pid, func() {
		called = true
		if thread, err := runningThread(cmd.Process.Pid); thread != "" || err != nil {
			t.Errorf("thread %s runs, %v", thread, err)
		}
		for s, want := range map[Survivors]string{Nothing: "f=4096×o", Everything: "f=4096×x"} {
			if got := tree(t, d.Image(Rule{Ordered, s}, 1)); got != want {
				t.Errorf("%v: got %s, want %s", s, got, want)
			}
		}
	}); err != nil || !called {
		t.Fatalf("called: %v, %v", called, err)
	}
	for {
		if thread, err := runningThread(cmd.Process.Pid); thread != "" || err != nil {
			break // it goes on, or the test says at its end that it does not
		}
	}
}

// TestSettlingABusyProcess cuts while threads of a process map, truncate, write and sync. Whatever
// its memory held when it said so before the cut is there if everything survives.
func TestSettlingABusyProcess(t *testing.T) {
	rounds := 10
	if testing.Short() {
		rounds = 3
	}
	for round := range rounds {
		d, m := mounted(t, Options{})
		cmd, lines := []starter{startsAlone, startsHandedOver}[round%2](t, "busy", m)
		d.CutBefore(uint64(60+37*round), func() {
			if err := m.Settle(cmd.Process.Pid); err != nil {
				t.Error(err)
			}
		})
		done := make(chan bool)
		go func() {
			defer close(done)
			<-d.Down()
			if state, err := runningThread(cmd.Process.Pid); state != "" || err != nil {
				t.Errorf("round %d: thread %s runs, %v", round, state, err)
			}
			cmd.Process.Kill()
		}()
		acked, stopped := uint64(0), 0
		said := make(map[uint64]int64)
		for lines.Scan() {
			var i uint64
			var at int64
			if _, err := fmt.Sscan(lines.Text(), &i, &at); err != nil {
				break // the line under way when the process was stopped
			}
			said[i] = at
		}
		<-done
		if err := cmd.Wait(); cmd.ProcessState.Exited() {
			t.Errorf("round %d: the process has seen an operation fail, and gone on: %v", round, err)
		}
		cut, _ := d.CutAt()
		for i, at := range said {
			if at < cut {
				acked = max(acked, i)
			} else {
				stopped++
			}
		}
		f, ok := d.Crash().Image(Rule{Ordered, Everything}, 0).File("mapped")
		if !ok {
			t.Fatal("there is no file: the cut came before the process was busy")
		}
		data, err := f.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		for i := acked; i > 0 && i+64 > acked; i-- {
			if got := binary.LittleEndian.Uint64(data[i%64*pageSize:]); got < i {
				t.Errorf("round %d: page %d holds %d, but %d was acknowledged", round, i%64, got, i)
			}
		}
		t.Logf("round %d: %d stores acknowledged before the cut, %d between it and the stop", round, acked, stopped)
		if err := m.Unmount(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestUnmountDoesNotWaitForThoseWhoHoldFiles(t *testing.T) {
	for _, cut := range []bool{false, true} {
		d, m := mounted(t, Options{})
		_, lines := start(t, "mmap", m.Dir())
		if !lines.Scan() {
			t.Fatal("the child did not do its work")
		}
		if cut {
			d.Cut()
		}
		if err := m.Unmount(); err != nil {
			t.Fatal(err)
		}
		if dirs, err := ourMounts(m.Dir()); err != nil || len(dirs) > 0 {
			t.Errorf("still mounted: %v, %v", dirs, err)
		}
	}
}

func TestDetachStaleTakesDeadMountsOnly(t *testing.T) {
	if err := Available(); err != nil {
		t.Skipf("NOT TESTED: this machine cannot mount: %v", err)
	}
	parent := t.TempDir()
	live, stale := filepath.Join(parent, "live"), filepath.Join(parent, "a stale one")
	for _, dir := range []string{live, stale} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		cmd, lines := start(t, "daemon", dir)
		t.Cleanup(func() { detachDead(dir) })
		if !lines.Scan() {
			t.Fatal("the daemon did not mount")
		}
		if dir == stale {
			cmd.Process.Kill()
			cmd.Wait()
		}
	}
	if n, err := DetachStale(parent); n != 1 || err != nil {
		t.Errorf("detached %d, %v, want 1", n, err)
	}
	if dirs, err := ourMounts(parent); err != nil || len(dirs) != 1 || dirs[0].dir != live {
		t.Errorf("mounted: %v, %v, want %s", dirs, err, live)
	}
}

// TestAMountIsAFileSystem does through the kernel what its tests of single operations do not reach.
func TestAMountIsAFileSystem(t *testing.T) {
	d, m := mounted(t, Options{Space: 1 << 30})
	at := func(name string) string { return filepath.Join(m.Dir(), name) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(at("a/b"), 0o755))
	must(os.WriteFile(at("a/b/f"), []byte("one"), 0o640))
	must(os.Symlink("b/f", at("a/link")))
	must(os.Link(at("a/b/f"), at("hard")))
	for i := range 500 {
		must(os.WriteFile(at(fmt.Sprintf("a/%03d", i)), nil, 0o600))
	}
	if entries, err := os.ReadDir(at("a")); err != nil || len(entries) != 502 {
		t.Errorf("%d entries, %v, want 502", len(entries), err)
	}
	if data, err := os.ReadFile(at("a/link")); err != nil || string(data) != "one" {
		t.Errorf("through the link: %q, %v", data, err)
	}
	must(os.WriteFile(at("hard"), []byte("three"), 0o640)) // O_TRUNC
	if data, err := os.ReadFile(at("a/b/f")); err != nil || string(data) != "three" {
		t.Errorf("through the other name: %q, %v", data, err)
	}
	if err := unix.Renameat2(unix.AT_FDCWD, at("hard"), unix.AT_FDCWD, at("a/000"),
		unix.RENAME_NOREPLACE); err != unix.EEXIST {
		t.Errorf("rename onto a file: %v, want EEXIST", err)
	}
	must(unix.Renameat2(unix.AT_FDCWD, at("a"), unix.AT_FDCWD, at("hard"), unix.RENAME_EXCHANGE))
	if info, err := os.Stat(at("hard")); err != nil || !info.IsDir() {
		t.Errorf("exchanged: %v, %v", info, err)
	}
	if err := os.Remove(at("hard/b")); !errors.Is(err, unix.ENOTEMPTY) {
		t.Errorf("rmdir of a full folder: %v", err)
	}
	f, err := os.Create(at("sparse"))
	must(err)
	must(f.Truncate(2 << 30))
	must(unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, 4096))
	_, err = f.WriteAt([]byte("end"), 2<<30-3)
	must(err)
	must(os.Remove(at("sparse")))
	b := make([]byte, 3)
	if _, err := f.ReadAt(b, 2<<30-3); err != nil || string(b) != "end" {
		t.Errorf("an unlinked open file: %q, %v", b, err)
	}
	must(f.Close())
	var st unix.Statfs_t
	must(unix.Statfs(m.Dir(), &st))
	if used, _ := d.Usage(); st.Blocks != 1<<18 || used > 64<<10 {
		t.Errorf("%d blocks, %d bytes used", st.Blocks, used)
	}
}

// TestLocksBetweenProcesses: the kernel keeps them; a second process is refused.
func TestLocksBetweenProcesses(t *testing.T) {
	_, m := mounted(t, Options{})
	_, lines := start(t, "lock", m.Dir())
	if !lines.Scan() {
		t.Fatal("the child did not lock")
	}
	fd, err := unix.Open(filepath.Join(m.Dir(), "f"), unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err != unix.EWOULDBLOCK {
		t.Errorf("flock: %v, want EWOULDBLOCK", err)
	}
	l := unix.Flock_t{Type: unix.F_WRLCK, Len: 1}
	if err := unix.FcntlFlock(uintptr(fd), unix.F_SETLK, &l); err != unix.EAGAIN {
		t.Errorf("fcntl: %v, want EAGAIN", err)
	}
}

func BenchmarkWrite4KiB(b *testing.B) {
	if err := Available(); err != nil {
		b.Skipf("NOT TESTED: this machine cannot mount: %v", err)
	}
	d, err := New(Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	m, err := d.Mount(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer m.Unmount()
	f, err := os.Create(filepath.Join(m.Dir(), "f"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	for i := int64(0); b.Loop(); i++ {
		if _, err := f.WriteAt(xs, i%1024*pageSize); err != nil {
			b.Fatal(err)
		}
		if i%64 == 63 {
			if err := f.Sync(); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// A sync that failed is told once to each who had the file open, and to nobody who opens it later.
func TestAFailedSyncIsToldToAllWhoHaveTheFileOpen(t *testing.T) {
	eachWay(t, "told", func(t *testing.T, start starter) {
		d, m := mounted(t, Options{})
		if err := d.Fail(Fault{Op: OnSync, Nth: 1}); err != nil {
			t.Fatal(err)
		}
		if _, lines := start(t, "told", m); !lines.Scan() || lines.Text() != "done" {
			t.Error("something else was told, see above")
		}
	})
}
