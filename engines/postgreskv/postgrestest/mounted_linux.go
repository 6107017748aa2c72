package postgrestest

import (
	"os"
	"syscall"
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
