package workload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/assaydb/assay/kv"
)

// hookHelperName is the first argument of a helper process of hook.
const hookHelperName = "hook"

// hookTask is what one helper process does: open the store, put or get one key, close.
type hookTask struct {
	form       string
	url        string // of the store; in the form state, of the folder
	durability kv.Durability
	values     values
	key        int
	version    uint64        // to put; 0 gets
	kill       time.Duration // after the process begins to open the store; 0 is never
	// for locks, of a storm: the process begins when its input ends; 0 is as long as the form does,
	// at once
	wait time.Duration
}

// args returns the arguments of a process that does t.
func (t hookTask) args() []string {
	return []string{hookHelperName, t.form, t.url, t.durability.String(), strconv.FormatUint(t.values.seed, 10),
		strconv.Itoa(t.values.size), strconv.Itoa(t.key), strconv.FormatUint(t.version, 10),
		t.kill.String(), t.wait.String()}
}

// parseHookTask is the reverse of args, without the first.
func parseHookTask(args []string) (t hookTask, err error) {
	if len(args) != 9 {
		return t, &kv.Error{Op: "helper", Kind: kv.Invalid, Err: fmt.Errorf("%d arguments, want 9", len(args)),
			Hint: helperHint}
	}
	t.form, t.url, args = args[0], args[1], args[1:]
	var errs [7]error
	t.durability, errs[0] = kv.ParseDurability(args[1])
	t.values.seed, errs[1] = strconv.ParseUint(args[2], 10, 64)
	t.values.size, errs[2] = strconv.Atoi(args[3])
	t.key, errs[3] = strconv.Atoi(args[4])
	t.version, errs[4] = strconv.ParseUint(args[5], 10, 64)
	t.kill, errs[5] = time.ParseDuration(args[6])
	t.wait, errs[6] = time.ParseDuration(args[7])
	if err := errors.Join(errs[:]...); err != nil {
		return t, &kv.Error{Op: "helper", Kind: kv.Invalid, Err: err, Hint: helperHint}
	}
	return t, nil
}

// A helper process of hook reports with these lines. Of a process that was killed those that it got
// to are there.
const (
	lineDone   = "done %d\n"      // the version read, or committed so that it survives the death of the process
	lineClosed = "closed %d %d\n" // nanoseconds: opening with the wait for locks, the work and closing
	lineBusy   = "busy %d\n"      // nanoseconds: another process had the lock for too long, nothing was done
)

// hookHelper does the task that args say and reports it.
func hookHelper(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) error {
	t, err := parseHookTask(args)
	if err != nil {
		return err
	}
	if t.kill > 0 {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		armed := make(chan struct{})
		go killSelf(ctx, t.kill, armed)
		<-armed
	}
	if t.wait > 0 {
		if _, err := io.WriteString(stdout, lineReady); err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, stdin); err != nil {
			return err
		}
	}
	start := time.Now()
	run := t.inKV
	switch t.form {
	case stateForm:
		run = t.inState
	case plainForm:
		run = t.inPlain
	}
	begun, err := run(ctx, stdout)
	busy := errors.Is(err, kv.Busy)
	if err != nil && !busy {
		return err
	}
	if t.kill > 0 {
		dieNow() // it was faster than the kill
	}
	if busy {
		_, err = fmt.Fprintf(stdout, lineBusy, time.Since(start))
	} else {
		_, err = fmt.Fprintf(stdout, lineClosed, begun.Sub(start), time.Since(begun))
	}
	return err
}

// inKV opens the store, does t and closes it, and returns when its transaction had begun.
func (t hookTask) inKV(ctx context.Context, stdout io.Writer) (begun time.Time, err error) {
	db, err := kv.Open(ctx, t.url, t.options()...)
	if err != nil {
		return begun, err
	}
	begun, err = t.do(ctx, db, stdout)
	if cerr := db.Close(); cerr != nil {
		return begun, cerr
	}
	return begun, err
}

// do puts or gets, and returns when its transaction had begun.
func (t hookTask) do(ctx context.Context, db *kv.DB, stdout io.Writer) (begun time.Time, err error) {
	key := appendHookKey(nil, t.key)
	version := t.version
	if version == 0 {
		err = db.View(ctx, func(s *kv.Snapshot) error {
			begun = time.Now()
			value, err := s.Get(key)
			if err == nil {
				version, err = t.values.version(value, uint64(t.key))
			}
			return err
		})
	} else {
		err = db.Update(ctx, t.durability, func(tx *kv.Tx) error {
			begun = time.Now()
			return tx.Put(key, t.values.append(nil, uint64(t.key), version))
		})
		if db.Caps().Promise(t.durability).Class == kv.Buffered {
			return begun, err // acknowledged by Close only
		}
	}
	if err == nil {
		_, err = fmt.Fprintf(stdout, lineDone, version)
	}
	return begun, err
}

// killSelf kills the process after d, as by kill -9, unless ctx ends before. The process does that
// itself because another one cannot aim at so short a time: some engines open, work and close in a
// tenth of a millisecond. It closes armed when the time begins to run.
func killSelf(ctx context.Context, d time.Duration, armed chan<- struct{}) {
	const coarse = 2 * time.Millisecond // sleeping may end that late
	start := time.Now()
	close(armed)
	if d > coarse {
		time.Sleep(d - coarse)
	}
	for time.Since(start) < d {
		runtime.Gosched()
	}
	if ctx.Err() == nil {
		dieNow()
	}
}

func dieNow() {
	if p, err := os.FindProcess(os.Getpid()); err == nil && p.Kill() == nil {
		select {} // the end may take effect a little later
	}
}
