package report

import (
	"bytes"
	"io"
	"os"
	"path/filepath"

	"github.com/assaydb/assay/lab/report/chart"
	"github.com/assaydb/assay/lab/result"
)

// Charts writes every chart of the page of a run to dir, which is made if need be, as NAME.svg and
// NAME.png, each with its title and legend. It returns how many charts those are.
func Charts(dir string, run *result.Run, o Options) (int, error) {
	var h htmlPage
	p := &page{options: o, width: endless}
	p.options.madeBy(run.Command)
	h.engines(p, run)
	f := newFigures(p, run, h.Engines)
	if err := h.sections(f); err != nil {
		return 0, err
	}
	all, err := f.costs()
	if err != nil {
		return 0, err
	}
	growth, err := f.growthFigures()
	if err != nil {
		return 0, err
	}
	all = append(all, growth...)
	for _, s := range h.Sections {
		all = append(all, s.Figures...)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	for _, figure := range all {
		for ext, write := range map[string]func(*chart.Chart, io.Writer, chart.Caption) error{
			".svg": (*chart.Chart).SVG, ".png": (*chart.Chart).PNG} {
			var b bytes.Buffer
			if err := write(figure.drawing, &b, figure.caption()); err != nil {
				return 0, err
			}
			if err := os.WriteFile(filepath.Join(dir, figure.ID+ext), b.Bytes(), 0o644); err != nil {
				return 0, err
			}
		}
	}
	return len(all), nil
}
