package report

import (
	"io"

	"github.com/assaydb/assay/lab/result"
)

// Bench writes the samples of run in the Go benchmark format, which benchstat reads.
func Bench(w io.Writer, run *result.Run) error {
	_, err := w.Write(result.Samples(run))
	return err
}
