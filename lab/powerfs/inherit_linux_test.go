package powerfs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
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
