package cli

import (
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/assaydb/assay/kv"
)

// TestABinaryWithoutRaceIsRefused takes this test for the binary that --with-race names.
func TestABinaryWithoutRaceIsRefused(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	want := "was not built with -race"
	own, ok := debug.ReadBuildInfo()
	if ok && slices.Contains(own.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		want = "is another program" // a test is not the command
	}
	if _, err := raceBuild(exe); err == nil || !strings.Contains(err.Error(), want) || kv.HintOf(err) != raceHint {
		t.Errorf("got %v, want that it %s, and how to build one", err, want)
	}
}
