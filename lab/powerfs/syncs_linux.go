package powerfs

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"unsafe"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/assaydb/assay/kv/driver"
)

// The kernel holds the lock of a file of FUSE for as long as its sync takes, so that nobody writes
// to it meanwhile: fuse_fsync. ext4 and xfs hold none. A process that hands its syncs over waits in
// the call (seccomp_unotify(2)) until they were done in its place: first the kernel's part, which
// writes mapped pages back and takes no time, and then the disk's, without the lock.

// HandOverSyncs has each fsync and fdatasync of this process wait for another, which does it by
// Mount.TakeSyncs, and is told of some other calls (Use). That takes the descriptor of the file
// that is returned, which this process then should close. It cannot be undone. After an error,
// which is of kind Unsupported, all is as before.
func HandOverSyncs() (*os.File, error) {
	arch, ok := map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}[runtime.GOARCH]
	if !ok {
		return nil, syncsError(errorString("calls have unknown numbers on " + runtime.GOARCH))
	}
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	unless := func(value uint32, skip uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: skip, K: value}
	}
	give := func(answer uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: answer}
	}
	var call seccompData
	calls := []uint32{unix.SYS_FSYNC, unix.SYS_FDATASYNC}
	for number := range usesOf {
		calls = append(calls, uint32(number))
	}
	filter := []unix.SockFilter{load(uint32(unsafe.Offsetof(call.arch))), unless(arch, uint8(1+2*len(calls))),
		load(uint32(unsafe.Offsetof(call.number)))}
	for _, number := range calls {
		filter = append(filter, unless(number, 1), give(unix.SECCOMP_RET_USER_NOTIF))
	}
	filter = append(filter, give(unix.SECCOMP_RET_ALLOW))
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	// A thread whose sync has begun is woken by its end or its death alone: Go sends signals to its
	// threads all the time.
	const flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV |
		unix.SECCOMP_FILTER_FLAG_TSYNC | unix.SECCOMP_FILTER_FLAG_TSYNC_ESRCH | unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return nil, syncsError(err)
	}
	r, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags,
		uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return nil, syncsError(errno)
	}
	return os.NewFile(r, "syncs"), nil
}

func syncsError(err error) error {
	return &driver.Error{Op: "take syncs over", Kind: driver.Unsupported, Err: err,
		Hint: "it needs Linux 5.19 or later, and a container that lets its processes use seccomp and pidfd_getfd"}
}

// seccompData, syncCall and syncAnswer are struct seccomp_data, seccomp_notif and
// seccomp_notif_resp of linux/seccomp.h.
type seccompData struct {
	number int32
	arch   uint32
	at     uint64
	args   [6]uint64
}

type syncCall struct {
	id     uint64
	thread uint32
	flags  uint32
	seccompData
}

type syncAnswer struct {
	id    uint64
	value int64
	error int32
	flags uint32
}

// TakeSyncs does the syncs of the process pid from now on, while others write to the same files;
// what the sync is for is what there was when it began. handOver has the process call HandOverSyncs
// and returns its descriptor of that file; it is not called on a machine that does not let this
// process act in the other's place, which is an error of kind Unsupported, after which all is as
// before. stop ends it: it is called once the process has ended, before Unmount, and waits for
// syncs that go on.
func (m *Mount) TakeSyncs(pid int, handOver func() (fd int, err error)) (stop func(), err error) {
	process, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, syncsError(err)
	}
	t := &syncTaker{fs: m.fs, pid: pid, process: process}
	theirs, err := 0, error(nil)
	if fd, refused := t.take(0); refused == nil {
		unix.Close(fd)
	} else if refused != unix.EBADF { // it has no standard input, but may be asked
		err = syncsError(refused)
	}
	if err == nil {
		theirs, err = handOver()
	}
	fd := -1
	if err == nil {
		fd, err = t.take(theirs)
	}
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		unix.Close(process)
		return nil, err
	}
	t.calls = os.NewFile(uintptr(fd), "syncs")
	t.running.Go(t.serve)
	return sync.OnceFunc(t.stop), nil
}

// syncTaker does the syncs of a process.
type syncTaker struct {
	fs      *fuseFS
	pid     int
	process int // a descriptor of it
	calls   *os.File
	running sync.WaitGroup
}

func (t *syncTaker) stop() {
	_ = t.calls.Close() // who waits is told that there are no syncs
	t.running.Wait()
	unix.Close(t.process)
}

// take returns a descriptor of the file that the process has as fd.
func (t *syncTaker) take(fd int) (int, error) { return unix.PidfdGetfd(t.process, fd, 0) }

// serve takes calls until the process has ended, or stop is called.
func (t *syncTaker) serve() {
	conn, err := t.calls.SyscallConn()
	if err != nil {
		return // stop was faster
	}
	_ = conn.Read(func(fd uintptr) bool { // it ends with the file
		for {
			state := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			if _, err := unix.Poll(state, 0); err == unix.EINTR {
				continue
			}
			switch call := (syncCall{}); {
			case state[0].Revents&unix.POLLIN != 0:
				if control(fd, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&call)) == 0 { // else its thread is gone
					t.running.Go(func() { t.answer(call) })
				}
			case state[0].Revents != 0:
				return true // the process has ended
			default:
				return false
			}
		}
	})
}

func control(fd, request uintptr, about unsafe.Pointer) unix.Errno {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, request, uintptr(about))
	return errno
}

// control is control of what the calls come from.
func (t *syncTaker) control(request uintptr, about unsafe.Pointer) (errno unix.Errno) {
	conn, err := t.calls.SyscallConn()
	if err == nil {
		err = conn.Control(func(fd uintptr) { errno = control(fd, request, about) })
	}
	if err != nil {
		return unix.EBADF
	}
	return errno
}

// usesOf are calls that the process does itself, and that are noted, by their numbers; with those
// that are not.
var usesOf = map[int32]struct {
	Use
	is func(args [6]uint64) bool
}{
	unix.SYS_IO_URING_SETUP:  {UseRing, always},
	unix.SYS_SYNC:            {UseSyncAll, always},
	unix.SYS_SYNCFS:          {UseSyncAll, always},
	unix.SYS_SYNC_FILE_RANGE: {UseRange, always},
	unix.SYS_MSYNC:           {UseMsync, func(args [6]uint64) bool { return args[2]&unix.MS_SYNC != 0 }},
	unix.SYS_FALLOCATE: {UseShift, func(args [6]uint64) bool { // the kernel refuses it for all of FUSE
		return args[1]&^(unix.FALLOC_FL_KEEP_SIZE|unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_ZERO_RANGE) != 0
	}},
	unix.SYS_PWRITEV2: {UseFlagged, func(args [6]uint64) bool {
		return args[5]&(unix.RWF_SYNC|unix.RWF_DSYNC) != 0
	}},
}

func always([6]uint64) bool { return true }

// answer does a sync and tells the thread that waits for it.
func (t *syncTaker) answer(call syncCall) {
	a := syncAnswer{id: call.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	_, others := os.Stat(fmt.Sprintf("%s/%d", taskDir(t.pid), call.thread))
	switch use, noted := usesOf[call.number]; {
	case others != nil: // a process that it has started: its files are others
	case !noted:
		a.flags, a.error = 0, -int32(t.sync(call))
	case use.is(call.args):
		t.fs.disk.note(use.Use)
	}
	_ = t.control(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&a)) // the thread may be gone
}

func (t *syncTaker) sync(call syncCall) unix.Errno {
	fd, err := t.take(int(int32(call.args[0])))
	if err != nil {
		return err.(unix.Errno)
	}
	sync := unix.Fsync
	if call.number == unix.SYS_FDATASYNC {
		sync = unix.Fdatasync
	}
	later, err := t.fs.holdBack(func() error { return sync(fd) })
	unix.Close(fd)
	if err != nil {
		return err.(unix.Errno)
	}
	if later == nil { // no file of this mount
		return 0
	}
	if t.control(unix.SECCOMP_IOCTL_NOTIF_ID_VALID, unsafe.Pointer(&call.id)) != 0 {
		return unix.EINTR // the thread was killed before the disk was asked
	}
	return unix.Errno(later())
}

// heldBack is a sync that the kernel has asked for in a call by a thread, and is to be done behind
// that call.
type heldBack struct{ later func() fuse.Status }

// holdBack does a call, and returns the sync that the kernel asked for in it, which the kernel
// takes for done, nil if there was none; and what the call returned.
func (fs *fuseFS) holdBack(call func() error) (later func() fuse.Status, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	held, thread := &heldBack{}, uint32(unix.Gettid())
	fs.mu.Lock()
	fs.held[thread] = held
	fs.mu.Unlock()
	err = call()
	fs.mu.Lock()
	defer fs.mu.Unlock()
	delete(fs.held, thread)
	return held.later, err
}

// nowOrLater does a sync, unless the thread that asks holds it back.
func (fs *fuseFS) nowOrLater(h *fuse.InHeader, sync func() fuse.Status) fuse.Status {
	fs.mu.Lock()
	held := fs.held[h.Pid]
	if held != nil {
		held.later = sync
	}
	fs.mu.Unlock()
	if held != nil {
		return fuse.OK
	}
	return sync()
}
