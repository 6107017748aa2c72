package powerfs

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/assaydb/assay/kv/driver"
)

// apart does what waits for a mount of this process on a thread that does not hold the mount's
// connection, and returns its error. It may only make system calls: descriptors of the process are
// not there, and those that it opens are nowhere else.
//
// A thread that waits for an answer of its own process cannot be killed once the request was read.
// If it held the connection, a process that is killed just then would never end: the kernel waits
// as long as the connection is open, and the connection is open as long as the thread is there.
func apart(do func() error) error {
	t, err := idle.take()
	if err != nil {
		return err
	}
	defer idle.giveBack(t)
	done := make(chan error)
	t <- func() { done <- do() }
	return <-done
}

// idle are threads with descriptors of their own that have nothing to do. They end with the
// process: the system would kill the children that a thread has started before it was one of these
// (see lab/child), and there are never more than wait at the same time.
var idle threads

type threads struct {
	mu   sync.Mutex
	free []chan func()
}

// take returns a thread that does what is sent to it.
func (all *threads) take() (chan func(), error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if last := len(all.free) - 1; last >= 0 {
		t := all.free[last]
		all.free = all.free[:last]
		return t, nil
	}
	t, begun := make(chan func()), make(chan error)
	onThread(func() {
		begun <- leaveDescriptors()
		for do := range t { // for ever, with or without an error: see idle
			do()
		}
	})
	if err := <-begun; err != nil {
		return nil, &driver.Error{Op: "leave the connections of mounts", Kind: driver.KindOf(err), Err: err}
	}
	return t, nil
}

// onThread begins run, which never returns, on a thread of its own. That is not the first one: what
// it has is taken for what the process has, by /proc and by pidfd_getfd.
func onThread(run func()) {
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			run()
		}
		begun := make(chan struct{})
		go func() { // on another thread, for this one is taken until it has begun
			runtime.LockOSThread()
			close(begun)
			run()
		}()
		<-begun
		runtime.UnlockOSThread()
	}()
}

func (all *threads) giveBack(t chan func()) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.free = append(all.free, t)
}

// leaveDescriptors gives the thread a table of descriptors of its own, and closes in it all but the
// standard ones and those by which Go's runtime waits, which it uses from any thread.
func leaveDescriptors() error {
	const mine = "/proc/thread-self/fd"
	if _, err := os.ReadDir(mine); err != nil { // the runtime has opened what it waits by
		return err
	}
	if err := unix.Unshare(unix.CLONE_FILES); err != nil {
		return err
	}
	entries, err := os.ReadDir(mine)
	if err != nil {
		return err
	}
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd <= unix.Stderr {
			continue
		}
		to, err := os.Readlink(filepath.Join(mine, e.Name()))
		if err != nil || strings.HasPrefix(to, "anon_inode:[event") { // the one that read the folder is gone
			continue
		}
		if err := unix.Close(fd); err != nil {
			return err
		}
	}
	return nil
}
