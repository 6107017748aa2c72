package observe

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// registry lists the views and transactions that are running. It is in parts, so that those who
// begin side by side seldom meet.
type registry struct {
	parts [16]struct {
		mu    sync.Mutex
		first *running
		_     [48]byte // to a cache line of its own
	}
}

// running is a view or transaction, and the context of what runs inside it.
type running struct {
	context.Context
	of         *Observer
	op         string
	began      time.Duration // since epoch, roughly
	stack      []uintptr
	told       atomic.Bool
	part       uint32
	ended      bool
	prev, next *running
}

// epoch is what began counts from: the time since then costs one look at the clock.
var epoch = time.Now()

// Value finds r by its observer, which is the innermost one.
func (r *running) Value(key any) any {
	if key == any(r.of) {
		return r
	}
	return r.Context.Value(key)
}

func (r *running) age() time.Duration { return time.Since(epoch) - r.began }

// roughly is the time since epoch, a tick ago at most.
func (o *Observer) roughly() time.Duration {
	if now := o.ops[0].now.Load(); now != 0 {
		return time.Duration(now)
	}
	return time.Since(epoch)
}

func (g *registry) add(ctx context.Context, o *Observer, op string) context.Context {
	r := &running{Context: ctx, of: o, op: op, began: o.roughly(), part: rand.Uint32() % uint32(len(g.parts))}
	if o.options.Where {
		r.stack = make([]uintptr, 32)
		r.stack = r.stack[:runtime.Callers(3, r.stack)]
	}
	p := &g.parts[r.part]
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.next = p.first; r.next != nil {
		r.next.prev = r
	}
	p.first = r
	return r
}

// of returns the innermost one that ctx is inside of, nil if there is none.
func (g *registry) of(ctx context.Context, o *Observer) *running {
	r, _ := ctx.Value(o).(*running)
	return r
}

// remove takes out the one that ctx was made for.
func (g *registry) remove(ctx context.Context, o *Observer) {
	r := g.of(ctx, o)
	if r == nil {
		return
	}
	p := &g.parts[r.part]
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.ended {
		return
	}
	r.ended = true
	if r.prev != nil {
		r.prev.next = r.next
	} else {
		p.first = r.next
	}
	if r.next != nil {
		r.next.prev = r.prev
	}
	r.prev, r.next = nil, nil
}

// longest is how many are listed.
const longest = 32

// oldest returns those that began at least age ago, the oldest first, at most n.
func (g *registry) oldest(n int, age time.Duration) (list []*running) {
	for i := range g.parts {
		p := &g.parts[i]
		p.mu.Lock()
		for r := p.first; r != nil; r = r.next {
			if r.age() >= age {
				list = append(list, r)
			}
		}
		p.mu.Unlock()
	}
	slices.SortFunc(list, func(a, b *running) int { return cmp.Compare(a.began, b.began) })
	return list[:min(n, len(list))]
}

// frames tells the stack that began r, without the functions of this package and of kv.
func (r *running) frames() (list []string) {
	if len(r.stack) == 0 {
		return nil
	}
	frames := runtime.CallersFrames(r.stack)
	for {
		f, more := frames.Next()
		if f.Function != "" && !strings.HasPrefix(f.Function, "github.com/assaydb/assay/kv.") &&
			!strings.HasPrefix(f.Function, "runtime.") {
			list = append(list, fmt.Sprintf("%s %s:%d", f.Function, f.File, f.Line))
		}
		if !more {
			return list
		}
	}
}
