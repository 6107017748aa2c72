package postgrestest

import (
	"os"
	"syscall"
)

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
