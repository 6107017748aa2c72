package locks

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// kernel is a list of locks that is read as the kernel gives it: at most a page in one call, more
// only if one lock takes more, and from a number on where the call before has ended.
type kernel struct {
	list    []string // a lock, then what waits for it
	size    int
	read    int64 // where the last call ended,
	index   int   // and the number of the lock after it
	between func()
}

func (k *kernel) record(i int) string {
	return fmt.Sprintf("%d: %s\n", i+1, strings.ReplaceAll(k.list[i], "\n", fmt.Sprintf("\n%d: -> ", i+1)))
}

func (k *kernel) pread(b []byte, at int64) (int, error) {
	if k.between != nil {
		k.between()
	}
	piece := ""
	switch {
	case at == 0:
		k.index = 0
	case at != k.read: // by the bytes of the list as it is now
		k.index = 0
		for pos := int64(0); pos < at && k.index < len(k.list); k.index++ {
			r := k.record(k.index)
			if pos+int64(len(r)) > at {
				piece = r[at-pos:]
			}
			pos += int64(len(r))
		}
		if k.between != nil {
			k.between()
		}
	}
	room := k.size
	for first := true; k.index < len(k.list); first = false {
		r := k.record(k.index)
		for first && len(r) >= k.size {
			k.size *= 2
			room = k.size
		}
		if len(r) >= room {
			break
		}
		piece, room, k.index = piece+r, room-len(r), k.index+1
	}
	n := copy(b, piece)
	k.read = at + int64(n)
	return n, nil
}

// line is a lock as /proc/locks has it.
func line(pid int) string { return fmt.Sprintf("FLOCK  ADVISORY  WRITE %d fe:00:%d 0 EOF", pid, pid) }

// TestNoneIsLeftOut: what is held all the time is in what is read, whatever is taken and released
// between the calls.
func TestNoneIsLeftOut(t *testing.T) {
	for seed := range uint64(100) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		k := &kernel{size: 4096}
		pid := 0
		var stay []string
		take := func(place int) {
			pid++
			l := line(pid)
			if rnd.IntN(50) == 0 {
				l += strings.Repeat("\n"+line(99999), rnd.IntN(30))
			}
			k.list = slices.Insert(k.list, place, l)
		}
		for range rnd.IntN(400) {
			take(len(k.list))
			if rnd.IntN(3) == 0 {
				stay = append(stay, k.list[len(k.list)-1])
			}
		}
		most := 1 + rnd.IntN(60)
		calls := 0
		k.between = func() {
			if calls++; calls > 400 {
				return // they end at last
			}
			for range rnd.IntN(most) { // more are released than taken, so that the rest moves up
				if i := rnd.IntN(len(k.list) + 1); i < len(k.list) && !slices.Contains(stay, k.list[i]) {
					k.list = slices.Delete(k.list, i, i+1)
				}
			}
			for range rnd.IntN(max(most/2, 1)) {
				take(rnd.IntN(2) * len(k.list) / 2) // at the head of the list of one of two processors
			}
		}
		lines, _, err := read(4096, k.pread)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for _, l := range stay {
			if first, _, _ := strings.Cut(l, "\n"); !slices.Contains(lines, first) {
				t.Fatalf("seed %d: %q is left out of %d", seed, first, len(lines))
			}
		}
		if slices.Contains(lines, line(99999)) {
			t.Fatalf("seed %d: what waits is called held", seed)
		}
	}
}

// TestItEnds: a list that is another one at each call is an error.
func TestItEnds(t *testing.T) {
	k := &kernel{size: 4096}
	pid := 0
	k.between = func() {
		k.list = nil
		for range 200 {
			pid++
			k.list = append(k.list, line(pid))
		}
	}
	if _, _, err := read(4096, k.pread); err != errTooFast {
		t.Errorf("got %v", err)
	}
}

// churn is set in the process that takes and releases locks, to the folder of its files.
const churn = "ASSAY_LOCKS_CHURN"

// TestHeldWhileOthersComeAndGo: another process holds a lock, and takes and releases hundreds
// beside it. That one is always found, and so is one of this process.
func TestHeldWhileOthersComeAndGo(t *testing.T) {
	dir := os.Getenv(churn)
	mine := dir == ""
	if mine {
		dir = t.TempDir()
	}
	open := func(name string) *os.File {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	flock := func(f *os.File, how int) {
		if err := unix.Flock(int(f.Fd()), how); err != nil {
			t.Error(err)
		}
	}
	if !mine {
		flock(open("held"), unix.LOCK_EX)
		var others []*os.File
		for i := range 200 {
			others = append(others, open(fmt.Sprint(i)))
		}
		fmt.Println("held")
		for {
			for _, how := range []int{unix.LOCK_EX, unix.LOCK_UN} {
				for _, f := range others {
					flock(f, how)
				}
			}
		}
	}

	own := open("own")
	flock(own, unix.LOCK_EX)
	child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), churn+"="+dir)
	said, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	})
	if line, err := bufio.NewReader(said).ReadString('\n'); line != "held\n" {
		t.Fatalf("the other process says %q, %v", line, err)
	}
	for _, want := range []Lock{
		{PID: os.Getpid(), Write: true, File: ID(own.Name())},
		{PID: child.Process.Pid, Write: true, File: ID(filepath.Join(dir, "held"))},
	} {
		for range 200 {
			if list, err := Held(); err != nil || !slices.Contains(list, want) {
				t.Errorf("%v is not in %d locks, %v", want, len(list), err)
				break
			}
		}
	}
	flock(own, unix.LOCK_UN)
	list, err := Held()
	if err != nil || slices.ContainsFunc(list, func(l Lock) bool { return l.File == ID(own.Name()) }) {
		t.Errorf("after its end: %v, %v", list, err)
	}
	if ID(filepath.Join(dir, "none")) != "" {
		t.Error("a file that is not there has an ID")
	}
}
