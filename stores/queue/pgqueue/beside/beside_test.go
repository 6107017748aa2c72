// Package beside measures pgqueue beside River, on one server in one run.
//
//	go test -run '^$' -bench . -benchtime 20000x
//
// Four processes with four workers each do the jobs, which do nothing; the clock runs from when
// they begin until none is left. The jobs are there before. River's FetchCooldown is the least that
// it allows: with its default, 100 ms, few workers wait most of the time.
package beside

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/assaydb/assay/engines/postgreskv/postgrestest"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/queue"
	"github.com/assaydb/assay/stores/queue/pgqueue"
)

const (
	processes = 4
	workers   = 4 // of each
	published = 1000
)

// childVariable names the one whose jobs a process is to do; the dsn is that of the tests.
const childVariable = "ASSAY_BESIDE_WORKER"

// contender is a queue.
type contender interface {
	publish(ctx context.Context, n int) error
	work(ctx context.Context) error // until ctx ends
	left(ctx context.Context) (int, error)
	close() error
}

var contenders = map[string]func(context.Context, *pgxpool.Pool) (contender, error){"pgqueue": newOurs, "river": newRiver}

func TestMain(m *testing.M) {
	if name := os.Getenv(childVariable); name != "" {
		if err := child(name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child says that it is ready, and works from when its input has a line until that ends.
func child(name string) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c, pool, err := open(ctx, name)
	if err != nil {
		return err
	}
	defer pool.Close()
	fmt.Println("ready")
	in := bufio.NewScanner(os.Stdin)
	in.Scan()
	go func() {
		in.Scan()
		cancel()
	}()
	return errors.Join(c.work(ctx), c.close())
}

func open(ctx context.Context, name string) (contender, *pgxpool.Pool, error) {
	pool, err := pgxpool.New(ctx, os.Getenv(postgrestest.Variable)+" pool_max_conns=8")
	if err != nil {
		return nil, nil, err
	}
	c, err := contenders[name](ctx, pool)
	return c, pool, err
}

// BenchmarkWork does b.N jobs.
func BenchmarkWork(b *testing.B) {
	s := postgrestest.Start(b)
	b.Setenv(postgrestest.Variable, s.DSN())
	for _, name := range []string{"pgqueue", "river"} {
		b.Run(name, func(b *testing.B) {
			ctx := b.Context()
			c, pool, err := open(ctx, name)
			if err != nil {
				b.Fatal(err)
			}
			defer pool.Close()
			if err := c.publish(ctx, b.N); err != nil {
				b.Fatal(err)
			}
			all := start(b, name)
			b.ResetTimer()
			for _, w := range all {
				fmt.Fprintln(w.in, "go")
			}
			for left := b.N; left > 0; {
				if left, err = c.left(ctx); err != nil {
					b.Fatal(err)
				}
				time.Sleep(20 * time.Millisecond)
			}
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
			for _, w := range all {
				w.in.Close()
				if err := w.cmd.Wait(); err != nil {
					b.Error(err)
				}
			}
			if err := c.close(); err != nil {
				b.Error(err)
			}
		})
	}
}

type process struct {
	cmd *exec.Cmd
	in  interface {
		Write([]byte) (int, error)
		Close() error
	}
}

// start returns processes that are ready to work.
func start(b *testing.B, name string) []process {
	b.Helper()
	all := make([]process, processes)
	for i := range all {
		cmd := exec.Command(os.Args[0])
		cmd.Env, cmd.Stderr = append(os.Environ(), childVariable+"="+name), os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			b.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = cmd.Process.Kill() })
		all[i] = process{cmd, in}
		if lines := bufio.NewScanner(out); !lines.Scan() {
			b.Fatal("a process did not start")
		}
	}
	return all
}

// ours is pgqueue.
type ours struct {
	store *queue.Store
	queue *queue.Queue
}

func newOurs(ctx context.Context, pool *pgxpool.Pool) (contender, error) {
	store, err := pgqueue.Open(ctx, pool, nil)
	if err != nil {
		return nil, err
	}
	q, err := store.Queue("work", nil)
	return &ours{store, q}, err
}

func (o *ours) publish(ctx context.Context, n int) error {
	for done := 0; done < n; done += published {
		if _, err := o.queue.Publish(ctx, kv.Synced, make([]queue.Draft, min(published, n-done))...); err != nil {
			return err
		}
	}
	return nil
}

func (o *ours) work(ctx context.Context) error {
	errs := make(chan error, workers)
	for range workers {
		go func() {
			errs <- o.queue.Work(ctx, kv.Synced, func(context.Context, queue.Job) error { return nil })
		}()
	}
	var err error
	for range workers {
		if werr := <-errs; !errors.Is(werr, kv.Canceled) {
			err = errors.Join(err, werr)
		}
	}
	return err
}

func (o *ours) left(ctx context.Context) (int, error) {
	c, err := o.queue.Counts(ctx)
	return c.Total(), err
}

func (o *ours) close() error { return o.store.Close() }

// theirs is River.
type theirs struct {
	pool   *pgxpool.Pool
	client *river.Client[pgx.Tx]
}

// nothing is the job of River's.
type nothing struct{}

// Kind is what River asks for.
func (nothing) Kind() string { return "nothing" }

type worker struct{ river.WorkerDefaults[nothing] }

// Work is what River calls.
func (*worker) Work(context.Context, *river.Job[nothing]) error { return nil }

func newRiver(ctx context.Context, pool *pgxpool.Pool) (contender, error) {
	driver := riverpgxv5.New(pool)
	migrator, err := rivermigrate.New(driver, nil)
	if err == nil {
		_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	}
	if err != nil {
		return nil, err
	}
	all := river.NewWorkers()
	river.AddWorker(all, &worker{})
	client, err := river.NewClient(driver, &river.Config{Workers: all, FetchCooldown: river.FetchCooldownMin,
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: workers}}})
	return &theirs{pool, client}, err
}

func (r *theirs) publish(ctx context.Context, n int) error {
	for done := 0; done < n; done += published {
		jobs := make([]river.InsertManyParams, min(published, n-done))
		for i := range jobs {
			jobs[i].Args = nothing{}
		}
		if _, err := r.client.InsertMany(ctx, jobs); err != nil {
			return err
		}
	}
	return nil
}

func (r *theirs) work(ctx context.Context) error {
	if err := r.client.Start(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	<-ctx.Done()
	return r.client.Stop(context.WithoutCancel(ctx))
}

func (r *theirs) left(ctx context.Context) (n int, err error) {
	err = r.pool.QueryRow(ctx, "SELECT count(*) FROM river_job WHERE state <> 'completed'").Scan(&n)
	return n, err
}

func (r *theirs) close() error { return nil }
