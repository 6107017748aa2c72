package bench

import (
	"runtime"
	"testing"

	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/lab/result"
)

func TestPromisesCarryWhatWasProved(t *testing.T) {
	d, ok := driver.Lookup("bbolt")
	if !ok {
		t.Fatal("bbolt is not in this binary")
	}
	r := &runner{}
	r.run.Environment.Modules = map[string]string{"example.org/other": "v1.0.0"}
	for _, m := range d.Info().Modules {
		r.run.Environment.Modules[m] = "v1.2.3"
	}
	held := result.Finding{Claimed: true, Verdict: result.Proved}
	proof := &result.Proof{Drivers: map[string]string{"bbolt": result.DriverDigest("bbolt")},
		Environment: result.Environment{OS: runtime.GOOS, Modules: map[string]string{}}}
	for _, m := range d.Info().Modules {
		proof.Environment.Modules[m] = "v1.2.3"
	}
	for _, fault := range []string{result.FaultKill, result.FaultEIO, result.FaultENOSPC} {
		proof.Cells = append(proof.Cells, result.ProofCell{URL: "bbolt:", Delivered: "flushed", Fault: fault, Images: 5,
			Keeps: held, Whole: held})
	}
	older := *proof
	older.Drivers = map[string]string{"bbolt": "of another source"}
	flushed := result.Promise{Requested: "flushed", Delivered: "flushed"}
	for _, c := range []struct {
		name, url string
		proof     *result.Proof
		want      string
		images    int
	}{
		{"no proof", "bbolt:", nil, result.Unproved, 0},
		{"a proof", "bbolt:", proof, result.Proved, 15},
		{"a proof of an older driver", "bbolt:", &older, result.Unproved, 0},
		{"other options", "bbolt:?NoSync=true", proof, result.Unproved, 0},
		{"an engine that is not in the binary", "nosuch:", proof, result.Unproved, 0},
	} {
		r.Proofs = result.Proofs{c.proof}
		if got := r.label(c.url, flushed); got.Proof != c.want || got.Images != c.images {
			t.Errorf("%s: got %s by %d images, want %s by %d", c.name, got.Proof, got.Images, c.want, c.images)
		}
	}
}
