package result

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestEnvironmentOfThisMachine(t *testing.T) {
	e, _ := CurrentEnvironment(t.TempDir(), []string{"example.com/none"})
	if e.Go != runtime.Version() || e.OS != runtime.GOOS || e.CPUs < 1 {
		t.Errorf("environment %+v", e)
	}
	switch runtime.GOOS {
	case "linux", "darwin", "windows":
		if e.Kernel == "" || e.Memory < 1<<20 || e.FileSystem == "" {
			t.Errorf("kernel %q, memory %d, file system %q; want all", e.Kernel, e.Memory, e.FileSystem)
		}
	}
	if _, ok := e.Modules["example.com/none"]; ok {
		t.Errorf("modules %v, want none that is not in the binary", e.Modules)
	}
}

func TestReplacedModuleNamesItsReplacement(t *testing.T) {
	info := &debug.BuildInfo{Deps: []*debug.Module{
		{Path: "a", Version: "v1.0.0", Replace: &debug.Module{Path: "../a"}}, {Path: "b", Version: "v2.0.0"},
		{Path: "c", Version: "v3.0.0"},
	}}
	got := versionsOf(info, []string{"a", "b"})
	if len(got) != 2 || got["a"] != "v1.0.0 => ../a" || got["b"] != "v2.0.0" {
		t.Errorf("got %v", got)
	}
}

func TestInstrumentedBinariesAreUnranked(t *testing.T) {
	for _, c := range []struct {
		settings []debug.BuildSetting
		want     string
	}{
		{[]debug.BuildSetting{{Key: "-race", Value: "true"}}, "built with -race"},
		{[]debug.BuildSetting{{Key: "-cover", Value: "true"}, {Key: "-asan", Value: "true"}},
			"built with -asan and -cover"},
		{[]debug.BuildSetting{{Key: "-gcflags", Value: "all=-N -l"}}, "built with -N and -l"},
	} {
		instrumented := instrumented
		if got := unranked(&debug.BuildInfo{Settings: c.settings}); len(instrumented) == 0 && got != c.want {
			t.Errorf("%v: %q, want %q", c.settings, got, c.want)
		}
	}
	if got := unranked(&debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "-gcflags", Value: "-m"},
		{Key: "-race", Value: "false"}}}); len(instrumented) == 0 && got != "" {
		t.Errorf("an ordinary binary is %q", got)
	}
}

func TestWarningsOfMemoryAndNetwork(t *testing.T) {
	for _, e := range []Environment{{FileSystem: "tmpfs", Tmpfs: true}, {FileSystem: "nfs"},
		{Unranked: "built with -race"}} {
		if w := environmentWarnings(e); len(w) != 1 || w[0].Hint == "" {
			t.Errorf("%+v: warnings %v, want one with a hint", e, w)
		}
	}
	if w := environmentWarnings(Environment{FileSystem: "ext4"}); len(w) != 0 {
		t.Errorf("ext4: warnings %v, want none", w)
	}
}
