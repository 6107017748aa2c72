//go:build linux

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/result"
)

// execute runs this test binary as the command, as user uid (-1: as this one), and returns its exit
// status.
func execute(t *testing.T, uid int, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	cmd := command(t, args...)
	if uid >= 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	}
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// command returns a call of assay: testscript puts it first in PATH.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	path, err := exec.LookPath("assay")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir())
	return cmd
}

func TestReadOnlyFolderIsOneClearError(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	uid, out := -1, t.TempDir()
	if os.Getuid() == 0 { // root may write anywhere
		uid = 65534
		path, err := exec.LookPath("assay")
		if err != nil {
			t.Fatal(err)
		}
		opened(t, path)
		opened(t, filepath.Join(dir, "x"))
		if err := errors.Join(os.Chmod(dir, 0o555), os.Chmod(out, 0o777)); err != nil {
			t.Fatal(err)
		}
		opened(t, filepath.Join(filepath.Dir(out), "x"))
	}
	status, stdout, stderr := execute(t, uid, "run", "ycsb/C", "--engines", "bbolt", "--dir", dir, "--out", out,
		"--budget", "3s")
	if status != 1 || stdout != "" || !strings.Contains(stderr, "permission denied") ||
		!strings.Contains(stderr, "--dir") {
		t.Errorf("status %d, stdout %q, stderr %q; want 1 and one error with a hint at --dir", status, stdout, stderr)
	}
}

// opened lets every user reach the file at path, through the folders that tests make in the
// temporary one.
func opened(t *testing.T, path string) {
	t.Helper()
	for dir := filepath.Dir(path); dir != filepath.Clean(os.TempDir()) && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// tmpfs mounts a file system in memory of the given size.
func tmpfs(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("NOT TESTED: a tmpfs cannot be mounted: %v (it needs root)", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestFullDiskEndsCellsWithTheReason(t *testing.T) {
	dir := tmpfs(t, "1m")
	status, stdout, stderr := execute(t, -1, "run", "ycsb/fillrandom?value=1000", "--engines", "bbolt,sqlite",
		"--durability", "flushed",
		"--dir", dir, "--budget", "5m", "--rounds", "6")
	if status != 1 || !strings.Contains(stdout, "no space left") {
		t.Errorf("status %d, want 1 and the reason in the table; stdout:\n%s\nstderr:\n%s", status, stdout, stderr)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestSyncedOnATmpfsIsRefused(t *testing.T) {
	dir := tmpfs(t, "64m")
	status, stdout, stderr := execute(t, -1, "run", "ycsb/fillrandom?records=100", "--engines", "bbolt", "--durability",
		"synced", "--dir", dir)
	if status != 2 || stdout != "" || !strings.Contains(stderr, "tmpfs") || !strings.Contains(stderr, "--dir") {
		t.Errorf("status %d, stdout %q, stderr %q; want 2 and a hint", status, stdout, stderr)
	}
}

func TestInterruptKeepsTheResultAndLeavesNoFiles(t *testing.T) {
	for name, c := range map[string]struct {
		args   []string
		step   string // progress after which the interrupt comes
		result string
	}{
		"run": {[]string{"run", "ycsb/C,readrandom?records=200", "--engines", "a=bbolt:,b=bbolt:", "--precision", "50%"},
			"[2/", "result.json"},
		"prove": {[]string{"prove", "--engines", "bbolt,sqlite", "--faults", "kill", "--rounds", "100000"}, "[0/",
			"prove.json"},
	} {
		t.Run(name, func(t *testing.T) {
			data, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
			cmd := command(t, append(c.args, "--budget", "1h", "--dir", data, "--out", out)...)
			status, said := interruptAt(t, cmd, c.step)
			if status != 130 {
				t.Errorf("exit status %d, want 130; said:\n%s", status, said)
			}
			if _, err := os.Stat(filepath.Join(out, c.result)); err != nil {
				t.Errorf("the result was not kept: %v", err)
			}
			if left, err := os.ReadDir(data); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// interruptAt runs cmd, interrupts it when its progress shows step, and returns its exit status and
// all that it said.
func interruptAt(t *testing.T, cmd *exec.Cmd, step string) (status int, said string) {
	t.Helper()
	progress, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	buf := make([]byte, 4096)
	interrupted := false
	for {
		n, err := progress.Read(buf)
		all.Write(buf[:n])
		if !interrupted && strings.Contains(all.String(), step) {
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			interrupted = true
		}
		if err != nil {
			break
		}
	}
	_ = cmd.Wait() // its status is returned
	return cmd.ProcessState.ExitCode(), all.String()
}

// TestDeathOfTheParentEndsItsChildren kills assay, whose children are stopped most of the time, and
// waits until none is left: they would otherwise stay for ever.
func TestDeathOfTheParentEndsItsChildren(t *testing.T) {
	data := t.TempDir()
	cmd := command(t, "run", "ycsb/A?records=200", "--engines", "a=bbolt:,b=bbolt:", "--budget", "1h", "--precision",
		"0.1%", "--dir", data)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	children := func() int {
		out, _ := exec.Command("pgrep", "-f", "-c", cmd.Path+" lab-child").Output() // exits 1 where there is none
		n := 0
		for _, c := range strings.TrimSpace(string(out)) {
			n = 10*n + int(c-'0')
		}
		return n
	}
	if _, err := exec.LookPath("pgrep"); err != nil {
		t.Skip("NOT TESTED: pgrep is needed to count processes")
	}
	waitFor(t, "children to start", func() bool { return children() >= 2 })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	waitFor(t, "children to end", func() bool { return children() == 0 })
}

func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited a minute for %s", what)
		}
	}
}

func TestInspectThatWaitsEndsAtAnInterrupt(t *testing.T) {
	url := "bbolt:" + filepath.ToSlash(filepath.Join(t.TempDir(), "store"))
	db, err := kv.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if status, said := interruptAt(t, command(t, "inspect", url+"?wait=1h"), "waiting for"); status != 130 {
		t.Errorf("waiting for the store: exit status %d, want 130; said:\n%s", status, said)
	}
}

// TestAKilledProofGoesOn kills a proof amid its work (kill -9) and gives it more time.
func TestAKilledProofGoesOn(t *testing.T) {
	out, data := filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "data")
	cmd := command(t, "prove", "--engines", "bbolt", "--durability", "synced", "--faults", "kill", "--budget", "1h",
		"--seed", "7", "--dir", data, "--out", out)
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for images := 0; images == 0 && t.Context().Err() == nil; time.Sleep(10 * time.Millisecond) {
		if p, err := result.ReadProof(out); err == nil {
			images = p.Cells[0].Images
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // it was killed
	kept, err := result.ReadProof(out)
	if err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	if c := kept.Cells[0]; !kept.Interrupted || c.Images == 0 || c.Acked == 0 || c.Keeps.Verdict != result.Unproved {
		t.Errorf("kept: interrupted %v, %+v", kept.Interrupted, c)
	}
	if status, _, stderr := execute(t, -1, "prove", "--resume", out, "--budget", "1s", "--dir", data); status != 0 {
		t.Fatalf("status %d: %s", status, stderr)
	}
	both, err := result.ReadProof(out)
	if err != nil {
		t.Fatal(err)
	}
	was, now := kept.Cells[0], both.Cells[0]
	if both.Interrupted || now.Images <= was.Images || now.Acked <= was.Acked || now.Kills < was.Kills ||
		now.Keeps.Verdict != result.Proved || both.Took <= kept.Took || !both.Started.Equal(kept.Started) {
		t.Errorf("after %+v: %+v", was, now)
	}
}
