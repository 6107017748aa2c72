package powerfs

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/assaydb/assay/kv/driver"
)

// mountName is how the system's list of mounts tells ours from others.
const mountName = "assay-powerfs"

// Mount is a disk that is mounted on a folder. Processes other than the one that mounted it may do
// anything there; this one must not map its files into memory: a fault would block a thread that
// the garbage collector waits for.
type Mount struct {
	disk   *Disk
	dir    string
	served chan struct{} // closed when the daemon has ended
	fs     *fuseFS

	once sync.Once
	err  error
}

// Mount mounts the disk on dir, which must exist and should be empty. A disk can be mounted once at
// a time.
func (d *Disk) Mount(dir string) (*Mount, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, mountError(dir, err)
	}
	if info, err := os.Stat(abs); err != nil || !info.IsDir() {
		return nil, &driver.Error{Op: "mount", Path: dir, Kind: driver.NoStore, Err: err, Hint: "make the folder first"}
	}
	fd, err := connect(abs)
	if err != nil {
		return nil, mountError(dir, err)
	}
	m := &Mount{disk: d, dir: abs, served: make(chan struct{}), fs: newFuseFS(d)}
	server, err := fuse.NewServer(m.fs, fmt.Sprintf("/dev/fd/%d", fd), &fuse.MountOptions{
		MaxWrite:                 maxWrite,
		MaxBackground:            64,
		ExplicitDataCacheControl: true,
		DisableXAttrs:            true,
		DisableReadDirPlus:       true,
		DisableSplice:            true,
		// The kernel must not ask for an open by itself: opens are counted.
		DisabledCapabilities: fuse.CAP_NO_OPEN_SUPPORT | fuse.CAP_NO_OPENDIR_SUPPORT,
	})
	if err != nil {
		_, failed := m.detach()
		return nil, errors.Join(mountError(dir, err), failed)
	}
	go func() {
		defer close(m.served)
		server.Serve()
	}()
	if err := apart(func() error { return learnPoll(abs) }); err != nil {
		return nil, errors.Join(mountError(dir, err), m.Unmount())
	}
	return m, nil
}

// maxWrite is how many bytes the kernel passes on at once; a longer write comes in pieces.
const maxWrite = 1 << 20

func mountError(dir string, err error) error {
	e := &driver.Error{Op: "mount", Path: dir, Kind: driver.KindOf(err), Err: err}
	switch {
	case errors.Is(err, os.ErrPermission):
		e.Hint = "mounting needs root, or the fusermount helper of the fuse3 package"
	case errors.Is(err, os.ErrNotExist), errors.Is(err, exec.ErrNotFound):
		e.Kind = driver.Unsupported
		e.Hint = "mounting needs /dev/fuse, and for users other than root the fusermount helper of the fuse3 package"
	}
	return e
}

// Dir returns the folder, as an absolute path.
func (m *Mount) Dir() string { return m.dir }

// Unmount ends the mount. Files that are still open fail from then on, and the folder is free at
// once. What processes have mapped and changed is written back first if the power is on and nothing
// is open. Twice is once.
func (m *Mount) Unmount() error {
	m.once.Do(func() { m.err = m.unmount() })
	return m.err
}

func (m *Mount) unmount() error {
	ends, err := m.detach()
	if err != nil {
		return &driver.Error{Op: "unmount", Path: m.dir, Kind: driver.KindOf(err), Err: err,
			Hint: "umount -l " + m.dir}
	}
	if ends {
		<-m.served
	}
	return nil
}

// detach frees the folder, and reports whether the daemon ends whoever holds files.
func (m *Mount) detach() (ends bool, err error) {
	if os.Geteuid() != 0 {
		return m.detachByHelper()
	}
	if apart(func() error { return unix.Unmount(m.dir, 0) }) == nil { // it waits for what is written back
		return true, nil
	}
	// The force aborts the connection, so that no process waits for us any more; the folder is then
	// free whoever holds files.
	return true, unix.Unmount(m.dir, unix.MNT_FORCE|unix.MNT_DETACH)
}

// detachByHelper is for users other than root. The connection of a mount that is still busy cannot
// be aborted by them: the power is cut, so that the processes fail soon, and the daemon ends with
// the last of them.
func (m *Mount) detachByHelper() (ends bool, err error) {
	if runHelper(nil, "-u", "--", m.dir) == nil {
		return true, nil
	}
	m.disk.Cut()
	return false, runHelper(nil, "-u", "-z", "--", m.dir)
}

var available = sync.OnceValue(tryMount)

// Available returns nil, or why this machine cannot mount. It mounts a disk once, and remembers.
func Available() error { return available() }

func tryMount() (err error) {
	if _, err := os.Stat("/dev/fuse"); err != nil {
		return &driver.Error{Op: "mount", Path: "/dev/fuse", Kind: driver.Unsupported, Err: err,
			Hint: "load the kernel's fuse module, or give the container the device: --device /dev/fuse --cap-add SYS_ADMIN"}
	}
	dir, err := os.MkdirTemp("", "assay-powerfs-try-*")
	if err != nil {
		return mountError(os.TempDir(), err)
	}
	defer os.Remove(dir)
	d, err := New(Options{})
	if err != nil {
		return err
	}
	defer d.Close()
	m, err := d.Mount(dir)
	if err != nil {
		return err
	}
	return errors.Join(apart(func() error { return writeTry(filepath.Join(dir, "try")) }), m.Unmount())
}

// writeTry writes a small file, by system calls alone: package os may write to a file of the
// process, as it notes in a test what it opens, and apart there are none.
func writeTry(path string) error {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	_, err = unix.Write(fd, []byte("try"))
	return errors.Join(err, unix.Close(fd))
}

// forever is how long the kernel may remember entries and attributes: nothing changes them behind
// its back.
const forever = 24 * time.Hour
