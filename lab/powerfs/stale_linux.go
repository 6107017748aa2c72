package powerfs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/assaydb/assay/kv/driver"
)

// DetachStale detaches the mounts of this file system below parent whose daemon has died, as by a
// kill, and returns how many. Mounts that work are left alone, whoever they belong to.
func DetachStale(parent string) (int, error) {
	mounts, err := ourMounts(parent)
	if err != nil {
		return 0, &driver.Error{Op: "detach stale mounts", Path: parent, Kind: driver.KindOf(err), Err: err}
	}
	n := 0
	var failed error
	for _, m := range mounts {
		if !m.dead() {
			continue
		}
		if err := detachDead(m.dir); err != nil {
			failed = errors.Join(failed, &driver.Error{Op: "detach stale mount", Path: m.dir, Kind: driver.KindOf(err),
				Err:  err,
				Hint: "umount -l " + m.dir})
			continue
		}
		n++
	}
	return n, failed
}

// listed is a mount as the system lists it.
type listed struct{ dir, source string }

// ourMounts returns the mounts of disks below parent.
func ourMounts(parent string) ([]listed, error) {
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
	var mounts []listed
	for line := range strings.Lines(string(list)) {
		fields := strings.Fields(line)
		_, after, ours := strings.Cut(line, " - fuse."+mountName+" ")
		if len(fields) < 7 || !ours {
			continue
		}
		source, _, _ := strings.Cut(after, " ")
		dir := unescape(fields[4])
		if rel, err := filepath.Rel(abs, dir); err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
			mounts = append(mounts, listed{dir, source})
		}
	}
	return mounts, nil
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

// source is what the system lists as the mounted device: it names the daemon's process, and when
// that was started, since numbers of processes come again.
func source(pid int) string {
	_, started := processState(pid)
	return fmt.Sprintf("%s:%d:%s", mountName, pid, started)
}

// processState returns the state of a process, "" if there is none, and when it was started.
func processState(pid int) (state, started string) {
	fields := statFields(fmt.Sprintf("/proc/%d", pid))
	if len(fields) < 20 {
		return "", ""
	}
	return fields[0], fields[19]
}

// statFields returns what the system tells of the process or thread whose folder in /proc is dir,
// from its state on; nothing if it has ended.
func statFields(dir string) []string {
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return nil
	}
	// pid (name) state ...; the name may hold anything
	return strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
}

// dead reports whether the mount's daemon has died. It is not asked: a daemon that was killed while
// it used its own mount never ends before the mount is detached, and nobody who asks for something
// there is answered.
func (m listed) dead() bool {
	var pid int
	var started string
	if _, err := fmt.Sscanf(strings.ReplaceAll(m.source, ":", " "), mountName+" %d %s", &pid, &started); err != nil {
		return silent(m.dir)
	}
	state, now := processState(pid)
	return state == "" || state == "Z" || state == "X" || now != started
}

// silent reports whether nobody answers for the mount any more. A daemon that only keeps silent may
// be stopped.
func silent(dir string) bool {
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
	// The force fails what still waits for an answer, so that its processes can end.
	err := unix.Unmount(dir, unix.MNT_FORCE|unix.MNT_DETACH)
	if err == unix.EPERM {
		return runHelper(nil, "-u", "-z", "--", dir)
	}
	return err
}
