package crashtest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/assaydb/assay/lab/workdir"
)

// failure is a state that breaks what the store promises.
type failure struct {
	crash
	what string
	rec  *recording
}

// story is what a kept folder holds beside the files of the store.
type story struct {
	Test    string
	State   string   // the rule, and what of it
	Moment  string   //
	Before  []string // the last operations
	Files   []string // what was on the disk
	History History
	Found   string
}

const (
	storyName = "story.json"
	stateName = "state"
	lastSteps = 16
)

// story tells how the failure came about.
func (f *failure) story(test string) story {
	s := story{Test: test, State: f.state.String(), History: f.hist, Found: f.what}
	if f.moment < len(f.rec.steps) {
		s.Moment = fmt.Sprintf("before operation %d of %d, %s", f.moment+1, len(f.rec.steps), f.rec.steps[f.moment])
	} else {
		s.Moment = fmt.Sprintf("after all of %d operations", len(f.rec.steps))
	}
	for i := max(f.moment-lastSteps, 0); i < f.moment; i++ {
		s.Before = append(s.Before, fmt.Sprintf("%d %s", i+1, f.rec.steps[i]))
	}
	return s
}

// report keeps the state and returns what the test says.
func (f *failure) report(r *rig) string {
	s := f.story(r.t.Name())
	dir, err := os.MkdirTemp("", "crashtest-*")
	if err == nil {
		err = f.keep(dir, &s)
	}
	if err != nil {
		return s.text() + fmt.Sprintf("\n  the state could not be kept: %v", err)
	}
	return s.text() + "\n  again:\n    " + replayCommand(s.Test, dir)
}

// keep writes the state and its story to a folder.
func (f *failure) keep(dir string, s *story) error {
	state := filepath.Join(dir, stateName)
	if err := f.img.Export(state); err != nil {
		return err
	}
	s.Files = workdir.Listed(state)
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, storyName), append(data, '\n'), 0o600)
}

// replayCommand judges the state in dir again.
func replayCommand(test, dir string) string {
	parts := strings.Split(test, "/")
	for i, p := range parts {
		parts[i] = "^" + p + "$"
	}
	return fmt.Sprintf("go test -run '%s' -crashtest.replay=%s", strings.Join(parts, "/"), dir)
}

func (s story) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "crashtest: %s\n  crash: %s\n  left: %s\n", s.Found, s.Moment, s.State)
	fmt.Fprintf(&b, "  acknowledged: %s\n  begun: %s", numbers(s.History.Done), numbers(s.History.Maybe))
	for _, part := range []struct {
		title string
		lines []string
	}{{"operations before", s.Before}, {"on the disk", s.Files}} {
		fmt.Fprintf(&b, "\n  %s:", part.title)
		for _, line := range part.lines {
			fmt.Fprintf(&b, "\n    %s", line)
		}
		if len(part.lines) == 0 {
			b.WriteString(" nothing")
		}
	}
	return b.String()
}

// numbers names changes: they were made one after the other.
func numbers(changes []int) string {
	switch n := len(changes); n {
	case 0:
		return "none"
	case 1:
		return fmt.Sprintf("change %d", changes[0])
	default:
		return fmt.Sprintf("changes %d to %d", changes[0], changes[n-1])
	}
}

// replay judges a state that was kept.
func (r *rig) replay(dir string) {
	r.t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, storyName))
	r.must("replay", err)
	var s story
	r.must("replay "+dir, json.Unmarshal(data, &s))
	if s.Test != r.t.Name() {
		r.t.Skipf("crashtest: %s is of %s", dir, s.Test)
	}
	state := filepath.Join(r.dir, "replay")
	r.must("copy the state", os.CopyFS(state, os.DirFS(filepath.Join(dir, stateName))))
	j := judge{rig: r}
	defer j.close()
	v := j.ask(request{Judge: state, History: s.History, More: moreChanges})
	r.must("judge", v.err)
	switch {
	case v.late:
		r.t.Fatalf("crashtest: no answer within %v", patience)
	case v.broken != "":
		s.Found = v.broken
		r.t.Fatal(s.text())
	}
	r.t.Logf("crashtest: the state in %s breaks nothing now; it did: %s", dir, s.Found)
}
