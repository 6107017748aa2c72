package drivertest

import (
	"fmt"
	"path"
	"reflect"
	"runtime"
	"strings"
)

// theme is cases of one kind. It says where what they prove is explained: a section of
// docs/adding-an-engine.md, and names of package kv/driver.
type theme struct {
	cases   []tcase
	section string
	names   string
	general bool // they do a bit of everything
}

const page = "docs/adding-an-engine.md"

// themes are all cases.
var themes = []theme{
	{rangeCases, "reading", "Range, Reader, Cursor", false},
	{iteratorCases, "reading", "Cursor, Seeker, Lener, RangeDeleter", true},
	{heldCases, "reading", "Store, Reader, Txn", false},
	{contextCases, "waiting", "Store, Caps", false},
	{ownershipCases, "reading", "Reader, Cursor, Txn", false},
	{isolationCases, "writing", "Store, Txn", false},
	{batchCases, "writing", "Store, Op", false},
	{limitCases, "writing", "Caps", false},
	{errorCases, "opening", "Driver, Info, Kind, Table", false},
	{wrapperCases, "reading", "Reader", false},
	{modelCases, "reading", "Reader, Txn", true},
	{closeCases, "opening", "Store", false},
	{concurrencyCases, "writing", "Store, Reader", true},
	{persistenceCases, "optional-interfaces", "Backuper, Compacter, Checker, Info, Configured", true},
	{modeCases, "opening", "Driver, Mode, Caps", false},
	{damageCases, "opening", "Driver", false},
	{killCases, "promises", "Promise", false},
	{tornCases, "promises", "Promise", false},
}

// themeOf returns the theme of the case called name.
func themeOf(name string) (theme, bool) {
	for _, t := range themes {
		for _, c := range t.cases {
			if c.name == name {
				return t, true
			}
		}
	}
	return theme{}, false
}

// How many of the last steps, and of the first failures, a case tells.
const (
	mostSteps    = 20
	mostFailures = 5
)

// Errorf is T's for the first failures of a case. What follows is most often the same fault again.
func (e *env) Errorf(format string, args ...any) {
	e.Helper()
	e.mu.Lock()
	e.failures++
	n := e.failures
	e.mu.Unlock()
	if n <= mostFailures {
		e.T.Errorf(format, args...)
	}
}

// did remembers a step of the case, for the case that it fails.
func (e *env) did(format string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.steps = append(e.steps, fmt.Sprintf(format, args...))
}

// explain says below the failures of a case what they are about.
func (e *env) explain(c tcase) {
	if !e.Failed() {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	var b strings.Builder
	if e.failures > mostFailures {
		fmt.Fprintf(&b, "\nand %d failures more", e.failures-mostFailures)
	}
	fmt.Fprintf(&b, "\nmust hold: %s\n", c.name)
	b.WriteString("was done:")
	first := max(0, len(e.steps)-mostSteps)
	if first > 0 {
		fmt.Fprintf(&b, " (%d steps, then)", first)
	}
	for _, s := range e.steps[first:] {
		b.WriteString("\n    " + s)
	}
	f := runtime.FuncForPC(reflect.ValueOf(c.run).Pointer())
	file, line := f.FileLine(f.Entry())
	fmt.Fprintf(&b, "\nthe whole case: kv/drivertest/%s:%d", path.Base(file), line)
	if t, ok := themeOf(c.name); ok {
		fmt.Fprintf(&b, "\nto read: %s#%s; in kv/driver: %s", page, t.section, t.names)
	}
	e.Log(b.String())
}
