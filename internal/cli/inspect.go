package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/detect"
	"github.com/assaydb/assay/transfer"
)

func (a *app) inspectCommand() *cobra.Command {
	var f queueFlags
	cmd := &cobra.Command{
		Use:   "inspect STORE [stats | check | detect | get KEY | scan [PREFIX] | queues | jobs QUEUE [ID...]]",
		Short: "Look into a store",
		Long: `Opens a store, read-only where the engine can, and shows what it holds. STORE is a URL, or a path: then the
content says which engine it is of. A store that does not exist is not created. (SQLite in WAL mode may leave its -shm and -wal files beside the database.)

  stats          pairs, bytes, space on disk and settings (the default)
  check          the engine's own check of the stored data
  detect         engine, version of the format, state and locks, without opening it
  get KEY        the value of a key, as it is
  scan [PREFIX]  pairs, quoted, in the order of their keys
  queues         the job queues of the store, and how many jobs they have in each state
  jobs QUEUE     the jobs of a queue; those of the IDs with all that is kept of them, why they failed included

Nothing is changed without --requeue, which makes dead jobs ready again, or --delete, which deletes jobs: those of the
IDs, or all with --all. Queues in SQL tables have the URL sqlqueue:PATH.

KEY and PREFIX are taken as they are, or in Go's syntax if they begin with a quote: '"\x00\x01"'.`,
		Example: `  assay inspect app.db
  assay inspect bbolt:app.db
  assay inspect 'sqlite:app.db?wait=1s' check
  assay inspect pebble:data scan user/ --limit 20
  assay inspect bbolt:app.db jobs mail --state dead
  assay inspect bbolt:app.db jobs mail 1768465445123000 --requeue`,
		Args: usageArgs(aStore),
		RunE: func(cmd *cobra.Command, args []string) error {
			rawURL, err := storeURL(args[0])
			if err != nil {
				return err
			}
			if isQueueVerb(args[1:]) {
				task, err := f.task(args[1:])
				if err != nil {
					return err
				}
				return a.inspectQueues(cmd.Context(), rawURL, task)
			}
			if err := f.refused(); err != nil {
				return err
			}
			verb, operand, err := inspectVerb(args[1:])
			if err != nil {
				return err
			}
			if verb == "detect" {
				return a.detect(rawURL, f.asJSON)
			}
			db, err := a.openExisting(cmd.Context(), rawURL, false)
			if err != nil {
				return err
			}
			return errors.Join(a.inspect(cmd.Context(), db, verb, operand, f.limit, f.asJSON), db.Close())
		},
	}
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "stats, what detect found, queues and jobs as one JSON document")
	cmd.Flags().IntVar(&f.limit, "limit", 0, "scan at most so many pairs, show at most so many jobs (default: all pairs, 20 jobs)")
	cmd.Flags().StringVar(&f.namespace, "namespace", "", "where in the store the queues are, as the program has it")
	cmd.Flags().StringVar(&f.state, "state", "", "jobs in this state: ready, delayed, claimed, dead (default: all)")
	cmd.Flags().BoolVar(&f.requeue, "requeue", false, "make dead jobs ready again")
	cmd.Flags().BoolVar(&f.delete, "delete", false, "delete jobs")
	cmd.Flags().BoolVar(&f.all, "all", false, "with --requeue or --delete: all jobs, in the state given")
	return cmd
}

// inspectVerb returns what is to be done, and with which key.
func inspectVerb(args []string) (verb string, operand []byte, err error) {
	verb = "stats"
	if len(args) > 0 {
		verb = args[0]
	}
	least, most := 0, 0
	switch verb {
	case "stats", "check", "detect":
	case "get":
		least, most = 1, 1
	case "scan":
		most = 1
	default:
		return "", nil, usage(fmt.Errorf("unknown verb %q", verb), "use stats, check, detect, get, scan, queues or jobs")
	}
	operands := args[min(1, len(args)):]
	if len(operands) < least || len(operands) > most {
		return "", nil, usage(fmt.Errorf("%s was given %d keys", verb, len(operands)), "see: assay inspect --help")
	}
	if len(operands) == 0 {
		return verb, nil, nil
	}
	operand, err = parseKey(operands[0])
	return verb, operand, err
}

// parseKey returns the key that arg names: arg itself, or what it says in Go's syntax if it begins with a quote.
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
	patience := time.AfterFunc(time.Second, func() {
		fmt.Fprintf(a.stderr, "waiting for another process to close %s\n", path)
	})
	defer patience.Stop()
	access := transfer.Look
	if change {
		access = transfer.Change
	}
	return transfer.OpenExisting(ctx, rawURL, access)
}

// aStore refuses to have no arguments.
func aStore(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usage(errors.New("no store was named"), "for example: assay inspect bbolt:app.db")
	}
	return nil
}

// detect prints what the store holds by its content.
func (a *app) detect(rawURL string, asJSON bool) error {
	path, err := kv.PathOf(rawURL)
	if err != nil {
		return usageError{err}
	}
	found, err := detect.Path(path)
	if err != nil {
		return &kv.Error{Op: "detect", Path: path, Kind: kv.KindOf(err), Err: err, Hint: "name a store that exists"}
	}
	if asJSON {
		return writeJSON(a.stdout, found)
	}
	_, err = fmt.Fprintf(a.stdout, "%s: %v\n", path, found)
	return err
}

func (a *app) inspect(ctx context.Context, db *kv.DB, verb string, key []byte, limit int, asJSON bool) error {
	switch verb {
	case "check":
		if err := db.Check(ctx); err != nil {
			return err
		}
		what := "the engine's check found no fault"
		if !db.Caps().Checks {
			what = "every pair could be read; the engine has no check of its own"
		}
		_, err := fmt.Fprintln(a.stdout, what)
		return err
	case "get":
		return db.View(ctx, func(s *kv.Snapshot) error {
			v, err := s.Get(key)
			if errors.Is(err, kv.NotFound) {
				return &kv.Error{Op: "get", Engine: db.Engine(), Path: db.Path(), Kind: kv.NotFound, Err: fmt.Errorf("key %q", key),
					Hint: "list the keys with: assay inspect " + db.Engine() + ":" + db.Path() + " scan"}
			}
			if err == nil {
				_, err = a.stdout.Write(v)
			}
			return err
		})
	case "scan":
		return db.View(ctx, func(s *kv.Snapshot) error { return printPairs(a.stdout, s, key, limit) })
	}
	stats, err := readStats(ctx, db)
	if err != nil {
		return err
	}
	if asJSON {
		return writeJSON(a.stdout, stats)
	}
	return printStats(a.stdout, stats)
}

func printPairs(w io.Writer, s *kv.Snapshot, prefix []byte, limit int) error {
	n := 0
	for k, v := range s.Scan(kv.Prefix(prefix)) {
		if _, err := fmt.Fprintf(w, "%q\t%q\n", k, v); err != nil {
			return err
		}
		if n++; n == limit {
			break
		}
	}
	return nil
}

// storeStats is what inspect tells of a store.
type storeStats struct {
	Engine   string       `json:"engine"`
	Path     string       `json:"path"`
	Mode     kv.Mode      `json:"mode"`
	Pairs    int64        `json:"pairs"`
	Bytes    int64        `json:"bytes"` // of all keys and values
	Size     kv.Size      `json:"size"`
	Settings []kv.Setting `json:"settings"`
}

func readStats(ctx context.Context, db *kv.DB) (storeStats, error) {
	s := storeStats{Engine: db.Engine(), Path: db.Path(), Mode: db.Mode(), Settings: db.Settings()}
	err := db.View(ctx, func(snapshot *kv.Snapshot) error {
		for k, v := range snapshot.Scan(kv.Range{}) {
			s.Pairs++
			s.Bytes += int64(len(k) + len(v))
		}
		return nil
	})
	if err != nil {
		return s, err
	}
	s.Size, err = db.Size()
	return s, err
}

func printStats(w io.Writer, s storeStats) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "engine\t%s\npath\t%s\nmode\t%v\npairs\t%d\nbytes in pairs\t%d\n", s.Engine, s.Path, s.Mode, s.Pairs, s.Bytes)
	fmt.Fprintf(t, "bytes on disk\t%d allocated, %d apparent, in %d files\n", s.Size.Allocated, s.Size.Apparent, s.Size.Files)
	for _, setting := range s.Settings {
		fmt.Fprintf(t, "%s\t%s\n", setting.Name, setting.Value)
	}
	return t.Flush()
}
