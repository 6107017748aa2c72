package result

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
)

// CurrentEnvironment returns the environment of this process, whose data will lie in dir, which
// exists; modules are the module paths whose versions are told. What cannot be found out is left
// empty, and what makes the timings worth less is a warning.
func CurrentEnvironment(dir string, modules []string) (Environment, []Warning) {
	e := Environment{Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU()}
	e.Kernel, e.CPU, e.Memory = kernel(), processor(), memory()
	e.FileSystem, e.Device = fileSystem(dir), device(dir)
	e.Tmpfs = e.FileSystem == "tmpfs" || e.FileSystem == "ramfs"
	info := buildInfo()
	e.Assay, e.Modules, e.Unranked = versionOf(info), versionsOf(info, modules), unranked(info)
	return e, environmentWarnings(e)
}

// Version returns the version of this program, as CurrentEnvironment has it.
func Version() string { return versionOf(buildInfo()) }

func buildInfo() *debug.BuildInfo {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info
	}
	return new(debug.BuildInfo)
}

func environmentWarnings(e Environment) []Warning {
	var w []Warning
	if e.Unranked != "" {
		w = append(w, Warning{
			Text: "this binary was " + e.Unranked + ": its timings mean nothing and are not ranked",
			Hint: "build it again without",
		})
	}
	switch {
	case e.Tmpfs:
		w = append(w, Warning{
			Text: "the data lies in memory (" + e.FileSystem +
				"): a sync does nothing, and no commit survives power loss",
			Hint: "choose a folder on a disk: --dir DIR",
		})
	case networked[e.FileSystem]:
		w = append(w, Warning{
			Text: "the data lies on a network file system (" + e.FileSystem +
				"): its locks and syncs depend on the server",
			Hint: "choose a folder on a local disk: --dir DIR",
		})
	}
	if procs := runtime.GOMAXPROCS(0); procs < e.CPUs {
		w = append(w, Warning{Text: fmt.Sprintf("Go uses %d of %d processors", procs, e.CPUs),
			Hint: "unset GOMAXPROCS, or give the container more processors"})
	}
	return w
}

var networked = map[string]bool{"nfs": true, "smb": true, "smb2": true, "cifs": true, "smbfs": true, "9p": true,
	"afpfs": true, "webdav": true, "ceph": true}

// versionOf returns the version of the main module, or the commit that it was built from.
func versionOf(info *debug.BuildInfo) string {
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	var commit, dirty string
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+changes"
		}
	}
	if commit == "" {
		return "devel"
	}
	return commit + dirty
}

// versionsOf returns the versions of those modules that the binary holds. That of a replaced one
// names what replaces it.
func versionsOf(info *debug.BuildInfo, modules []string) map[string]string {
	versions := map[string]string{}
	for _, m := range info.Deps {
		for _, path := range modules {
			if m.Path != path {
				continue
			}
			versions[path] = m.Version
			if r := m.Replace; r != nil {
				versions[path] = strings.TrimSpace(fmt.Sprintf("%s => %s %s", m.Version, r.Path, r.Version))
			}
		}
	}
	if len(versions) == 0 {
		return nil
	}
	return versions
}

// instrumented lists the flags that build tags tell of, for a binary without build information.
var instrumented []string

// unranked tells with what the binary was built that makes its timings meaningless, "" if with
// nothing.
func unranked(info *debug.BuildInfo) string {
	var with []string
	for _, flag := range []string{"-race", "-asan", "-msan", "-cover"} {
		if slices.Contains(instrumented, flag) || buildSetting(info, flag) == "true" {
			with = append(with, flag)
		}
	}
	// -N and -l switch optimization and inlining off.
	for _, flag := range strings.Fields(buildSetting(info, "-gcflags")) {
		if f := flag[strings.LastIndexByte(flag, '=')+1:]; f == "-N" || f == "-l" {
			with = append(with, f)
		}
	}
	if len(with) == 0 {
		return ""
	}
	return "built with " + strings.Join(with, " and ")
}

func buildSetting(info *debug.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}
