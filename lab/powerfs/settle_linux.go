package powerfs

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/assaydb/assay/kv/driver"
)

// Settle brings what the process pid has mapped and changed to the disk, without making it durable:
// the caches of a machine that loses power hold it too. It is for the settle function of CutBefore.
// The process is stopped for good: kill it afterwards.
//
// A stopped thread is one that runs no more code of the program, so that no page changes and
// nothing is acknowledged after the cut. Operations that wait are answered (with EIO) after the
// signals were sent and before their arrival is waited for: their threads stop on their way back.
// They must be answered before the write-backs are asked for, because the kernel holds those back
// while a truncation is under way.
func (m *Mount) Settle(pid int) error {
	defer m.disk.letGo() // whatever happens, nobody is left waiting
	if err := stopThreads(pid); err != nil {
		return settleError(pid, err)
	}
	m.disk.letGo()
	if err := waitStopped(pid); err != nil {
		return settleError(pid, err)
	}
	if err := apart(m.writeBack); err != nil {
		return settleError(pid, err)
	}
	return nil
}

// Freeze stops the process pid, brings what it has mapped and changed to the disk as WriteBack
// does, calls then, and lets the process go on. Meanwhile the disk holds what the death of the
// process would leave.
func (m *Mount) Freeze(pid int, then func()) error {
	defer m.GoOn(pid)
	err := stopThreads(pid)
	if err == nil {
		err = waitStopped(pid)
	}
	if err != nil {
		return settleError(pid, err)
	}
	if err := m.WriteBack(); err != nil {
		return err
	}
	then()
	return nil
}

// Halt stops the process pid until GoOn. It may be called in a CallBefore: a thread stops then once
// its operation is done.
func (*Mount) Halt(pid int) error {
	err := stopThreads(pid)
	if err != nil {
		return &driver.Error{Op: fmt.Sprintf("stop process %d", pid), Kind: driver.KindOf(err), Err: err}
	}
	return nil
}

// GoOn lets a process go on that was stopped. It may have ended.
func (*Mount) GoOn(pid int) { _ = unix.Kill(pid, unix.SIGCONT) }

func settleError(pid int, err error) error {
	return &driver.Error{Op: fmt.Sprintf("settle process %d", pid), Kind: driver.KindOf(err), Err: err,
		Hint: "dirty mapped pages may be missing from the images"}
}

// stopThreads sends the stop signal to each thread of the process. One for the whole process is not
// enough: a single thread takes it, and until that one is back from the kernel the others run on,
// with an operation that failed.
func stopThreads(pid int) error {
	sent := make(map[string]bool)
	for fresh := true; fresh; { // until all are known: a thread may have begun another one meanwhile
		fresh = false
		threads, err := os.ReadDir(taskDir(pid))
		if os.IsNotExist(err) {
			return nil // the process has ended
		}
		if err != nil {
			return err
		}
		for _, thread := range threads {
			tid, err := strconv.Atoi(thread.Name())
			if err != nil || sent[thread.Name()] {
				continue
			}
			if err := unix.Tgkill(pid, tid, unix.SIGSTOP); err != nil && err != unix.ESRCH {
				return err
			}
			sent[thread.Name()], fresh = true, true
		}
	}
	return nil
}

func taskDir(pid int) string { return fmt.Sprintf("/proc/%d/task", pid) }

// patience bounds how long Settle waits for a process to stop: a thread may be blocked on something
// that is not ours.
const patience = 20 * time.Second

// waitStopped waits until every thread of the process is stopped or has ended. There is nothing to
// wait on, for a process need not be our child.
func waitStopped(pid int) error {
	for start, pause := time.Now(), 50*time.Microsecond; ; pause = min(2*pause, 10*time.Millisecond) {
		running, err := runningThread(pid)
		if err != nil || running == "" {
			return err
		}
		if time.Since(start) > patience {
			return errorString("thread " + running + " does not stop")
		}
		time.Sleep(pause)
	}
}

// runningThread returns a thread of the process that is neither stopped nor gone, with its state;
// "" if there is none.
func runningThread(pid int) (string, error) {
	dir := taskDir(pid)
	threads, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		return "", nil // the process has ended
	}
	if err != nil {
		return "", err
	}
	for _, thread := range threads {
		fields := statFields(filepath.Join(dir, thread.Name()))
		if len(fields) == 0 {
			continue // the thread has ended
		}
		if state := fields[0]; !strings.Contains("TtZX", state) {
			return thread.Name() + " " + state, nil
		}
	}
	return "", nil
}

// WriteBack brings what processes have mapped and changed until now to the disk while they go on,
// without making it durable: an Image of the disk then has it. No fault strikes, and nothing is
// counted.
func (m *Mount) WriteBack() error {
	m.disk.setQuiet(true)
	defer m.disk.setQuiet(false)
	if err := apart(m.writeBack); err != nil {
		return &driver.Error{Op: "write back", Path: m.dir, Kind: driver.KindOf(err), Err: err,
			Hint: "dirty mapped pages may be missing from the images"}
	}
	return nil
}

func (d *Disk) setQuiet(quiet bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.quiet = quiet
}

// writeBack lets the kernel write back all dirty pages of the mount, and waits for that. syncfs
// starts all write-backs, but not every kernel waits in it for those of FUSE, lest a dead daemon
// hang it. An fsync of each file that is open for writing does wait; only such files can have dirty
// mapped pages. A process that goes on may remove one meanwhile. It is called by apart.
func (m *Mount) writeBack() error {
	m.fs.settler.Store(uint32(unix.Gettid()))
	defer m.fs.settler.Store(0)
	root, err := unix.Open(m.dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(root)
	if err := unix.Syncfs(root); err != nil && !ofEarlier(err) {
		return err
	}
	for _, path := range m.disk.writable() {
		fd, err := unix.Openat(root, path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err == unix.ENOENT {
			continue
		}
		if err != nil {
			return fmt.Errorf("open %s: %w", path, err)
		}
		err = unix.Fsync(fd)
		unix.Close(fd)
		if err != nil && !ofEarlier(err) {
			return fmt.Errorf("sync %s: %w", path, err)
		}
	}
	return nil
}

// ofEarlier reports whether err is of a write-back that failed earlier, as it was told to: the
// kernel reports those to whoever syncs next.
func ofEarlier(err error) bool { return err == unix.EIO || err == unix.ENOSPC }

// writable returns the paths of the files that are open for writing and have a name.
func (d *Disk) writable() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var paths []string
	for _, n := range d.inodes {
		if n.writes > 0 && n.links > 0 {
			paths = append(paths, n.path())
		}
	}
	return paths
}

// openSettling counts an open by the thread that settles, which is undone by Release.
func (d *Disk) openSettling(id ID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := d.inodes[id]; n != nil {
		n.opens++
	}
}
