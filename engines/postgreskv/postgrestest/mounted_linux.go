package postgrestest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// dieWithParent has the kernel end a server whose test or proof has died, as an immediate shutdown
// does. The Go runtime keeps the threads that start processes.
func dieWithParent(attr *syscall.SysProcAttr) *syscall.SysProcAttr {
	if attr == nil {
		attr = &syscall.SysProcAttr{}
	}
	attr.Pdeathsig = syscall.SIGQUIT
	return attr
}

// removeShared removes the segment of System V's shared memory of a server that was killed, by
// which the next one would see that its processes have ended. It sees it without as well.
func removeShared(data string) error {
	text, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	lines := strings.Split(string(text), "\n")
	if err != nil || len(lines) < 7 {
		return nil // it was killed before it had any
	}
	var key, id int
	if _, err := fmt.Sscan(lines[6], &key, &id); err != nil {
		return nil
	}
	_, err = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EIDRM) { // it is gone
		return nil
	}
	return err
}

// Mounted lets the server work on a file system that was mounted for this process's user alone. If
// that is root, as whom a server refuses to run, it has another name for the user: it runs in a
// namespace of its own.
func (s *Server) Mounted() error {
	if os.Getuid() != 0 {
		return nil
	}
	as, err := credential("postgres", "nobody")
	if err != nil {
		return err
	}
	uid, gid := int(as.Uid), int(as.Gid)
	s.attributes = func() *syscall.SysProcAttr {
		return &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: 0, Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: 0, Size: 1}},
			Credential:  &syscall.Credential{Uid: as.Uid, Gid: as.Gid, NoSetGroups: true}}
	}
	return os.Chown(s.dir, 0, 0)
}
