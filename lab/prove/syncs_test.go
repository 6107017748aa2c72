package prove

import (
	"slices"
	"testing"

	"github.com/assaydb/assay/lab/powerfs"
)

// The moments behind a sync amid which its own file was written come first, as a commit that
// trusted it is lost there; a write to another file is none of its business.
func TestMomentsBehindASyncThatWasWrittenAmidComeFirst(t *testing.T) {
	begin := func(path string) powerfs.Step { return powerfs.Step{Kind: powerfs.OnSync, Path: path, Until: 1} }
	end := func(path string) powerfs.Step { return powerfs.Step{Path: path, Done: true} }
	write := func(path string) powerfs.Step { return powerfs.Step{Kind: powerfs.OnWrite, Path: path, Bytes: 1} }
	r := recording{steps: []powerfs.Step{
		write("log"), begin("log"), write("table"), end("log"), // 3
		write("log"), begin("log"), write("log"), end("log"), // 7
		begin("log"), end("log"), // 9, behind the one amid which was written
		begin("log"), end("log"), // 11
		{Kind: powerfs.OnSync, Path: "log"}, // 12, at once
	}}
	if got, want := r.syncs(), []int{9, 3, 7, 11, 12, 13}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
