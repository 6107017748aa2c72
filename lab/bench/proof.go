package bench

import (
	"runtime"
	"strings"

	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/lab/result"
)

// label adds to a promise of the engine at url what the proofs say of it. In SQL an engine commits
// as it does under kv: its journal and its syncs are the same.
func (r *runner) label(url string, p result.Promise) result.Promise {
	engine, _, _ := strings.Cut(url, ":")
	s := result.Subject{URL: url, OS: runtime.GOOS, Modules: map[string]string{}, Driver: result.DriverDigest(engine)}
	if d, ok := driver.Lookup(engine); ok {
		s.Own = len(d.Info().Modules) == 0
		for _, m := range d.Info().Modules {
			if v, ok := r.run.Environment.Modules[m]; ok {
				s.Modules[m] = v
			}
		}
	}
	return r.Proofs.Label(s, p)
}
