package powerfs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
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

// waitingDaemon waits for its own mount, which does not answer, and says so once the request was
// read.
func waitingDaemon(dir string) error {
	d, err := New(Options{})
	if err != nil {
		return err
	}
	m, err := d.Mount(dir)
	if err != nil {
		return err
	}
	f, err := d.Create(Root, "f", ModeFile|0o600, Owner{})
	if err == nil {
		err = d.Open(f.ID, ReadWrite) // so that a write-back opens it
	}
	if err != nil {
		return err
	}
	m.fs.mu.Lock() // for ever: who opens a file is not answered
	go func() {
		for opens := 1; opens == 1; time.Sleep(time.Millisecond) {
			d.mu.Lock()
			opens = d.inodes[f.ID].opens
			d.mu.Unlock()
		}
		fmt.Println("waits")
	}()
	return m.WriteBack()
}

// TestAKilledDaemonEnds kills a process that waits for its own mount. Nobody aborts the connection
// for it.
func TestAKilledDaemonEnds(t *testing.T) {
	if err := Available(); err != nil {
		t.Skipf("NOT TESTED: this machine cannot mount: %v", err)
	}
	dir := t.TempDir()
	cmd, lines := start(t, "waiting daemon", dir)
	t.Cleanup(func() { detachDead(dir) })
	if !lines.Scan() {
		t.Fatal("the daemon has ended")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-ended:
	case <-time.After(time.Minute): // a process that is killed is not slow
		t.Error("the process does not end")
		detachDead(dir)
		<-ended
	}
}

// What the first thread has is taken for what the process has: by /proc, and by pidfd_getfd.
func TestTheFirstThreadKeepsTheDescriptorsOfItsProcess(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all threads
	for range 100 {
		if _, err := all.take(); err != nil {
			t.Fatal(err)
		}
		if to, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd())); err != nil || to != f.Name() {
			t.Fatalf("the process has %q, %v; want %s", to, err, f.Name())
		}
	}
}

// Under go test, package os notes what it opens in a file of the process, of which a thread apart
// has no descriptor.
func TestATryToMountNeedsNoFileOfTheProcess(t *testing.T) {
	const again = "ASSAY_TRY_TO_MOUNT"
	if os.Getenv(again) != "" {
		for range 150 { // each notes some 80 bytes, and 4 KiB are written at a time
			if err := tryMount(); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	if err := Available(); err != nil {
		t.Skip("NOT TESTED: ", err)
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.testlogfile", filepath.Join(t.TempDir(), "log"))
	cmd.Env = append(os.Environ(), again+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
