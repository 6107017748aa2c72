package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/report"
	"github.com/assaydb/assay/lab/result"
)

func (a *app) siteCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "site DIR OUT",
		Short: "Make a site of a folder of results",
		Long: `Makes a page of each run and proof in DIR and the folders below it, and an index with all of them beside each other, in
the new folder OUT. The pages need no network and no server.`,
		Example: `  assay site results public`,
		Args:    usageArgs(cobra.ExactArgs(2)),
		RunE:    func(_ *cobra.Command, args []string) error { return a.site(args[0], args[1]) },
	}
}

// site writes a site of all runs and proofs below dir.
func (a *app) site(dir, out string) error {
	all, without, err := resultsBelow(dir)
	if err != nil {
		return err
	}
	for _, path := range without {
		fmt.Fprintf(a.stderr, "%s has no page; it is shown by: assay report --format markdown %s\n", path, path)
	}
	if entries, err := os.ReadDir(out); err == nil && len(entries) > 0 {
		return usage(fmt.Errorf("%s is not empty", out), "name a new folder")
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	shipped, err := result.Shipped()
	if err != nil {
		return err
	}
	files := siteFiles(all)
	for i, name := range files {
		all[i].Page = (&url.URL{Path: name}).String()
		var page bytes.Buffer
		proof, source := shipped, builtInProof
		if all[i].Proof != nil {
			proof, source = all[i].Proof, "Proved by: "+all[i].Name
		}
		err := report.HTML(&page, all[i].Run, proof, source, report.Options{Facts: facts, Index: siteIndex})
		if err == nil {
			err = os.WriteFile(filepath.Join(out, name), page.Bytes(), 0o644)
		}
		if err != nil {
			return err
		}
	}
	var index bytes.Buffer
	if err := report.Beside(&index, "assay · "+plural(len(all), "result"), all, report.Options{Facts: facts}); err != nil {
		return err
	}
	file := filepath.Join(out, siteIndex)
	if err := os.WriteFile(file, index.Bytes(), 0o644); err != nil {
		return err
	}
	fmt.Fprintf(a.stderr, "%s in %s\n", plural(len(all), "result"), file)
	return nil
}

// siteIndex is the page with all runs.
const siteIndex = "index.html"

// siteFiles returns a file for the page of each run, unlike those of the others and the index also
// where large and small letters are the same.
func siteFiles(all []report.Kept) []string {
	taken := map[string]bool{siteIndex: true}
	files := make([]string, len(all))
	for i, k := range all {
		stem := strings.ReplaceAll(k.Name, "/", "-")
		for n := 1; files[i] == "" || taken[strings.ToLower(files[i])]; n++ {
			files[i] = stem + ".html"
			if n > 1 {
				files[i] = fmt.Sprintf("%s-%d.html", stem, n)
			}
		}
		taken[strings.ToLower(files[i])] = true
	}
	return files
}

// resultsBelow returns the runs and proofs in dir and the folders below it, in the order of their
// names, and the folders of results that have no page.
func resultsBelow(dir string) (all []report.Kept, without []string, err error) {
	whole, err := filepath.Abs(dir) // "." has no name
	if err != nil {
		return nil, nil, err
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		k := report.Kept{}
		if holdsRun(path) {
			if k.Run, err = result.Read(path); err != nil {
				return err
			}
		}
		if holdsProof(path) {
			if k.Proof, err = result.ReadProof(path); err != nil {
				return err
			}
		}
		if k.Run == nil && k.Proof == nil {
			if holds(path, result.PublishedFile) {
				without = append(without, path)
			}
			return nil
		}
		name, err := filepath.Rel(dir, path)
		if name == "." {
			name = filepath.Base(whole)
		}
		k.Name = filepath.ToSlash(name)
		all = append(all, k)
		return err
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, usage(err, "name a folder of results, as of: assay run --out DIR/NAME")
	case err == nil && len(all) == 0:
		err = &kv.Error{Op: "site", Kind: kv.Invalid, Err: fmt.Errorf("no folder below %s holds %s or %s", dir,
			result.DocumentFile, result.ProofFile), Hint: "make one with: assay run --out DIR/NAME"}
	}
	return all, without, err
}

func holdsRun(dir string) bool   { return holds(dir, result.DocumentFile) }
func holdsProof(dir string) bool { return holds(dir, result.ProofFile) }

// holds reports whether there is a file of a name in dir.
func holds(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}

// showBeside renders several runs as one page on standard output.
func (a *app) showBeside(dirs []string) error {
	var all []report.Kept
	for _, dir := range dirs {
		if filepath.Base(dir) == result.ProofFile || holdsProof(dir) && !holdsRun(dir) {
			return usage(fmt.Errorf("%s holds a proof, and runs are shown beside each other", dir),
				"leave it out, or show it with one run: --proof %s", dir)
		}
		run, err := result.Read(dir)
		if err != nil {
			return noResult(dir, err)
		}
		all = append(all, report.Kept{Name: strings.TrimSuffix(filepath.ToSlash(dir), "/"+result.DocumentFile), Run: run})
	}
	return report.Beside(a.stdout, fmt.Sprintf("assay · %d results beside each other", len(all)), all,
		report.Options{Facts: facts})
}
