package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/assaydb/assay/engines/postgreskv/postgrestest"
	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/result"
)

// command returns the command with arguments.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), exe, args...)
	c.Env = append(os.Environ(), asCommand+"=1")
	return c
}

// needsPostgres skips a test where there is none.
func needsPostgres(t *testing.T) {
	t.Helper()
	s, err := postgrestest.New()
	postgrestest.Check(t, err)
	s.Remove()
}

// work returns a folder for the data of a proof, which a server that runs as another user reaches.
func work(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "proof")
	if err == nil {
		err = os.Chmod(dir, 0o711)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// proof runs a proof, and returns it with what was printed and the exit status.
func proof(t *testing.T, args ...string) (p *result.Proof, printed string, status int) {
	t.Helper()
	dir, out := work(t), filepath.Join(t.TempDir(), "out")
	c := command(t, append([]string{"prove", "--dir", dir, "--out", out}, args...)...)
	var said, told bytes.Buffer
	c.Stdout, c.Stderr = &said, &told
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	status = c.ProcessState.ExitCode()
	nothingLeft(t, dir)
	p, err = result.ReadProof(out)
	if err != nil {
		t.Fatalf("status %d, no proof: %v\n%s%s", status, err, &said, &told)
	}
	return p, said.String() + told.String(), status
}

// nothingLeft waits until no process works in a folder and nothing lies in it, nor is mounted.
func nothingLeft(t *testing.T, dir string) {
	t.Helper()
	var left []string
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			t.Fatal(err)
		}
		left = append(files, processesIn(dir)...)
		mounts, _ := os.ReadFile("/proc/self/mounts") // of systems that have it
		if strings.Contains(string(mounts), dir+"/") {
			left = append(left, "a mount")
		}
		if len(left) == 0 {
			return
		}
	}
	t.Errorf("left in %s: %v", dir, left)
}

// processesIn returns what processes have a folder in their arguments or environment.
func processesIn(dir string) (found []string) {
	for _, name := range []string{"cmdline", "environ"} {
		files, _ := filepath.Glob("/proc/[0-9]*/" + name)
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err == nil && bytes.Contains(text, []byte(dir+"/")) {
				found = append(found, file)
			}
		}
	}
	return found
}

// Both servers keep what they promise, under every fault that they can suffer; under the two that
// say most where time is short.
func TestServersAreProved(t *testing.T) {
	for _, c := range []struct{ engine, most, rest string }{
		{"etcd", "leader,partition", "kill,server"},
		{"postgres", "server,power", "kill"},
	} {
		t.Run(c.engine, func(t *testing.T) {
			if c.engine == "postgres" {
				needsPostgres(t)
			}
			faults := c.most
			if !testing.Short() {
				faults += "," + c.rest
			}
			p, printed, status := proof(t, "--engines", c.engine, "--durability", "synced", "--rounds", "1", "--faults", faults)
			untried := strings.Contains(faults, "power") && powerfs.Available() != nil
			if untried {
				t.Logf("NOT TESTED: power: %v", powerfs.Available())
			}
			if status != 0 || !untried && !strings.Contains(printed, "No promise was broken") {
				t.Errorf("status %d\n%s", status, printed)
			}
			if want := len(strings.Split(faults, ",")); len(p.Cells) != want {
				t.Errorf("%d faults were tried, want %d", len(p.Cells), want)
			}
			for _, cell := range p.Cells {
				if cell.Fault == "power" && untried {
					continue
				}
				held := cell.Keeps.Verdict == result.Proved && cell.Whole.Verdict == result.Proved
				if !held || cell.Acked == 0 || !cell.Server {
					t.Errorf("%s: %+v", cell.Fault, cell)
				}
				if kills := slices.Contains([]string{"kill", "server", "leader"}, cell.Fault); kills != (cell.Kills > 0) {
					t.Errorf("%s: %d kills", cell.Fault, cell.Kills)
				}
			}
		})
	}
}

// Where the URL asks for it, Views are held against the one order of those who write, and keep it.
func TestViewsInTheOneOrderAreProved(t *testing.T) {
	needsPostgres(t)
	const apart = "a View is a snapshot"
	for _, c := range []struct {
		engine string
		apart  bool
	}{{"postgres", true}, {"postgres:?views=serial", false}} {
		p, printed, status := proof(t, "--engines", c.engine, "--durability", "synced", "--rounds", "1", "--faults", "kill")
		if len(p.Cells) != 1 || p.Cells[0].Whole.Verdict != result.Proved || status != 0 {
			t.Errorf("%s: status %d\n%s", c.engine, status, printed)
		}
		if strings.Contains(printed, apart) != c.apart {
			t.Errorf("%s: it says that %s: %v, want %v\n%s", c.engine, apart, !c.apart, c.apart, printed)
		}
	}
}

// What is not promised of a crash of the server is no broken promise, and is seen.
func TestFlushedCommitsAreLostByACrashOfTheServerAlone(t *testing.T) {
	needsPostgres(t)
	p, printed, status := proof(t, "--engines", "postgres", "--durability", "flushed", "--faults", "kill,server",
		"--rounds", "3")
	if status != 0 {
		t.Errorf("status %d\n%s", status, printed)
	}
	for _, c := range p.Cells {
		if c.Keeps.Claimed != (c.Fault == "kill") || c.Whole.Verdict != result.Proved || (c.Lost > 0) != (c.Fault == "server") {
			t.Errorf("%s: lost %d, %+v, %+v", c.Fault, c.Lost, c.Keeps, c.Whole)
		}
	}
}

// A server that acknowledges commits before they are durable is found, by a kill and by a power
// cut, and one whose reads are stale by any fault.
func TestPlantedFaultsOfServersAreFound(t *testing.T) {
	for _, c := range []struct{ engine, fault, said string }{
		{"hasty", "server", "lost acknowledged commits"},
		{"hasty", "power", "lost acknowledged commits"},
		{"stale", "kill", "no order of whole transactions explains"},
	} {
		t.Run(c.engine+" "+c.fault, func(t *testing.T) {
			if c.engine == "hasty" {
				needsPostgres(t)
			}
			if err := powerfs.Available(); c.fault == "power" && err != nil {
				t.Skipf("NOT TESTED: this machine cannot mount: %v", err)
			}
			_, printed, status := proof(t, "--engines", c.engine, "--durability", "synced", "--faults", c.fault, "--rounds", "1")
			if status != 1 || !strings.Contains(strings.Join(strings.Fields(printed), " "), c.said) {
				t.Errorf("status %d, want %q\n%s", status, c.said, printed)
			}
		})
	}
}

// A proof that is interrupted, or killed, leaves no process, no mount and no file.
func TestAnInterruptedProofOfServersLeavesNothing(t *testing.T) {
	for _, c := range []struct {
		engine, fault string
		signal        syscall.Signal
	}{
		{"etcd", "leader", syscall.SIGINT}, {"etcd", "leader", syscall.SIGKILL},
		{"postgres", "server", syscall.SIGINT}, {"postgres", "server", syscall.SIGKILL},
		{"postgres", "power", syscall.SIGINT},
	} {
		t.Run(c.engine+" "+c.fault+" "+c.signal.String(), func(t *testing.T) {
			if c.engine == "postgres" {
				needsPostgres(t)
			}
			if err := powerfs.Available(); c.fault == "power" && err != nil {
				t.Skipf("NOT TESTED: this machine cannot mount: %v", err)
			}
			dir := work(t)
			cmd := command(t, "prove", "--engines", c.engine, "--durability", "synced", "--faults", c.fault, "--budget", "1h",
				"--dir", dir, "--out", filepath.Join(t.TempDir(), "out"))
			var said bytes.Buffer
			cmd.Stdout, cmd.Stderr = &said, &said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for len(processesIn(dir)) < 2 { // a server, or nodes
				time.Sleep(20 * time.Millisecond)
			}
			if err := cmd.Process.Signal(c.signal); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // it was interrupted
			if status := cmd.ProcessState.ExitCode(); c.signal == syscall.SIGINT && status != 130 {
				t.Errorf("status %d\n%s", status, &said)
			}
			if strings.Contains(said.String(), "--resume") {
				t.Errorf("it offers what is refused of servers:\n%s", &said)
			}
			nothingLeft(t, dir)
		})
	}
}

// The help has an example for servers where the command can start some.
func TestTheHelpProvesServers(t *testing.T) {
	said, err := command(t, "prove", "--help").Output()
	if err != nil || !strings.Contains(string(said), "assay prove --engines postgres,etcd") {
		t.Errorf("%v\n%s", err, said)
	}
}

// Wrong usage says what is right.
func TestAProofOfServersRefusesWhatItCannotDo(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--engines", "bbolt,etcd"}, "assay prove --engines etcd"},
		{[]string{"--engines", "etcd", "--faults", "eio"}, "use kill, server, leader, partition, power"},
		{[]string{"--engines", "bbolt", "--faults", "leader"}, "use kill, power"},
		{[]string{"--engines", "etcd", "--rule", "ordered/pages"}, "leave them out"},
	} {
		said, err := command(t, append([]string{"prove"}, c.args...)...).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(said), c.want) {
			t.Errorf("%v: %v, want %q\n%s", c.args, err, c.want, said)
		}
	}
}
