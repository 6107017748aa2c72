package drivertest

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// recorder is a T that records what a case says instead of failing the test.
type recorder struct {
	name     string
	t        *testing.T
	mu       sync.Mutex
	failed   bool
	skipped  bool
	log      []string
	cleanups []func()
}

var _ T = (*recorder)(nil)

// record runs the case and returns what it said.
func record(t *testing.T, s *suite, c tcase) *recorder {
	r := &recorder{name: t.Name() + "/" + c.name, t: t}
	r.run(func() { s.run(r, c) })
	return r
}

// run runs fn as a test would: in a goroutine that may leave early, clean-ups last. A panic is a
// failure.
func (r *recorder) run(fn func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer r.clean()
		defer func() {
			if p := recover(); p != nil {
				r.Errorf("panic: %v", p)
			}
		}()
		fn()
	}()
	<-done
}

func (r *recorder) clean() {
	for len(r.cleanups) > 0 {
		last := len(r.cleanups) - 1
		fn := r.cleanups[last]
		r.cleanups = r.cleanups[:last]
		fn()
	}
}

func (r *recorder) write(s string, failed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log, r.failed = append(r.log, s), r.failed || failed
}

func (r *recorder) leave() { runtime.Goexit() }

func (r *recorder) Helper()                   {}
func (r *recorder) Name() string              { return r.name }
func (r *recorder) Log(args ...any)           { r.write(fmt.Sprintln(args...), false) }
func (r *recorder) Logf(f string, a ...any)   { r.write(fmt.Sprintf(f, a...), false) }
func (r *recorder) Error(args ...any)         { r.write(fmt.Sprintln(args...), true) }
func (r *recorder) Errorf(f string, a ...any) { r.write(fmt.Sprintf(f, a...), true) }
func (r *recorder) Fail()                     { r.write("fail", true) }
func (r *recorder) FailNow()                  { r.Fail(); r.leave() }
func (r *recorder) Fatal(args ...any)         { r.Error(args...); r.leave() }
func (r *recorder) Fatalf(f string, a ...any) { r.Errorf(f, a...); r.leave() }
func (r *recorder) SkipNow()                  { r.skipped = true; r.leave() }
func (r *recorder) Skip(args ...any)          { r.Log(args...); r.SkipNow() }
func (r *recorder) Skipf(f string, a ...any)  { r.Logf(f, a...); r.SkipNow() }
func (r *recorder) Cleanup(fn func())         { r.cleanups = append(r.cleanups, fn) }

func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

func (r *recorder) TempDir() string {
	dir, err := os.MkdirTemp(r.t.TempDir(), "case")
	if err != nil {
		r.Fatal(err)
	}
	return dir
}

func (r *recorder) said() string { return clipString(strings.Join(r.log, "\n")) }
