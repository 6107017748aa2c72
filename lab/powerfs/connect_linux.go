package powerfs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// connect mounts a file system on dir and returns the connection to the kernel that answers for it.
// go-fuse could do so, but opens /dev/fuse without O_CLOEXEC. A child that inherits a connection
// keeps it alive when this process has died: whoever uses the mount then waits for an answer that
// never comes, and cannot even be killed.
func connect(dir string) (fd int, err error) {
	if os.Geteuid() != 0 {
		return connectByHelper(dir)
	}
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return -1, err
	}
	if fd, err = unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0); err != nil {
		return -1, err
	}
	data := fmt.Sprintf("fd=%d,rootmode=%o,user_id=0,group_id=%d,max_read=%d",
		fd, st.Mode&unix.S_IFMT, os.Getegid(), maxWrite)
	if err := unix.Mount(source(os.Getpid()), dir, "fuse."+mountName, unix.MS_NOSUID|unix.MS_NODEV, data); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// connectByHelper is for users other than root: the helper may mount, and sends the connection
// through a socket.
func connectByHelper(dir string) (fd int, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(pair[0])
	theirs := os.NewFile(uintptr(pair[1]), "the helper's end")
	options := fmt.Sprintf("fsname=%s,subtype=%s,max_read=%d", source(os.Getpid()), mountName, maxWrite)
	err = runHelper([]*os.File{theirs}, "-o", options, "--", dir)
	theirs.Close()
	if err != nil {
		return -1, err
	}
	rights := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(pair[0], make([]byte, 1), rights, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return -1, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) != 1 {
		return -1, errorString("the fusermount helper sent no connection")
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return -1, errorString("the fusermount helper sent no connection")
	}
	return fds[0], nil
}

// runHelper runs the program that mounts and unmounts for users other than root. files are its
// descriptors from 3 on.
func runHelper(files []*os.File, args ...string) error {
	bin, err := exec.LookPath("fusermount3")
	if err != nil {
		if bin, err = exec.LookPath("fusermount"); err != nil {
			return err
		}
	}
	cmd := exec.Command(bin, args...)
	cmd.Env, cmd.ExtraFiles = append(os.Environ(), "_FUSE_COMMFD=3"), files
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(bin), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// learnPoll has the kernel ask once whether files of the mount can be polled, so that it learns
// that they cannot. Go's runtime asks at each os.Open, without leaving its thread to others: the
// goroutines that answer might find none. The name is one that go-fuse answers itself.
func learnPoll(dir string) error {
	fd, err := unix.Open(filepath.Join(dir, ".go-fuse-epoll-hack"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	return err
}
