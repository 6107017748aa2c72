package powerfs

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/assaydb/assay/kv/driver"
)

// DetachStale detaches the mounts of this file system below parent whose daemon has died, as by a kill, and returns
// how many. Mounts that work are left alone, whoever they belong to.
func DetachStale(parent string) (int, error) {
	mounts, err := ourMounts(parent)
	if err != nil {
		return 0, &driver.Error{Op: "detach stale mounts", Path: parent, Kind: driver.KindOf(err), Err: err}
	}
	n := 0
	var failed error
	for _, dir := range mounts {
		if !dead(dir) {
			continue
		}
		if err := detachDead(dir); err != nil {
			failed = errors.Join(failed, &driver.Error{Op: "detach stale mount", Path: dir, Kind: driver.KindOf(err), Err: err,
				Hint: "umount -l " + dir})
			continue
		}
		n++
	}
	return n, failed
}

// ourMounts returns where disks are mounted below parent.
func ourMounts(parent string) ([]string, error) {
	abs, err := filepath.Abs(parent)
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real // as the system lists it
	}
	list, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var dirs []string
	for line := range strings.Lines(string(list)) {
		fields := strings.Fields(line)
		if len(fields) < 7 || !strings.Contains(line, " - fuse."+mountName+" ") {
			continue
		}
		dir := unescape(fields[4])
		if rel, err := filepath.Rel(abs, dir); err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
			dirs = append(dirs, dir)
		}
	}
	return dirs, nil
}

// unescape undoes mountinfo's \040 for a blank.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if code, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(code))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// dead reports whether the mount's daemon is gone. One that does not answer is alive: it may be stopped.
func dead(dir string) bool {
	answer := make(chan error, 1)
	go func() {
		var st unix.Statfs_t
		answer <- unix.Statfs(dir, &st)
	}()
	select {
	case err := <-answer:
		return err == unix.ENOTCONN || err == unix.ECONNABORTED
	case <-time.After(time.Second):
		return false
	}
}

func detachDead(dir string) error {
	err := unix.Unmount(dir, unix.MNT_DETACH)
	if err == unix.EPERM {
		return lazyHelper(dir)
	}
	return err
}

// lazyHelper detaches a mount of a user who is not root.
func lazyHelper(dir string) error {
	for _, name := range []string{"fusermount3", "fusermount"} {
		if bin, err := exec.LookPath(name); err == nil {
			return exec.Command(bin, "-u", "-z", dir).Run()
		}
	}
	return errorString("no fusermount helper")
}
