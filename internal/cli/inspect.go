package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/detect"
	"github.com/assaydb/assay/transfer"
)

// inspectFlags are those of inspect.
type inspectFlags struct {
	queueFlags
	scanFlags
}

// verb is what inspect can do with a store.
type verb struct {
	name    string
	operand string // what it takes, as the usage shows it
	least   int    // operands
	most    int    // operands; -1 is any number
	about   string
	changes bool // opens the store for writing
	run     func(a *app, ctx context.Context, db *kv.DB, operands []string, f inspectFlags) error
}

// verbs are those that open a store by kv.
func verbs() []verb {
	return []verb{
		{"stats", "", 0, 0, "pairs, bytes, space on disk and settings (the default)", false, (*app).showStats},
		{"check", "", 0, 0, "the engine's own check of the stored data", false, (*app).check},
		{"get", "KEY", 1, 1, "the value of a key, as it is", false, (*app).get},
		{"scan", "[PREFIX]", 0, 1, "pairs in the order of their keys, quoted", false, (*app).scan},
		{"sizes", "[PREFIX]", 0, 1, "how many keys and values there are of which size", false, (*app).sizes},
		{"streams", "[PREFIX]", 0, 1, "the streams of an event log, and how many events they have", false,
			(*app).streams},
		{"events", "[STREAM]", 0, 1, "the events of a log, or of one of its streams", false, (*app).events},
		{"subscriptions", "", 0, 0, "how far those who follow a log have come, and what they have parked", false,
			(*app).subscriptions},
		{"collections", "", 0, 0, "collections of records: fields, indexes, how many records", false,
			(*app).collections},
		{"records", "[COLLECTION]", 0, 1, "the records of a collection, a line of JSON for each", false, (*app).records},
		{"buckets", "", 0, 0, "the buckets of a file of stores/state: entries, ages, damage", false, (*app).buckets},
		{"entries", "BUCKET [PREFIX]", 1, 2, "the entries of a bucket: key, when it was written, value", false,
			(*app).stateEntries},
		{"browse", "[PREFIX]", 0, 1, "pairs in the terminal, to walk through", false, (*app).browse},
		{"backup", "PATH", 1, 1, "a consistent copy at PATH, which does not exist", false, (*app).backup},
		{"put", "KEY VALUE", 2, 2, "sets the value of a key; VALUE - is standard input", true, (*app).put},
		{"delete", "KEY...", 1, -1, "removes keys", true, (*app).remove},
		{"compact", "", 0, 0, "gives space back, as far as the engine can", true, (*app).compact},
	}
}

func (a *app) inspectCommand() *cobra.Command {
	var f inspectFlags
	cmd := &cobra.Command{
		Use:   "inspect STORE [VERB [OPERAND...]]",
		Short: "Look into a store",
		Long: `Opens a store, read-only where the engine can, and shows what it holds. STORE is a URL, or a path: then the
content says which engine it is of. A store that does not exist is not created.

` + usageOfVerbs() + `
Nothing is changed but by put, delete and compact, by --requeue, which makes dead jobs ready again, and by --delete, which
deletes jobs: those of the IDs, or all with --all. A log or queues in SQL tables are shown as those in keys.

KEY and PREFIX are taken as they are, or in Go's syntax if they begin with a quote: '"\x00\x01"'. So are VALUE, --from
and --to.`,
		Example: `  assay inspect app.db
  assay inspect bbolt:app.db
  assay inspect 'sqlite:app.db?wait=1s' check
  assay inspect pebble:data scan user/ --limit 20 --reverse
  assay inspect pebble:data scan --from user/a --to user/c --keys
  assay inspect app.db get user/1 --format hex
  assay inspect app.db put user/1 - < value.json
  assay inspect bbolt:app.db jobs mail --state dead
  assay inspect events.db streams
  assay inspect bbolt:app.db jobs mail 1768465445123000 --requeue`,
		Args: usageArgs(aStore),
		RunE: func(cmd *cobra.Command, args []string) error { return a.runInspect(cmd.Context(), args, f) },
	}
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "one JSON document; of get, scan, events, records and entries a line for each")
	cmd.Flags().IntVar(&f.limit, "limit", 0,
		"at most so many pairs, streams, events, records, entries or jobs (default: all pairs, "+
			"20 of the others)")
	cmd.Flags().StringVar(&f.format, "format", "",
		"of get and scan: raw, quoted, text, hex or json (default: get raw, scan quoted)")
	cmd.Flags().StringVar(&f.from, "from", "",
		"of scan and sizes: the first key, inclusive; of events: the first position or version")
	cmd.Flags().StringVar(&f.to, "to", "", "of scan and sizes: the last key, exclusive")
	cmd.Flags().BoolVar(&f.reverse, "reverse", false, "of scan, events and records: from the last to the first")
	cmd.Flags().BoolVar(&f.keysOnly, "keys", false, "of scan: keys without values")
	cmd.Flags().StringVar(&f.namespace, "namespace", "",
		"where in the store queues, logs or collections are, as the program has it")
	cmd.Flags().StringVar(&f.state, "state", "", "jobs in this state: ready, delayed, claimed, dead (default: all)")
	cmd.Flags().BoolVar(&f.requeue, "requeue", false, "make dead jobs ready again")
	cmd.Flags().BoolVar(&f.delete, "delete", false, "delete jobs")
	cmd.Flags().BoolVar(&f.all, "all", false, "with --requeue or --delete: all jobs, in the state given")
	return cmd
}

// usageOfVerbs is the table of verbs.
func usageOfVerbs() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, v := range verbs() {
		fmt.Fprintf(w, "  %s\t%s\n", strings.TrimSpace(v.name+" "+v.operand), v.about)
	}
	fmt.Fprintln(w, "  detect\tengine, version of the format, state and locks, without opening it")
	fmt.Fprintln(w, "  queues\tthe job queues of the store, and how many jobs they have in each state")
	fmt.Fprintln(w, "  jobs QUEUE [ID...]\tthe jobs of a queue; those of the IDs with all that is kept of them")
	_ = w.Flush() // to memory
	return b.String()
}

// runInspect does what the arguments say: a store, a verb, operands.
func (a *app) runInspect(ctx context.Context, args []string, f inspectFlags) (err error) {
	if f.limit < 0 {
		return usage(fmt.Errorf("--limit %d", f.limit), "for example: --limit 20")
	}
	defer unread()()
	rawURL := args[0]
	if len(args) < 2 || args[1] != "detect" { // which tells of any file, and opens none
		if rawURL, err = storeURL(rawURL); err != nil {
			return err
		}
		if rawURL, err = f.kept(ctx, args, rawURL); err != nil {
			return err
		}
	}
	if isQueueVerb(args[1:]) {
		task, err := f.task(args[1:])
		if err != nil {
			return err
		}
		a, end := a.meanwhile(ctx, args[1]+" of "+rawURL)
		defer end()
		return a.inspectQueues(ctx, rawURL, task)
	}
	if err := f.refused(); err != nil {
		return err
	}
	v, operands, err := inspectVerb(args[1:])
	if err != nil {
		return err
	}
	if err := f.scanFlags.check(v.name); err != nil {
		return err
	}
	if v.name == "detect" {
		return a.detect(rawURL, f.asJSON)
	}
	if v.name != "browse" && v.name != "put" { // who has the terminal, and may read from it
		var end func()
		a, end = a.meanwhile(ctx, v.name+" of "+rawURL)
		defer end()
	}
	db, err := a.openExisting(ctx, rawURL, v.changes)
	if err != nil {
		return err
	}
	prefix, err := parseKey(f.namespace)
	if err == nil {
		err = v.run(a, ctx, db.Namespace(prefix), operands, f)
	}
	return errors.Join(err, db.Close())
}

// unread makes it an error, until end, that nobody reads what is printed: a signal would end the
// process, and leave beside an SQLite file what belongs to a look.
func unread() (end func()) {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGPIPE)
	return func() { signal.Stop(ended) }
}

// meanwhile shows what is done, and for how long, until b's first output or end. What b writes to
// its standard error stays above that.
func (a *app) meanwhile(ctx context.Context, what string) (b *app, end func()) {
	p := newMeter(ctx, a.stderr, what)
	end = sync.OnceFunc(p.end)
	copied := *a
	copied.stdout, copied.stderr = &firstWrite{a.stdout, end}, p
	return &copied, end
}

// firstWrite calls end before it writes.
type firstWrite struct {
	io.Writer
	end func()
}

func (w *firstWrite) Write(p []byte) (int, error) {
	w.end()
	return w.Writer.Write(p)
}

// inspectVerb returns what is to be done, and with what.
func inspectVerb(args []string) (verb, []string, error) {
	name := "stats"
	if len(args) > 0 {
		name = args[0]
	}
	all := append(verbs(), verb{name: "detect"})
	i := slices.IndexFunc(all, func(v verb) bool { return v.name == name })
	if i < 0 {
		var names []string
		for _, v := range all {
			names = append(names, v.name)
		}
		return verb{}, nil, usage(fmt.Errorf("unknown verb %q", name), "use %s, queues or jobs",
			strings.Join(names, ", "))
	}
	v, operands := all[i], args[min(1, len(args)):]
	if len(operands) < v.least || v.most >= 0 && len(operands) > v.most {
		return v, nil, usage(fmt.Errorf("%s was given %s", name, count(int64(len(operands)), "operand")),
			"it is written: %s", strings.TrimSpace(name+" "+v.operand))
	}
	return v, operands, nil
}

// parseKey returns the key that arg names: arg itself, or what it says in Go's syntax if it begins
// with a quote.
func parseKey(arg string) ([]byte, error) {
	if !strings.HasPrefix(arg, `"`) {
		return []byte(arg), nil
	}
	key, err := strconv.Unquote(arg)
	if err != nil {
		return nil, usage(fmt.Errorf("key %s: %w", arg, err), `write it in Go's syntax, as '"\x00\x01"'`)
	}
	return []byte(key), nil
}

// openExisting opens a store that is there, read-only if the engine can and it is not to be
// changed, and says so when it has to wait for another process.
func (a *app) openExisting(ctx context.Context, rawURL string, change bool) (*kv.DB, error) {
	path, err := kv.PathOf(rawURL)
	if err != nil {
		return nil, usageError{err}
	}
	access := transfer.Look
	if change {
		access = transfer.Change
	}
	return transfer.OpenExisting(ctx, rawURL, access, kv.WithTracer(&waits{stderr: a.stderr, path: path}))
}

// waits tells of a wait for another process that lasts longer than a second.
type waits struct {
	stderr io.Writer
	path   string
}

// waitKey is the key of a wait's timer in its context.
type waitKey struct{}

// Start begins a wait if op is one.
func (w *waits) Start(ctx context.Context, op string) context.Context {
	if op != "lock" {
		return ctx
	}
	return context.WithValue(ctx, waitKey{}, time.AfterFunc(time.Second, func() {
		fmt.Fprintf(w.stderr, "waiting for another process to close %s\n", w.path)
	}))
}

// End ends the wait.
func (w *waits) End(ctx context.Context, e kv.Event) {
	if timer, ok := ctx.Value(waitKey{}).(*time.Timer); ok && e.Op == "lock" {
		timer.Stop()
	}
}

// aStore refuses to have no arguments.
func aStore(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usage(errors.New("no store was named"), "for example: assay inspect bbolt:app.db")
	}
	return nil
}

// detect prints what a file or folder, named by its path or a URL, holds by its content.
func (a *app) detect(name string, asJSON bool) (err error) {
	path, _, _ := strings.Cut(name, "?")
	if _, err := os.Lstat(path); isURL(name) || err != nil && strings.Contains(name, ":") {
		if path, err = kv.PathOf(name); err != nil {
			return usageError{err}
		}
	}
	found, err := detect.Path(path)
	if err != nil {
		hint := "name a store that is there, and that you may read"
		if errors.Is(err, detect.ErrUnknown) {
			hint = "it is empty, of an engine that assay does not know, or damaged where its engine would show"
		}
		return &kv.Error{Op: "detect", Path: path, Kind: kv.KindOf(err), Err: err, Hint: hint}
	}
	if asJSON {
		return writeJSON(a.stdout, found)
	}
	_, err = fmt.Fprintf(a.stdout, "%s: %v\n", path, found)
	return err
}

func (a *app) check(ctx context.Context, db *kv.DB, _ []string, _ inspectFlags) error {
	if err := db.Check(ctx); err != nil {
		return err
	}
	what := "the engine's check found no fault"
	if !db.Caps().Checks {
		what = "every pair could be read; the engine has no check of its own"
	}
	_, err := fmt.Fprintln(a.stdout, what)
	return err
}

func (a *app) showStats(ctx context.Context, db *kv.DB, _ []string, f inspectFlags) error {
	stats, err := readStats(ctx, db)
	if err != nil {
		return err
	}
	if f.asJSON {
		return writeJSON(a.stdout, stats)
	}
	return printStats(a.stdout, stats)
}

// storeStats is what inspect tells of a store.
type storeStats struct {
	Engine   string       `json:"engine"`
	Path     string       `json:"path"`
	Mode     kv.Mode      `json:"mode"`
	Pairs    int64        `json:"pairs"`
	Bytes    int64        `json:"bytes"` // of all keys and values
	Size     kv.Size      `json:"size"`
	Holds    []string     `json:"holds,omitempty"` // stores that lie in the pairs, and the verbs that show them
	Settings []kv.Setting `json:"settings"`
}

func readStats(ctx context.Context, db *kv.DB) (storeStats, error) {
	s := storeStats{Engine: db.Engine(), Path: db.Path(), Mode: db.Mode(), Settings: db.Settings()}
	err := db.View(ctx, func(snapshot *kv.Snapshot) error {
		return snapshot.Each(kv.Range{}, func(k, v []byte) error {
			s.Pairs++
			s.Bytes += int64(len(k) + len(v))
			return nil
		})
	})
	if err != nil {
		return s, err
	}
	if s.Holds, err = storesIn(ctx, db); err != nil {
		return s, err
	}
	s.Size, err = db.Size()
	return s, err
}

func printStats(w io.Writer, s storeStats) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "engine\t%s\npath\t%s\nmode\t%v\npairs\t%d\nbytes in pairs\t%d\n", s.Engine, s.Path, s.Mode, s.Pairs,
		s.Bytes)
	fmt.Fprintf(t, "bytes on disk\t%d allocated, %d apparent, in %d files\n", s.Size.Allocated, s.Size.Apparent,
		s.Size.Files)
	for _, store := range s.Holds {
		fmt.Fprintf(t, "holds\t%s\n", store)
	}
	for _, setting := range s.Settings {
		fmt.Fprintf(t, "%s\t%s\n", setting.Name, setting.Value)
	}
	return t.Flush()
}
