// Plain measures bbolt, Pebble and SQLite without any of assay's code, and tells whether the ratios
// lie in the intervals that assay prints of the same calls:
//
//	go build -o barelab ./lab/bench/testdata/barelab
//	go run ./lab/bench/testdata/plain -assay ./barelab -tries 3
//
// A try is a run of barelab, which is assay with the workload bare, and loops over the same calls
// before and after it, in several processes for each operation and engine, whose mean is total time
// over total operations. It ends with status 1 if fewer than 95 of 100 ratios lie in their
// intervals.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/assaydb/assay/lab/bench/testdata/plain/bare"
)

func main() {
	assay := flag.String("assay", "barelab", "the command to check, an assay with the workload bare")
	budget := flag.Duration("budget", 40*time.Second, "time for each run of assay")
	processes := flag.Int("processes", 10, "processes of each operation on each engine")
	tries := flag.Int("tries", 3, "how often to measure with both")
	dir := flag.String("dir", "", "folder for the data, on the disk to measure (default: in the user's cache folder)")
	one := flag.String("one", "", "measure OPERATION/ENGINE in -dir, and print nanoseconds and operations")
	flag.Parse()
	err := func() error {
		if *one != "" {
			op, name, _ := strings.Cut(*one, "/")
			return measure(op, name, *dir)
		}
		return compare(*assay, *dir, *budget, *processes, *tries)
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, "plain:", err)
		os.Exit(1)
	}
}

// compare makes the tries, and prints each ratio beside its interval.
func compare(assay, dir string, budget time.Duration, processes, tries int) error {
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return err
		}
		if dir = filepath.Join(cache, "assay", "plain"); os.MkdirAll(dir, 0o700) != nil {
			return errors.New("no folder for the data: name one with -dir")
		}
	}
	dir, err := os.MkdirTemp(dir, "plain-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	inside, tried := 0, 0
	for range tries {
		// Half of the processes before and half after: a machine that becomes slower does so for
		// both.
		all := sums{}
		if err := all.add(dir, processes/2); err != nil {
			return err
		}
		printed, err := run(assay, dir, budget)
		if err != nil {
			return err
		}
		if err := all.add(dir, processes-processes/2); err != nil {
			return err
		}
		mean := all.means()
		for _, p := range printed {
			ratio := mean[p.op+"/"+p.engine] / mean[p.op+"/"+p.to]
			verdict := "outside"
			if tried++; p.lo <= ratio && ratio <= p.hi {
				inside, verdict = inside+1, "inside"
			}
			fmt.Printf("%-8s %-7s to %-7s plain %.2f, assay %.2f [%.2f-%.2f] %-7s  ", p.op, p.engine, p.to, ratio, p.mid,
				p.lo, p.hi, verdict)
			fmt.Printf("plain %7.2f to %7.2f us, assay %7.2f to %7.2f us\n", mean[p.op+"/"+p.engine]/1000,
				mean[p.op+"/"+p.to]/1000, p.ns/1000, p.toNS/1000)
		}
	}
	fmt.Printf("inside: %d of %d\n", inside, tried)
	if 100*inside < 95*tried {
		return errors.New("fewer than 95 of 100 are inside")
	}
	return nil
}

// printed is a ratio that assay printed.
type printed struct {
	op, engine, to string
	lo, mid, hi    float64
	ns, toNS       float64
}

// run lets assay measure.
func run(assay, dir string, budget time.Duration) (all []printed, err error) {
	out := filepath.Join(dir, "assay")
	cmd := exec.Command(assay, "run", "bare", "--engines",
		"bbolt,pebble,sqlite",
		"--durability", "synced", "--dir", dir, "--out", out, "--budget", budget.String())
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(out, "result.json"))
	if err != nil {
		return nil, err
	}
	var document struct {
		Cells []struct {
			Operation, Engine, Form string
			NS                      *struct{ Mid float64 }
			Ratio                   *struct {
				To          string
				Lo, Mid, Hi float64
			}
		}
	}
	if err := json.Unmarshal(data, &document); err != nil {
		return nil, err
	}
	times := map[string]float64{}
	for _, c := range document.Cells {
		if c.NS != nil && c.Form == "kv" {
			times[c.Operation+"/"+c.Engine] = c.NS.Mid
		}
	}
	for _, c := range document.Cells {
		if c.Form == "kv" && c.Ratio != nil && c.Ratio.To != c.Engine && bare.Engines[c.Ratio.To] != nil {
			all = append(all, printed{c.Operation, c.Engine, c.Ratio.To, c.Ratio.Lo, c.Ratio.Mid, c.Ratio.Hi,
				times[c.Operation+"/"+c.Engine], times[c.Operation+"/"+c.Ratio.To]})
		}
	}
	return all, os.RemoveAll(out)
}

// sums are times and operations, by operation and engine.
type sums map[string]struct{ ns, n float64 }

func (s sums) means() map[string]float64 {
	out := map[string]float64{}
	for key, one := range s {
		out[key] = one.ns / one.n
	}
	return out
}

// add measures every operation on every engine in so many fresh processes, in turns.
func (s sums) add(dir string, processes int) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for range processes {
		for _, op := range bare.Operations {
			names := slices.Sorted(maps.Keys(bare.Engines))
			rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
			for _, name := range names {
				key, data := op+"/"+name, filepath.Join(dir, "data")
				if err := os.Mkdir(data, 0o700); err != nil {
					return err
				}
				out, err := exec.Command(self, "-one", key, "-dir", data).Output()
				if err != nil {
					return fmt.Errorf("%s: %w", key, err)
				}
				one := s[key]
				var ns, n float64
				if _, err := fmt.Sscan(string(out), &ns, &n); err != nil {
					return fmt.Errorf("%s: %w", key, err)
				}
				one.ns, one.n = one.ns+ns, one.n+n
				s[key] = one
				if err := os.RemoveAll(data); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// How long a process works before it is measured, and how long it is measured. By then SQLite's log
// was full once: until then a commit takes twice as long.
const warm, measured = 500 * time.Millisecond, 500 * time.Millisecond

// measure does one operation on one engine, and prints how long how many took.
func measure(op, name, dir string) (err error) {
	open := bare.Engines[name]
	if open == nil {
		return fmt.Errorf("no engine %q", name)
	}
	e, err := bare.Loaded(op, open, filepath.Join(dir, "store"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	runtime.GC()
	do, err := bare.Operation(op, e)
	if err != nil {
		return err
	}
	for i, start := 0, time.Now(); time.Since(start) < warm; i++ {
		if err := do(); err != nil {
			return err
		}
	}
	const stretch = 16 // operations between two readings of the clock
	start, n := time.Now(), 0
	for time.Since(start) < measured {
		for range stretch {
			if err := do(); err != nil {
				return err
			}
		}
		n += stretch
	}
	fmt.Println(int64(time.Since(start)), n)
	return nil
}
