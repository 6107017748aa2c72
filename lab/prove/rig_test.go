package prove

import (
	"strings"
	"testing"

	"github.com/assaydb/assay/lab/child"
	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/workdir"
)

// TestDiskThatLacksMappedPagesIsNotJudged takes away the folder from which the pages would be
// written back.
func TestDiskThatLacksMappedPagesIsNotJudged(t *testing.T) {
	needsPower(t)
	dir, err := workdir.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dir.Remove() }()
	l := &lane{runner: &runner{dir: dir}}
	g, err := l.newRig(powerfs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	mounted := g.mount
	p, err := child.Start(options(t, "bbolt", 0).Child)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.End(0) }()
	if err := g.unmount(); err != nil {
		t.Fatal(err)
	}
	g.mount = mounted
	g.settle(p.PID())
	g.mount = nil
	if _, err := g.crash(); err == nil || !strings.Contains(err.Error(), "settle process") {
		t.Errorf("got %v, want why the process was not settled", err)
	}
	if err := g.close(); err != nil {
		t.Error(err)
	}
}
