package powerfs

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// descriptors prints what each descriptor of this process leads to.
func descriptors() error {
	links, err := filepath.Glob("/proc/self/fd/*")
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil { // the one that read the folder is gone
			fmt.Println(to)
		}
	}
	return err
}

// TestNoChildInheritsAMount starts processes while disks are mounted and unmounted. One that
// inherited /dev/fuse would keep the mount's connection alive when the daemon dies, and wait for
// ever, unkillable, for an answer.
func TestNoChildInheritsAMount(t *testing.T) {
	d, m := mounted(t, Options{})
	done, ended := make(chan struct{}), make(chan error)
	dir := t.TempDir()
	go func() { // mounts come and go beside the one that stays
		for {
			select {
			case <-done:
				ended <- nil
				return
			default:
				if err := mountOnce(dir); err != nil {
					ended <- err
					return
				}
			}
		}
	}()
	defer func() {
		close(done)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	for range 20 {
		out, err := exec.Command(os.Args[0], childRole, "descriptors").Output()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(out), "/dev/fuse") {
			t.Fatalf("a child of the process that mounted %s has\n%s", m.Dir(), out)
		}
	}
	if d.Ops() != 0 {
		t.Errorf("mounting alone did %d operations", d.Ops())
	}
}

func mountOnce(dir string) error {
	d, err := New(Options{})
	if err != nil {
		return err
	}
	defer d.Close()
	m, err := d.Mount(dir)
	if err != nil {
		return err
	}
	return m.Unmount()
}

// waitingDaemon mounts and unmounts a disk again and again and waits for it most of the time. It
// says a word before each time.
func waitingDaemon(dir string) error {
	for {
		d, err := New(Options{})
		if err != nil {
			return err
		}
		fmt.Println("mounts")
		m, err := d.Mount(dir)
		if err != nil {
			return err
		}
		for range 10 {
			fmt.Println("writes back")
			if err := m.WriteBack(); err != nil {
				return err
			}
		}
		if err := m.Unmount(); err != nil {
			return err
		}
		if err := d.Close(); err != nil {
			return err
		}
	}
}

// TestAKilledDaemonEnds kills processes while they wait for their own mounts. Nobody aborts the
// connection for them.
func TestAKilledDaemonEnds(t *testing.T) {
	if err := Available(); err != nil {
		t.Skipf("NOT TESTED: this machine cannot mount: %v", err)
	}
	kills := 60
	if testing.Short() {
		kills = 12
	}
	for i := range kills {
		dir := t.TempDir()
		cmd, lines := start(t, "waiting daemon", dir)
		t.Cleanup(func() { detachDead(dir) })
		for range 1 + i { // the moments differ: before a mount, before a write-back
			if !lines.Scan() {
				t.Fatal("the daemon has ended")
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error)
		go func() { ended <- cmd.Wait() }()
		select {
		case <-ended:
		case <-time.After(time.Minute):
			threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", cmd.Process.Pid))
			t.Errorf("kill %d: the process does not end, %d threads are left, %v", i, len(threads), err)
			detachDead(dir)
			<-ended
		}
		if err := detachDead(dir); err != nil && !errors.Is(err, unix.EINVAL) { // it may not have been mounted
			t.Error(err)
		}
	}
}
