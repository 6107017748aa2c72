//go:build unix

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
)

// escapes matches every escape sequence.
var escapes = regexp.MustCompile(`\x1b`)

// colours matches an escape sequence that sets one.
var colours = regexp.MustCompile(`\x1b\[([0-9;]*;)?(3[0-8]|4[0-8]|9[0-7]|10[0-7])[0-9;]*m`)

// TestATextTerminalGetsText runs commands in terminals that are to show text alone, where nothing
// that they write is an escape sequence, or no colours, where none sets one.
func TestATextTerminalGetsText(t *testing.T) {
	for name, env := range map[string][]string{
		"dumb": {"TERM=dumb", "NO_COLOR="}, "no color": {"TERM=xterm-256color", "NO_COLOR=1"},
	} {
		t.Run(name, func(t *testing.T) {
			dumb := name == "dumb"
			t.Parallel()
			dir := t.TempDir()
			store, out, proof := filepath.Join(dir, "store"), filepath.Join(dir, "out"), filepath.Join(dir, "proof")
			db, err := kv.Open(t.Context(), "bbolt:"+store)
			if err := errors.Join(err, db.Close()); err != nil {
				t.Fatal(err)
			}
			for _, c := range []struct {
				shows []string
				args  []string
			}{
				{[]string{"hook get", "[1/1]"}, []string{"run", "hook/get?keys=100", "--engines",
					"a=bbolt:,b=bbolt:", "--rounds", "5", "--budget", "20s", "--dir", dir, "--out", out}},
				{[]string{"hook get"}, []string{"report", out}},
				{[]string{"/op"}, []string{"report", out, "--all", "--explain"}},
				{[]string{store}, []string{"watch", store, "--once"}},
				{[]string{"bbolt", "flushed"}, []string{"prove", "--engines", "bbolt", "--durability", "flushed",
					"--faults", "kill", "--rounds", "1", "--budget", "1m", "--seed", "7", "--dir", dir, "--out", proof}},
				{[]string{"bbolt"}, []string{"report", filepath.Join(proof, "prove.json")}},
			} {
				w := inTerminalWith(t, env, c.args...)
				if err := w.cmd.Wait(); err != nil {
					t.Errorf("%v: %v", c.args, err)
				}
				w.press("", c.shows...)
				w.hasNo(colours)
				if dumb {
					w.hasNo(escapes)
				}
			}
			w := inTerminalWith(t, env, "watch", store, "--every", "10ms")
			w.press("", "\n")
			w.press("", "\n")
			w.interrupted()
			w.hasNo(colours)
			if !dumb {
				return
			}
			w.hasNo(escapes)

			w = inTerminalWith(t, env, "advise")
			w.press("", "What does the program do?", "Enter a number")
			w.press("1\n", "Enter a number")
			w.press("0\n", "How much more often")
			w.press("\n", "What must a commit survive", "Enter a number")
			w.interrupted()
			w.hasNo(escapes)
		})
	}
}

// TestQuestionsInTextEndWithTheirInput ends the input before the first answer: a question that must
// have one is not asked again for ever.
func TestQuestionsInTextEndWithTheirInput(t *testing.T) {
	w := inTerminalWith(t, []string{"TERM=dumb", "NO_COLOR="}, "advise")
	w.press("", "What does the program do?", "Enter a number")
	w.press("\x04", "the input ended before all questions were answered")
	if exit := new(exec.ExitError); !errors.As(w.ends(), &exit) || exit.ExitCode() != 1 {
		t.Errorf("it ends with %v, want exit status 1", exit)
	}
}

// hasNo fails if the terminal was sent what matches sequence.
func (b *terminal) hasNo(sequence *regexp.Regexp) {
	b.t.Helper()
	if all := b.shown.since(0); sequence.MatchString(all) {
		b.t.Errorf("%v: the terminal gets %q", b.cmd.Args, all)
	}
}

// interrupted interrupts the command, and fails unless it ends with the status of that.
func (b *terminal) interrupted() {
	b.t.Helper()
	if err := b.cmd.Process.Signal(os.Interrupt); err != nil {
		b.t.Fatal(err)
	}
	if exit := new(exec.ExitError); !errors.As(b.ends(), &exit) || exit.ExitCode() != 130 {
		b.t.Errorf("%v: interrupted it ends with %v, want exit status 130", b.cmd.Args, exit)
	}
}

// ends waits for the end of the command. Only a hang lasts a minute.
func (b *terminal) ends() error {
	b.t.Helper()
	hung := time.AfterFunc(time.Minute, func() { _ = b.cmd.Process.Kill() })
	err := b.cmd.Wait()
	if !hung.Stop() {
		b.t.Errorf("%v hangs", b.cmd.Args)
	}
	return err
}
