package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/assaydb/assay/lab/bench"
	"github.com/assaydb/assay/lab/workload"
)

func (a *app) workloadsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "workloads [WORKLOAD|FILE.yaml]...",
		Short: "List the workloads, their operations and parameters",
		Example: `  assay workloads
  assay workloads ycsb --json`,
		ValidArgsFunction: completeWorkloads,
		RunE: func(_ *cobra.Command, args []string) error {
			own, err := ownWorkloads(args)
			if err != nil {
				return err
			}
			list := workload.All()
			if len(args) > 0 {
				list = nil
			}
			for _, name := range own.args {
				w, ok := workload.Lookup(name)
				if !ok {
					names := bench.WorkloadNames()
					return usage(fmt.Errorf("unknown workload %q", name), "%suse one of %s",
						bench.DidYouMean(name, names), strings.Join(names, ", "))
				}
				list = append(list, w)
			}
			if asJSON {
				return writeJSON(a.stdout, describeWorkloads(list))
			}
			return printWorkloads(a.stdout, list)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}

// completeWorkloads completes WORKLOAD and WORKLOAD/OPERATION, and the name of a parameter behind
// either.
func completeWorkloads(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	if _, _, ok := strings.Cut(typed, "?"); ok {
		return completeParams(typed), cobra.ShellCompDirectiveNoFileComp
	}
	var out []string
	for _, w := range workload.All() {
		out = append(out, w.Name+"\t"+w.Summary)
		if strings.HasPrefix(typed, w.Name+"/") {
			for _, op := range w.Ops {
				out = append(out, w.Name+"/"+op.Name+"\t"+op.Summary)
			}
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completeParams completes the name of the last parameter with its default.
func completeParams(typed string) (out []string) {
	name, _, _ := strings.Cut(typed[:strings.IndexByte(typed, '?')], "/")
	w, _ := workload.Lookup(name)
	before := typed[:strings.LastIndexAny(typed, "?&")+1]
	for _, p := range w.Params {
		out = append(out, before+p.Name+"="+p.Default+"\t"+p.Usage)
	}
	return out
}

func printWorkloads(out io.Writer, list []workload.Workload) error {
	for i, w := range list {
		if i > 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintf(out, "%s  %s\n", w.Name, w.Summary)
		t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		for _, op := range w.Ops {
			mark := " "
			if op.Core {
				mark = "*"
			}
			kind := "reads"
			if op.Commits {
				kind = "commits"
			}
			fmt.Fprintf(t, "  %s %s\t%s\t%s\n", mark, op.Name, kind, op.Summary)
		}
		for _, p := range w.Params {
			fmt.Fprintf(t, "  ? %s\t%s\t%s\n", p.Name, p.Default, p.Usage)
		}
		for _, f := range w.Forms {
			fmt.Fprintf(t, "  / %s\tform\t%s\n", f.Name, f.Summary)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	_, err := fmt.Fprint(out,
		"\n* runs when no workload is named   ? parameter with its default: assay run 'ycsb?records=100k'\n"+
			"Several values are measured each, in tables of their own: assay run 'queue?backlog=0,1k,100k'. Of a default that lists\n"+
			"several, a run that names no workload takes the first.\n"+
			"/ way to do the operations, shown behind the engine: sqlite/sql. Each engine runs in the forms that it has.\n")
	return err
}

// workloadJSON is a workload in the output of --json.
type workloadJSON struct {
	Name       string          `json:"name"`
	Summary    string          `json:"summary"`
	Operations []operationJSON `json:"operations"`
	Params     []paramJSON     `json:"params"`
	Forms      []formJSON      `json:"forms"`
}

type formJSON struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
}

type operationJSON struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
	Commits bool   `json:"commits"`
	Core    bool   `json:"core"`
	Workers int    `json:"workers"`
	Items   int    `json:"items"`
}

type paramJSON struct {
	Name    string `json:"name"`
	Default string `json:"default"`
	Usage   string `json:"usage"`
}

func describeWorkloads(list []workload.Workload) []workloadJSON {
	out := make([]workloadJSON, 0, len(list))
	for _, w := range list {
		j := workloadJSON{Name: w.Name, Summary: w.Summary, Operations: []operationJSON{}, Params: []paramJSON{},
			Forms: []formJSON{}}
		for _, op := range w.Ops {
			j.Operations = append(j.Operations, operationJSON{op.Name, op.Summary, op.Commits, op.Core,
				max(op.Workers, 1), max(op.Items, 1)})
		}
		for _, p := range w.Params {
			j.Params = append(j.Params, paramJSON{p.Name, p.Default, p.Usage})
		}
		for _, f := range w.Forms {
			j.Forms = append(j.Forms, formJSON(f))
		}
		out = append(out, j)
	}
	return out
}

// writeJSON prints v as one indented document.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
