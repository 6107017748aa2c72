package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/report"
	"github.com/assaydb/assay/lab/result"
)

// pageFile is the name of the page that stands beside the other files of a run.
const pageFile = "report.html"

// builtInProof says where a page's proof is from.
const builtInProof = "The proof that is built into assay (assay engines --proof)."

// checkPage returns an error where flags of the page do not go with others.
func checkPage(format, versus, charts, proof string) error {
	switch {
	case charts != "" && (format != "text" || versus != ""):
		return usage(errors.New("--charts writes files, and shows nothing"), "leave out --format, --json and --versus")
	case proof != "" && format != "html":
		return usage(errors.New("--proof is of the page"), "add --format html")
	}
	return nil
}

// showPage renders a run and a proof as a page on standard output: the proof of the folder named,
// that beside the run, or the one that is built in.
func (a *app) showPage(k kept, proofDir string) error {
	source := "Proved by: " + k.dir
	if proofDir != "" {
		p, err := result.ReadProof(proofDir)
		if err != nil {
			return usage(err, "make one with: assay prove --out %s", proofDir)
		}
		k.proof, source = p, "Proved by: "+proofDir
	}
	if k.proof != nil {
		return report.HTML(a.stdout, k.run, k.proof, source, report.Options{Facts: facts})
	}
	return writePage(a.stdout, k.run)
}

// writePage renders a run as a page, with the proof that is built in.
func writePage(w io.Writer, run *result.Run) error {
	shipped, err := result.Shipped()
	if err != nil {
		return err
	}
	return report.HTML(w, run, shipped, builtInProof, report.Options{Facts: facts})
}

// keepPage writes the page of a run beside its other files.
func keepPage(dir string, run *result.Run) error {
	var page bytes.Buffer
	if err := writePage(&page, run); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, pageFile), page.Bytes(), 0o644)
}

// writeCharts writes the charts of a run to dir.
func (a *app) writeCharts(dir string, run *result.Run) error {
	n, err := report.Charts(dir, run, report.Options{Facts: facts})
	if err != nil {
		return &kv.Error{Op: "write charts", Kind: kv.KindOf(err), Err: err,
			Hint: "name a folder that can be written: --charts DIR"}
	}
	fmt.Fprintf(a.stderr, "%d charts are in %s, each as SVG and PNG\n", n, dir)
	return nil
}
