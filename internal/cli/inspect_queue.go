package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/queue"
	"github.com/assaydb/assay/stores/queue/sqlqueue"
)

// sqlQueue is the scheme of queues that package sqlqueue keeps.
const sqlQueue = "sqlqueue:"

// queueFlags are those of the verbs queues and jobs.
type queueFlags struct {
	namespace string
	state     string
	requeue   bool
	delete    bool
	all       bool
	limit     int
	asJSON    bool
}

// queueTask is what is to be done with the queues of a store.
type queueTask struct {
	queueFlags
	queue  string        // "" for the verb queues
	ids    []uint64      // none for all
	states []queue.State // in which to look
}

// isQueueVerb reports whether a verb is about queues.
func isQueueVerb(args []string) bool {
	return len(args) > 0 && (args[0] == "queues" || args[0] == "jobs")
}

// queueTask checks verb, operands and flags.
func (f queueFlags) task(args []string) (t queueTask, err error) {
	t = queueTask{queueFlags: f, states: queue.States}
	if args[0] == "queues" {
		if len(args) > 1 || f.requeue || f.delete || f.all || f.state != "" {
			return t, usage(errors.New("queues takes no operand, and no flag but --namespace and --json"),
				"for the jobs of one: jobs QUEUE")
		}
		return t, nil
	}
	if len(args) < 2 || args[1] == "" {
		return t, usage(errors.New("jobs was given no queue"), "list them with: queues")
	}
	t.queue = args[1]
	for _, arg := range args[2:] {
		id, err := strconv.ParseUint(arg, 10, 64)
		if err != nil {
			return t, usage(fmt.Errorf("%q is no id of a job", arg), "give the number that the list of jobs shows")
		}
		t.ids = append(t.ids, id)
	}
	if f.state != "" {
		if t.states, err = stateNamed(f.state); err != nil {
			return t, err
		}
	}
	return t, t.checkChange()
}

func stateNamed(name string) ([]queue.State, error) {
	var names []string
	for _, s := range queue.States {
		if s.String() == name {
			return []queue.State{s}, nil
		}
		names = append(names, s.String())
	}
	return nil, usage(fmt.Errorf("unknown state %q", name), "use %s", strings.Join(names, ", "))
}

// checkChange refuses what may change more than was meant.
func (t *queueTask) checkChange() error {
	switch {
	case t.requeue && t.delete:
		return usage(errors.New("--requeue and --delete exclude each other"), "use one of them")
	case t.all && !t.requeue && !t.delete:
		return usage(errors.New("--all says nothing without --requeue or --delete"), "without them all jobs are shown")
	case (t.requeue || t.delete) && t.all == (len(t.ids) > 0):
		return usage(errors.New("a change needs ids, or --all"), "list the jobs first, then give their ids")
	case len(t.ids) > 0 && t.state != "":
		return usage(errors.New("--state and ids exclude each other"), "leave one of them out")
	case t.requeue && t.state != "" && t.state != queue.Dead.String():
		return usage(errors.New("only dead jobs can be requeued"), "leave --state out")
	case t.delete && t.all && t.state == "":
		return usage(errors.New("--delete --all needs a --state"), "for example: --state dead")
	}
	return nil
}

// refused is the error of flags that are given with a verb that is not about queues.
func (f queueFlags) refused() error {
	if f.state != "" || f.requeue || f.delete || f.all {
		return usage(errors.New("--state, --requeue, --delete and --all are about jobs"), "see: assay inspect --help")
	}
	return nil
}

// inspectQueues opens the queues that a URL names and does the task.
func (a *app) inspectQueues(ctx context.Context, rawURL string, t queueTask) (err error) {
	store, class, closeAll, err := a.openQueues(ctx, rawURL, t)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	if t.queue == "" {
		return a.showQueues(ctx, store, t)
	}
	names, err := namesOf(ctx, store)
	if err != nil {
		return err
	}
	if !slices.Contains(names, t.queue) {
		return &kv.Error{Op: "jobs", Kind: kv.NotFound, Err: fmt.Errorf("no queue %q had a job yet", t.queue),
			Hint: "list those that had with: queues; queues in a namespace need --namespace"}
	}
	q, err := store.Queue(t.queue, nil)
	if err != nil {
		return err
	}
	switch {
	case t.requeue:
		return a.changeJobs(ctx, q, t, "requeued", []queue.State{queue.Dead},
			func(ids []uint64) error { return q.Requeue(ctx, class, ids...) })
	case t.delete:
		return a.changeJobs(ctx, q, t, "deleted", t.states, func(ids []uint64) error {
			return q.Delete(ctx, class,
				ids...)
		})
	}
	return a.showJobs(ctx, q, t)
}

// openQueues opens the queues of a store that is there, to be changed only if the task says so.
func (a *app) openQueues(ctx context.Context, rawURL string, t queueTask) (*queue.Store, kv.Durability, func() error,
	error) {
	if path, ok := strings.CutPrefix(rawURL, sqlQueue); ok {
		store, err := sqlqueue.Open(ctx, path, &sqlqueue.Options{Existing: true})
		if err != nil {
			return nil, 0, nil, err
		}
		return store, kv.Synced, store.Close, nil
	}
	prefix, err := parseKey(t.namespace)
	if err != nil {
		return nil, 0, nil, err
	}
	db, err := a.openExisting(ctx, rawURL, t.requeue || t.delete)
	if err != nil {
		return nil, 0, nil, err
	}
	at := db
	if len(prefix) > 0 {
		at = db.Namespace(prefix)
	}
	store, err := queue.New(at, nil)
	if err != nil {
		return nil, 0, nil, errors.Join(err, db.Close())
	}
	return store, db.Caps().Strongest(), func() error { return errors.Join(store.Close(), db.Close()) }, nil
}

// queueCounts is a queue as --json shows it.
type queueCounts struct {
	Name    string `json:"name"`
	Ready   int    `json:"ready"`
	Delayed int    `json:"delayed"`
	Claimed int    `json:"claimed"`
	Dead    int    `json:"dead"`
}

// namesOf returns the names of the queues that had a job.
func namesOf(ctx context.Context, store *queue.Store) ([]string, error) {
	names, err := store.Queues(ctx)
	if kv.KindOf(err) == kv.Corrupt {
		err = &kv.Error{Op: "queues", Kind: kv.Corrupt, Err: err,
			Hint: "other keys here may begin as those of queues do; queues in a namespace need --namespace"}
	}
	return names, err
}

func (a *app) showQueues(ctx context.Context, store *queue.Store, t queueTask) error {
	names, err := namesOf(ctx, store)
	if err != nil {
		return err
	}
	list := []queueCounts{}
	for _, name := range names {
		q, err := store.Queue(name, nil)
		if err != nil {
			return err
		}
		c, err := q.Counts(ctx)
		if err != nil {
			return err
		}
		list = append(list, queueCounts{name, c.Ready, c.Delayed, c.Claimed, c.Dead})
	}
	if t.asJSON {
		return writeJSON(a.stdout, map[string]any{"queues": list})
	}
	if len(list) == 0 {
		fmt.Fprintln(a.stderr, "no queue had a job yet; queues in a namespace need --namespace")
		return nil
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "queue\tready\tdelayed\tclaimed\tdead")
	for _, q := range list {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\n", q.Name, q.Ready, q.Delayed, q.Claimed, q.Dead)
	}
	return w.Flush()
}

// findJobs returns the jobs that the task is about, at most limit.
func findJobs(ctx context.Context, q *queue.Queue, t queueTask, states []queue.State, limit int) (jobs []queue.Job,
	err error) {
	for _, id := range t.ids {
		job, err := q.Find(ctx, id)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, job)
	}
	if len(t.ids) > 0 {
		return jobs, nil
	}
	for _, state := range states {
		if len(jobs) == limit {
			break
		}
		more, err := q.List(ctx, state, limit-len(jobs))
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, more...)
	}
	return jobs, nil
}

// changeJobs changes the jobs of the task by fn, as many at a time as a call may have, and says
// which.
func (a *app) changeJobs(ctx context.Context, q *queue.Queue, t queueTask, done string, states []queue.State,
	fn func([]uint64) error) error {
	changed := []uint64{}
	for first := true; first || t.all; first = false {
		ids := t.ids
		if t.all {
			jobs, err := findJobs(ctx, q, t, states, 1000)
			if err != nil {
				return err
			}
			ids = nil
			for _, job := range jobs {
				ids = append(ids, job.ID)
			}
		}
		if len(ids) == 0 {
			break
		}
		if err := fn(ids); err != nil {
			return err
		}
		changed = append(changed, ids...)
	}
	if t.asJSON {
		return writeJSON(a.stdout, map[string]any{"queue": q.Name(), done: changed})
	}
	_, err := fmt.Fprintf(a.stdout, "%s %d jobs\n", done, len(changed))
	return err
}

// jobShown is a job as --json shows it.
type jobShown struct {
	ID          uint64          `json:"id"`
	State       string          `json:"state"`
	Priority    int8            `json:"priority"`
	Attempts    int             `json:"attempts"`
	MaxAttempts int             `json:"max_attempts,omitempty"`
	Timeout     string          `json:"timeout,omitempty"`
	Key         string          `json:"key,omitempty"`
	CreatedAt   time.Time       `json:"created_at"`
	VisibleAt   time.Time       `json:"visible_at"`
	Payload     *string         `json:"payload,omitempty"`        // if it is UTF-8
	Bytes       []byte          `json:"payload_base64,omitempty"` // otherwise
	Failures    []queue.Failure `json:"failures,omitempty"`
}

func shown(job queue.Job) jobShown {
	j := jobShown{ID: job.ID, State: job.State.String(), Priority: job.Priority, Attempts: job.Attempts,
		MaxAttempts: job.MaxAttempts(),
		CreatedAt:   job.CreatedAt, VisibleAt: job.VisibleAt, Failures: job.Failures()}
	j.Key, _ = job.Key()
	if timeout := job.Timeout(); timeout > 0 {
		j.Timeout = timeout.String()
	}
	if text := string(job.Payload); utf8.ValidString(text) {
		j.Payload = &text
	} else {
		j.Bytes = job.Payload
	}
	return j
}

// mostShown is how many jobs are shown where --limit does not say.
const mostShown = 20

func (a *app) showJobs(ctx context.Context, q *queue.Queue, t queueTask) error {
	limit := cmp.Or(t.limit, mostShown)
	jobs, err := findJobs(ctx, q, t, t.states, limit)
	if err != nil {
		return err
	}
	list := []jobShown{}
	for _, job := range jobs {
		list = append(list, shown(job))
	}
	if t.asJSON {
		return writeJSON(a.stdout, map[string]any{"queue": q.Name(), "jobs": list})
	}
	if len(t.ids) > 0 {
		return printJobs(a.stdout, jobs)
	}
	if err := listJobs(a.stdout, jobs); err != nil {
		return err
	}
	if len(jobs) == limit {
		fmt.Fprintf(a.stderr, "there may be more than these %d: --limit shows as many as it says\n", limit)
	}
	return nil
}

// listJobs prints a line for each job.
func listJobs(w io.Writer, jobs []queue.Job) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "id\tstate\tattempts\tsince or until\tpayload\tlast error")
	for _, job := range jobs {
		last := ""
		if all := job.Failures(); len(all) > 0 {
			last = short(all[len(all)-1].Error)
		}
		fmt.Fprintf(t, "%d\t%v\t%d\t%s\t%s\t%s\n", job.ID, job.State, job.Attempts, job.VisibleAt.Format(time.RFC3339),
			short(string(job.Payload)), last)
	}
	return t.Flush()
}

// short returns the beginning of a text, quoted.
func short(text string) string {
	const most = 40
	if len(text) > most {
		return fmt.Sprintf("%q...", strings.ToValidUTF8(text[:most], ""))
	}
	return strconv.Quote(text)
}

// printJobs prints all that is known of each job.
func printJobs(w io.Writer, jobs []queue.Job) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i, job := range jobs {
		if i > 0 {
			fmt.Fprintln(t)
		}
		fmt.Fprintf(t, "id\t%d\nstate\t%v\npriority\t%d\nattempts\t%d\n", job.ID, job.State, job.Priority, job.Attempts)
		fmt.Fprintf(t, "published\t%s\nsince or until\t%s\n", job.CreatedAt.Format(time.RFC3339Nano),
			job.VisibleAt.Format(time.RFC3339Nano))
		switch {
		case job.MaxAttempts() == queue.NoLimit:
			fmt.Fprintln(t, "max attempts\tno limit")
		case job.MaxAttempts() > 0:
			fmt.Fprintf(t, "max attempts\t%d\n", job.MaxAttempts())
		}
		if timeout := job.Timeout(); timeout > 0 {
			fmt.Fprintf(t, "timeout\t%v\n", timeout)
		}
		if key, _ := job.Key(); key != "" {
			fmt.Fprintf(t, "key\t%q\n", key)
		}
		fmt.Fprintf(t, "payload\t%q\n", job.Payload)
		for _, f := range job.Failures() {
			fmt.Fprintf(t, "attempt %d\t%s %q\n", f.Attempt, f.At.Format(time.RFC3339), f.Error)
		}
	}
	return t.Flush()
}
