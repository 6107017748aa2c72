// Package observe tells what a store does while a program runs: how often each operation ran, how
// long it took and how it ended, which were slow, what they waited for, what is held for long, how
// large the store is, and whether anybody else writes to it.
//
//	o := observe.New(nil)
//	db, err := kv.Open(ctx, url, kv.WithTracer(o))
//	...
//	http.Handle("/debug/store", o)
//
// It works on every engine behind kv. [Observer.Figures] returns all figures as data;
// [Observer.Listen] serves them to assay watch, observe/prometheus to Prometheus, and observe/otel
// to OpenTelemetry, with spans. docs/observe.md says what each figure means and what it costs.
package observe

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/assaydb/assay/kv"
)

// Options say what is told of, and when. The zero value is ready to use.
type Options struct {
	// Logger receives slow operations, what is held for long, and commits of others, as warnings.
	// Nil is nobody; figures hold them in any case.
	Logger *slog.Logger

	// Slow is how long an operation or a wait takes that is told of: 0 is 100 ms, less than 0
	// never.
	Slow time.Duration

	// Long is how long a view, an update, or a held snapshot or transaction lasts that is told of,
	// while it still lasts: 0 is 10 s. Less than 0 keeps no list of what is running, which saves an
	// allocation for each.
	Long time.Duration

	// Every is how often the store is looked at: 0 is 10 s, less than 0 only when figures are asked
	// for. A look never takes more than a fiftieth of the time.
	Every time.Duration

	// Where has views and transactions keep the stack that began them, which costs about a
	// microsecond for each.
	Where bool
}

// Observer counts what one store does. It is a [kv.Watcher]: give it to kv.Open by kv.WithTracer.
// Its methods may be called concurrently.
type Observer struct {
	ops     [32]operation // by their place in ops; what is behind stays empty
	options Options
	slow    time.Duration
	long    time.Duration
	running registry
	recent  recent
	sampler sampler
}

var (
	_ kv.Watcher = (*Observer)(nil)
	_ kv.Timer   = (*Observer)(nil)
)

// New returns an observer of one store. Nil options are the defaults.
func New(options *Options) *Observer {
	o := new(Observer)
	if options != nil {
		o.options = *options
	}
	o.slow = orDefault(o.options.Slow, 100*time.Millisecond)
	o.long = orDefault(o.options.Long, 10*time.Second)
	if o.options.Logger == nil {
		o.options.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

const never = time.Duration(1<<63 - 1)

func orDefault(d, otherwise time.Duration) time.Duration {
	switch {
	case d < 0:
		return never
	case d == 0:
		return otherwise
	}
	return d
}

// Start is called by kv where there are other tracers, too.
func (o *Observer) Start(ctx context.Context, op string) context.Context {
	if i := opOf(op); i >= 0 && i <= lastRunning && o.long != never {
		return o.running.add(ctx, o, op)
	}
	return ctx
}

// End is called by kv after Start.
func (o *Observer) End(ctx context.Context, e kv.Event) {
	if i := opOf(e.Op); i >= 0 { // another one is of a later kv
		o.end(ctx, i, &e, 1)
	}
}

// Begin is called by kv. What began holds the time in ns since epoch, the operation, and a bit that
// is set if the time is exact.
func (o *Observer) Begin(ctx context.Context, op string) (within context.Context, began int64) {
	i := opOf(op)
	if i < 0 {
		return ctx, -1
	}
	if i <= lastRunning && o.long != never {
		ctx = o.running.add(ctx, o, op)
	}
	p := &o.ops[i]
	if now := p.now.Load(); now != 0 && p.quick.Load() && (!p.due.Load() || !p.due.Swap(false)) {
		return ctx, now<<6 | int64(i)<<1
	}
	return ctx, int64(time.Since(epoch))<<6 | int64(i)<<1 | 1
}

// Finish is called by kv after Begin.
func (o *Observer) Finish(ctx context.Context, began int64, e kv.Event) {
	if began < 0 {
		return
	}
	i := int(began >> 1 & 31)
	p := &o.ops[i]
	if began&1 == 0 {
		e.Took = time.Duration(max(p.now.Load()-began>>6, 0))
		o.end(ctx, i, &e, 0)
		return
	}
	e.Took = time.Since(epoch) - time.Duration(began>>6)
	weight := int64(1)
	if i >= firstQuick && i <= lastQuick && o.slow >= 10*tick {
		if p.quick.Load() && p.now.Load() != 0 {
			weight = oneOf
		}
		p.note(e.Took)
	}
	o.end(ctx, i, &e, weight)
}

// end counts operation i. Its weight is how many its latency stands for, 0 if that is only roughly
// known.
func (o *Observer) end(ctx context.Context, i int, e *kv.Event, weight int64) {
	p := &o.ops[i&31]
	c := p.counters[e.Durability&3].Load()
	if c == nil {
		c = p.first(e.Durability)
	}
	if c.count(e, weight) {
		p.due.Store(true)
	}
	if i <= lastRunning && o.long != never {
		o.running.remove(ctx, o)
	}
	if e.Took >= o.slow && (i > lastHeld || e.Took >= o.long) {
		o.tellSlow(ctx, e)
	}
	if i == opClose {
		o.sampler.end()
	}
}

// setClock has the rough clock show now, in ns since epoch; 0 is that nobody keeps it.
func (o *Observer) setClock(now int64) {
	for i := range o.ops {
		o.ops[i].now.Store(now)
	}
}

// Watch is called by kv once the store is open.
func (o *Observer) Watch(db *kv.DB) {
	o.sampler.begin(db)
	every := orDefault(o.options.Every, 10*time.Second)
	if every == never {
		return
	}
	o.sampler.start(func(stop <-chan struct{}) {
		defer o.setClock(0)
		clock := time.NewTicker(min(tick, every))
		defer clock.Stop()
		o.look()
		for looked := time.Now(); ; {
			select {
			case <-stop:
				return
			case now := <-clock.C:
				o.setClock(int64(time.Since(epoch)))
				if now.Sub(looked) >= every {
					looked = now
					o.look()
				}
			}
		}
	})
}

// Close ends the looks at the store, and waits for one that is running. The store's own Close ends
// them too, without waiting.
func (o *Observer) Close() {
	o.sampler.end()
	o.sampler.wait()
}

// look samples the store, and tells of what lasts for long.
func (o *Observer) look() {
	if found := o.sampler.look(); found != "" {
		o.warn("another process changed the store", slog.String("change", found))
	}
	for _, r := range o.running.oldest(longest, o.long) {
		if r.told.CompareAndSwap(false, true) {
			o.warn("held for long", slog.String("op", r.op), slog.Duration("for", r.age()),
				slog.Any("where", r.frames()))
		}
	}
}

// warn logs, with the store's name once it is open.
func (o *Observer) warn(text string, attributes ...slog.Attr) {
	if engine, path := o.sampler.name(); engine != "" { // it is not known before the store is open
		attributes = append(attributes, slog.String("engine", engine), slog.String("path", path))
	}
	o.options.Logger.LogAttrs(context.Background(), slog.LevelWarn, text, attributes...)
}

// recent are the last slow operations.
type recent struct {
	mu    sync.Mutex
	total int64
	ring  [32]Slow
}

// list returns them, the oldest first.
func (r *recent) list() (all []Slow, total int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for n := max(r.total-int64(len(r.ring)), 0); n < r.total; n++ {
		all = append(all, r.ring[n%int64(len(r.ring))])
	}
	return all, r.total
}

func (r *recent) add(s Slow) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ring[r.total%int64(len(r.ring))] = s
	r.total++
}

func (o *Observer) tellSlow(ctx context.Context, e *kv.Event) {
	s := Slow{Op: e.Op, Class: classOf(opOf(e.Op), e.Durability), Ended: time.Now(), Took: e.Took,
		Pairs: e.Pairs, Bytes: e.Bytes}
	if e.Err != nil {
		s.Err = e.Err.Error()
	}
	if r := o.running.of(ctx, o); r != nil {
		if s.Within = r.op; r.op == e.Op {
			s.Within = ""
		}
		s.Where = r.frames()
	}
	o.recent.add(s)
	attributes := []slog.Attr{slog.String("op", s.Op), slog.Duration("took", s.Took)}
	if s.Class != "" {
		attributes = append(attributes, slog.String("class", s.Class))
	}
	if s.Within != "" {
		attributes = append(attributes, slog.String("within", s.Within))
	}
	if s.Pairs > 0 {
		attributes = append(attributes, slog.Int("pairs", s.Pairs), slog.Int("bytes", s.Bytes))
	}
	if s.Err != "" {
		attributes = append(attributes, slog.String("err", s.Err))
	}
	if s.Where != nil {
		attributes = append(attributes, slog.Any("where", s.Where))
	}
	o.warn("slow", attributes...)
}
