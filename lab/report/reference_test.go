package report

import (
	"testing"

	"github.com/assaydb/assay/lab/stats"
)

func TestTheReferenceTellsWhatARunNeeds(t *testing.T) {
	run, err := Reference()
	if err != nil {
		t.Fatal(err)
	}
	takes, _ := stats.Needs(run)
	if takes < run.Took || len(run.Cells) == 0 {
		t.Errorf("%d cells, which took %v, need %v", len(run.Cells), run.Took, takes)
	}
}
