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
		Long: `Makes a page of each result in DIR and the folders below it, and an index with all of them beside each other, in the new
folder OUT. The pages need no network and no server.`,
		Example: `  assay site results public`,
		Args:    usageArgs(cobra.ExactArgs(2)),
		RunE:    func(_ *cobra.Command, args []string) error { return a.site(args[0], args[1]) },
	}
}

// site writes a site of all runs below dir.
func (a *app) site(dir, out string) error {
	all, err := runsBelow(dir)
	if err != nil {
		return err
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
		err := report.HTML(&page, all[i].Run, shipped, builtInProof, report.Options{Facts: facts, Index: siteIndex})
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

// runsBelow returns the runs in dir and the folders below it, in the order of their names.
func runsBelow(dir string) (all []report.Kept, err error) {
	whole, err := filepath.Abs(dir) // "." has no name
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() != result.DocumentFile {
			return err
		}
		run, err := result.Read(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, filepath.Dir(path))
		if name == "." {
			name = filepath.Base(whole)
		}
		all = append(all, report.Kept{Name: filepath.ToSlash(name), Run: run})
		return err
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, usage(err, "name a folder of results, as of: assay run --out DIR/NAME")
	case err == nil && len(all) == 0:
		err = &kv.Error{Op: "site", Kind: kv.Invalid, Err: fmt.Errorf("no folder below %s holds %s", dir,
			result.DocumentFile), Hint: "make one with: assay run --out DIR/NAME"}
	}
	return all, err
}

// showBeside renders several runs as one page on standard output.
func (a *app) showBeside(dirs []string) error {
	var all []report.Kept
	for _, dir := range dirs {
		run, err := result.Read(dir)
		if err != nil {
			return noResult(dir, err)
		}
		all = append(all, report.Kept{Name: strings.TrimSuffix(filepath.ToSlash(dir), "/"+result.DocumentFile), Run: run})
	}
	return report.Beside(a.stdout, fmt.Sprintf("assay · %d results beside each other", len(all)), all,
		report.Options{Facts: facts})
}
