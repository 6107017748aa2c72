// Package beside measures pgqueue beside River, on one server in one run, and beside the same queue
// in a file of SQLite on the same disk: over kv, and in tables of its own.
//
//	go test -run '^$' -bench . -benchtime 10000x
//
// Four processes with four workers each do the jobs, which do nothing; the clock runs from when
// they begin until none is left. The jobs are there before, and the server has just been vacuumed.
// They take turns, several times. All commits are synced. River looks for jobs as often as it can:
// with its defaults few workers wait most of the time.
package beside

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/assaydb/assay/engines/postgreskv/postgrestest"
	_ "github.com/assaydb/assay/engines/sqlitekv"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/queue"
	"github.com/assaydb/assay/stores/queue/pgqueue"
	"github.com/assaydb/assay/stores/queue/sqlqueue"
)

const (
	processes = 4
	workers   = 4 // of each
	published = 1000
)

// childVariable names the one whose jobs a process is to do; the dsn is that of the tests.
const childVariable = "ASSAY_BESIDE_WORKER"

// fileVariable names the file of SQLite.
const fileVariable = "ASSAY_BESIDE_FILE"

// contender is a queue.
type contender interface {
	publish(ctx context.Context, n int) error
	work(ctx context.Context) error         // until ctx ends
	done(ctx context.Context) (bool, error) // all jobs
	close() error
}

var names = []string{"pgqueue", "river", "sqlite", "sqlqueue"}

var contenders = map[string]func(context.Context, *pgxpool.Pool) (contender, error){"pgqueue": newOurs, "river": newRiver,
	"sqlite": newOnKV, "sqlqueue": newFile}

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

// rounds is how often each is measured. Who begins changes.
const rounds = 8

// student is the 97.5 % quantile of Student's distribution for as many rounds.
const student = 2.365

// BenchmarkWork does b.N jobs by each in each round. It reports jobs per second, and how many times
// as many those of pgqueue are: the geometric mean, and its 95 % interval.
func BenchmarkWork(b *testing.B) {
	s := postgrestest.Start(b)
	b.Setenv(postgrestest.Variable, s.DSN())
	b.Setenv(fileVariable, filepath.Join(b.TempDir(), "queue.db"))
	perSecond := map[string][]float64{}
	for round := range rounds {
		for i := range names {
			name := names[(i+round)%len(names)]
			perSecond[name] = append(perSecond[name], float64(b.N)/work(b, name).Seconds())
		}
	}
	b.ReportMetric(0, "ns/op")
	ours := perSecond["pgqueue"]
	for _, name := range names {
		theirs := perSecond[name]
		b.ReportMetric(mean(theirs), name+"-jobs/s")
		if name == "pgqueue" {
			continue
		}
		ratios := make([]float64, rounds)
		for i := range ratios {
			ratios[i] = ours[i] / theirs[i]
		}
		times, within := mean(ratios), within(ratios)
		b.ReportMetric(times, "x-"+name)
		b.ReportMetric(times/within, "x-"+name+"-low")
		b.ReportMetric(times*within, "x-"+name+"-high")
	}
}

// within returns the factor by which the 95 % interval of the geometric mean goes to both sides.
func within(all []float64) float64 {
	sum, middle := 0.0, math.Log(mean(all))
	for _, x := range all {
		sum += (math.Log(x) - middle) * (math.Log(x) - middle)
	}
	n := float64(len(all))
	return math.Exp(student * math.Sqrt(sum/(n-1)/n))
}

// mean is the geometric mean.
func mean(all []float64) float64 {
	sum := 0.0
	for _, x := range all {
		sum += math.Log(x)
	}
	return math.Exp(sum / float64(len(all)))
}

// work returns how long b.N jobs take.
func work(b *testing.B, name string) time.Duration {
	b.Helper()
	ctx := b.Context()
	must := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(name, err)
		}
	}
	c, pool, err := open(ctx, name)
	must(err)
	defer pool.Close()
	must(c.publish(ctx, b.N))
	for _, text := range []string{"VACUUM ANALYZE", "CHECKPOINT"} {
		_, err := pool.Exec(ctx, text)
		must(err)
	}
	all := start(b, name)
	began := time.Now()
	for _, w := range all {
		fmt.Fprintln(w.in, "go")
	}
	for done := false; !done; {
		time.Sleep(20 * time.Millisecond)
		done, err = c.done(ctx)
		must(err)
	}
	took := time.Since(began)
	for _, w := range all {
		w.in.Close()
		must(w.cmd.Wait())
	}
	must(c.close())
	return took
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

// ours is a queue of stores/queue.
type ours struct {
	store *queue.Store
	queue *queue.Queue
	under io.Closer // what the store does not close, or nil
}

func newOurs(ctx context.Context, pool *pgxpool.Pool) (contender, error) {
	return ofStore(pgqueue.Open(ctx, pool, nil))
}

func newFile(ctx context.Context, _ *pgxpool.Pool) (contender, error) {
	return ofStore(sqlqueue.Open(ctx, os.Getenv(fileVariable), nil))
}

func newOnKV(ctx context.Context, _ *pgxpool.Pool) (contender, error) {
	db, err := kv.Open(ctx, "sqlite:"+os.Getenv(fileVariable)+".kv", kv.WithMode(kv.Shared))
	if err != nil {
		return nil, err
	}
	c, err := ofStore(queue.New(db, nil))
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	c.(*ours).under = db
	return c, nil
}

func ofStore(store *queue.Store, err error) (contender, error) {
	if err != nil {
		return nil, err
	}
	q, err := store.Queue("work", nil)
	return &ours{store: store, queue: q}, err
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

func (o *ours) done(ctx context.Context) (bool, error) {
	c, err := o.queue.Counts(ctx)
	return c.Total() == 0, err
}

func (o *ours) close() error {
	err := o.store.Close()
	if o.under != nil {
		err = errors.Join(err, o.under.Close())
	}
	return err
}

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

// pollInterval is that of River's own benchmark.
const pollInterval = 20 * time.Millisecond

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
		FetchPollInterval: pollInterval,
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: workers}}})
	return &theirs{pool, client}, err
}

// publish first removes the jobs of the round before, which River keeps.
func (r *theirs) publish(ctx context.Context, n int) error {
	if _, err := r.pool.Exec(ctx, "TRUNCATE river_job"); err != nil {
		return err
	}
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

func (r *theirs) done(ctx context.Context) (done bool, err error) {
	err = r.pool.QueryRow(ctx, "SELECT count(*) = 0 FROM river_job WHERE state <> 'completed'").Scan(&done)
	return done, err
}

func (r *theirs) close() error { return nil }
