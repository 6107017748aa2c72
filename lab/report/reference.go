package report

import (
	_ "embed"

	"github.com/assaydb/assay/lab/result"
)

//go:embed testdata/default/result.json
var reference []byte

// Reference returns a default run that was made on another machine, with the versions of that time.
// What a run needs to decide everything is told by it where none was kept here yet.
func Reference() (*result.Run, error) { return result.Parse(reference) }
