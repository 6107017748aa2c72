package report

import (
	"encoding/csv"
	"io"
	"strconv"

	"github.com/assaydb/assay/lab/result"
)

// CSV writes a line for each cell of run, with a head. Times are in nanoseconds, sizes in bytes;
// what was not measured is empty.
func CSV(w io.Writer, run *result.Run) error {
	out := csv.NewWriter(w)
	head := []string{"workload", "params", "operation", "engine", "form", "delivered", "intact", "proof", "ranked",
		"status", "workers", "operations", "rounds",
		"ns", "ns_lo", "ns_hi", "ratio_to", "ratio", "ratio_lo", "ratio_hi", "different", "equivalent", "floor"}
	for _, p := range percentiles {
		head = append(head, p.name+"_ns")
	}
	for _, f := range costFigures {
		head = append(head, f.key)
	}
	if err := out.Write(append(head, "error")); err != nil {
		return err
	}
	for i := range run.Cells {
		if err := out.Write(csvLine(&run.Cells[i])); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func csvLine(c *result.Cell) []string {
	line := []string{c.Workload, c.Params, c.Operation, c.Engine, c.Form, c.Promise.Delivered,
		strconv.FormatBool(c.Promise.Intact), c.Promise.Proof,
		strconv.FormatBool(c.Ranked), string(c.Status), strconv.Itoa(c.Workers), strconv.FormatInt(c.N, 10),
		strconv.Itoa(len(c.Samples))}
	if c.NS == nil {
		line = append(line, "", "", "")
	} else {
		line = append(line, plain(c.NS.Mid), plain(c.NS.Lo), plain(c.NS.Hi))
	}
	if r := c.Ratio; r == nil {
		line = append(line, "", "", "", "", "", "")
	} else {
		line = append(line, r.To, plain(r.Mid), plain(r.Lo), plain(r.Hi), strconv.FormatBool(r.Different),
			strconv.FormatBool(r.Equivalent))
	}
	line = append(line, number(c.Floor, plain))
	for _, p := range percentiles {
		text := ""
		if c.Latency != nil && p.of(c.Latency) > 0 {
			text = strconv.FormatInt(p.of(c.Latency), 10)
		}
		line = append(line, text)
	}
	for _, f := range costFigures {
		line = append(line, number(f.of(c), plain))
	}
	return append(line, c.Error)
}

// plain prints a number for a program.
func plain(v float64) string { return strconv.FormatFloat(v, 'g', 8, 64) }
