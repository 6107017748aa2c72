// Package published holds what others published about embedded storage engines, and how to measure
// the same here: first in their setting, then in the right form and with the same promise for both.
// It names engines as text; what a binary lacks is told in the result.
package published

import (
	"embed"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"sync"
)

// Row is one published figure.
type Row struct {
	Publication string // the workload that does the same work
	System      string // whose figure it is
	Engine      string
	Operation   string
	Value       float64
	Unit        string  // "us", "MB", or "rel", the fraction of the baseline
	Baseline    string  // the engine that Ratio is about; may be empty
	Against     float64 // the baseline's value; 0 if there is none
	Ratio       float64 // as printed; 0 is not
	Note        string
}

//go:embed published.csv
var data embed.FS

// Rows returns the published figures.
func Rows() []Row { return slices.Clone(rows()) }

var rows = sync.OnceValue(func() []Row {
	f, err := data.Open("published.csv")
	if err != nil {
		panic(err) // it is in the binary
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		panic(err)
	}
	var all []Row
	for i, l := range lines[1:] {
		r := Row{Publication: l[0], System: l[1], Engine: l[2], Operation: l[3], Unit: l[5], Baseline: l[6], Note: l[9]}
		for column, to := range map[int]*float64{4: &r.Value, 7: &r.Against, 8: &r.Ratio} {
			if l[column] == "" {
				continue
			}
			if *to, err = strconv.ParseFloat(l[column], 64); err != nil {
				panic(fmt.Sprintf("published.csv: line %d: %v", i+2, err))
			}
		}
		all = append(all, r)
	}
	return all
})

// ratio returns how many times as long, or as large, the baseline is; 0 if the row has none.
func (r Row) ratio() float64 {
	switch {
	case r.Ratio != 0:
		return r.Ratio
	case r.Value != 0 && r.Against != 0:
		return r.Against / r.Value
	}
	return 0
}
