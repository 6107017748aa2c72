package stats

import (
	"fmt"
	"testing"

	"github.com/assaydb/assay/lab/result"
)

func TestAdditionsCompareAnEngineWithItsPlainFormAtTheSameClass(t *testing.T) {
	cell := func(engine, class string, ns float64, intact bool) result.Cell {
		c := result.Cell{Workload: "w", Operation: "put", Engine: engine, Ranked: true, Status: result.OK,
			Promise: result.Promise{Delivered: class, Intact: intact}}
		for i := range 20 {
			c.Samples = append(c.Samples, result.Sample{Round: i, N: 100, NS: ns * (1 + float64(i%3)/100)})
		}
		return c
	}
	run := &result.Run{Plain: map[string]string{"framed": "plain", "absent": "nowhere"}, Cells: []result.Cell{
		cell("framed", "flushed", 150, true), cell("plain", "flushed", 100, false),
		cell("framed", "synced", 1000, true), cell("plain", "buffered", 10, false), cell("other", "flushed", 50, true),
	}}
	got := Additions(run)
	if len(got) != 1 || got[0].Engine != "framed" || got[0].Plain != "plain" || got[0].Class != "flushed" {
		t.Fatalf("got %+v", got)
	}
	if s := fmt.Sprintf("%.2f", got[0].Mid); s != "1.50" || !got[0].Different {
		t.Errorf("got %+v", got[0])
	}
}
