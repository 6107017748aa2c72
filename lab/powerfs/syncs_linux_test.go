package powerfs

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/assaydb/assay/kv"
)

// handsOver is the role of a process that hands its syncs over, and then has the role that follows
// the folder.
const handsOver = "hands over"

// starter starts a process in a role on a mount.
type starter func(t *testing.T, role string, m *Mount) (*exec.Cmd, *bufio.Scanner)

func startsAlone(t *testing.T, role string, m *Mount) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	return start(t, role, m.Dir())
}

// startsHandedOver starts one whose syncs are taken over.
func startsHandedOver(t *testing.T, role string, m *Mount) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd, lines := start(t, handsOver, m.Dir(), role)
	stop, err := m.TakeSyncs(cmd.Process.Pid, func() (int, error) {
		if !lines.Scan() {
			return 0, syncsError(errorString("the process could not, see above"))
		}
		return strconv.Atoi(lines.Text())
	})
	if errors.Is(err, kv.Unsupported) {
		t.Skipf("NOT TESTED: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		stop()
	})
	return cmd, lines
}

// eachWay runs a test with processes that do their syncs themselves, and with such as hand them
// over: it must make no difference.
func eachWay(t *testing.T, name string, test func(t *testing.T, start starter)) {
	t.Run(name, func(t *testing.T) { test(t, startsAlone) })
	t.Run(name+", handed over", func(t *testing.T) { test(t, startsHandedOver) })
}

// told syncs a file by handles of which each was opened at another time than the first sync, which
// fails.
func told(dir string) error {
	var all error
	openFile := func() int {
		fd, err := unix.Open(filepath.Join(dir, "f"), unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
		all = errors.Join(all, err)
		return fd
	}
	first, second := openFile(), openFile()
	_, err := unix.Pwrite(first, []byte("x"), 0)
	all = errors.Join(all, err)
	sync := func(what string, fd int, want error) {
		if err := unix.Fsync(fd); err != want {
			all = errors.Join(all, fmt.Errorf("%s: got %v, want %v", what, err, want))
		}
	}
	sync("the one that fails", first, unix.EIO)
	sync("opened later", openFile(), nil)
	sync("open before", second, unix.EIO)
	sync("told", second, nil)
	sync("told", first, nil)
	sync("no file", 999, unix.EBADF)
	fmt.Println("done")
	return all
}

// amid counts up in a page of a file while two threads sync it, in the first page of which the
// number of the round stands before each sync, until one fails.
func amid(path string) error {
	fd, err := unix.Open(path, unix.O_RDWR, 0)
	if err != nil {
		return err
	}
	number := func(n uint64, at int64) error {
		_, err := unix.Pwrite(fd, binary.LittleEndian.AppendUint64(nil, n), at)
		return err
	}
	for round, count := uint64(1), uint64(0); ; round++ {
		if err := number(round, 0); err != nil {
			return err
		}
		var over atomic.Int32
		failed := make(chan error, 2)
		for range cap(failed) {
			go func() {
				defer over.Add(1)
				failed <- unix.Fsync(fd)
			}()
		}
		for over.Load() < 2 {
			count++
			if err := number(count, pageSize); err != nil {
				return err
			}
		}
		if err := errors.Join(<-failed, <-failed); err != nil {
			return err
		}
		fmt.Println(round)
	}
}

// A process writes to a file while it is synced, as it does on ext4 and xfs. What was there when
// the sync began is durable when it is done, and what came meanwhile may not be.
func TestAFileIsWrittenWhileItIsSynced(t *testing.T) {
	d, m := mounted(t, Options{From: startingImage(t), Record: true, Latency: Latency{Sync: 5 * time.Millisecond}})
	cmd, lines := startsHandedOver(t, "amid", m)
	var amidst []int // the moments behind syncs whose last step before the end was a write to the file
	for len(amidst) < 3 {
		if !lines.Scan() {
			t.Fatal("the process has ended")
		}
		d.mu.Lock()
		steps := d.tape.Steps()
		d.mu.Unlock()
		amidst = nil
		for i, s := range steps {
			if s.Done && steps[i-1].Kind == OnWrite && steps[i-1].Path == s.Path {
				amidst = append(amidst, i+1)
			}
		}
	}
	if err := m.Settle(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	for _, moment := range amidst {
		p := playedTo(bench{t, d}, moment)
		round, last := numbers(p, Random(Rule{Ordered, Everything}, 0))
		least := last
		for _, s := range p.States(Ordered, rand.New(rand.NewPCG(1, 1))) {
			found, count := numbers(p, s)
			if least = min(least, count); found != round {
				t.Errorf("before step %d, by %v: round %d, want %d", moment, s, found, round)
			}
		}
		if least == last {
			t.Errorf("before step %d: %d, written amid the sync, is in each state", moment, last)
		}
	}
}

// numbers returns what amid had written, as far as it is there.
func numbers(p *Player, s State) (round, count uint64) {
	img, err := p.Image(s)
	if err != nil {
		panic(err)
	}
	f, _ := img.File("old")
	data, err := f.Bytes()
	if err != nil {
		panic(err)
	}
	data = append(data, make([]byte, pageSize+8)...)
	return binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint64(data[pageSize:])
}
