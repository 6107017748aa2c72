package crashtest

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/assaydb/assay/lab/child"
	"github.com/assaydb/assay/lab/powerfs"
)

// role is the last argument of a test binary that is a child.
const role = "crashtest-child"

// request is what a child is to do: the work, or to judge a state.
type request struct {
	Work    string  `json:",omitempty"` // the folder to work in
	Changes int     `json:",omitempty"`
	Reopen  int     `json:",omitempty"`
	Judge   string  `json:",omitempty"` // the folder to judge
	History History `json:",omitzero"`
	More    int     `json:",omitempty"` // changes to make in a store that was found whole
}

// message is what a child says: Began and Done of each change, and one Ended, which ends the
// request.
type message struct {
	Began *int    `json:",omitempty"`
	Done  *int    `json:",omitempty"`
	At    int64   `json:",omitempty"` // by powerfs.Now
	Ended *string `json:",omitempty"` // "" or an error
}

// serve does what the parent says and ends the process, if this one is a child.
func serve[S io.Closer](s Store[S]) {
	if flag.Arg(0) != role {
		return
	}
	out := os.Stdout
	os.Stdout = os.Stderr // the store may print
	say := func(m message) {
		m.At = powerfs.Now()
		line, err := json.Marshal(m)
		if err == nil {
			_, err = out.Write(append(line, '\n')) // one call: a process that is killed has said it or not
		}
		if err != nil {
			panic(fmt.Sprintf("tell the parent: %v", err)) // it has died
		}
	}
	err := child.Serve(os.Stdin, out, func(r request) message {
		var err error
		if r.Work != "" {
			err = s.work(r, say)
		} else {
			err = s.judge(r)
		}
		text := ""
		if err != nil {
			text = err.Error()
		}
		return message{Ended: &text}
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// work makes the changes, and tells of each.
func (s Store[S]) work(r request, say func(message)) error {
	for i := 0; i < r.Changes; {
		err := s.with(r.Work, func(open S) error {
			for first := i; i < min(first+r.Reopen, r.Changes); i++ {
				say(message{Began: &i})
				if err := s.Do(open, i); err != nil {
					return fmt.Errorf("change %d: %w", i, err)
				}
				say(message{Done: &i})
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// judge returns what is wrong with what a crash has left. It opens the store again, as a recovery
// may eat its own work, and goes on working in it.
func (s Store[S]) judge(r request) error {
	h := r.History
	known := true // whether what was begun is there
	err := s.with(r.Judge, func(open S) error {
		err := s.Check(open, h)
		if err == nil && len(h.Maybe) > 0 {
			h, known = s.settled(open, h)
		}
		return err
	})
	if err != nil {
		return err
	}
	err = s.with(r.Judge, func(open S) error {
		if err := s.Check(open, h); err != nil {
			return fmt.Errorf("closed and opened again: %w", err)
		}
		if !known {
			return nil
		}
		for next := len(r.History.Done) + len(r.History.Maybe); r.More > 0; r.More-- {
			if err := s.Do(open, next); err != nil {
				return fmt.Errorf("change %d, made after the crash: %w", next, err)
			}
			h.Done = append(h.Done, next)
			next++
		}
		return nil
	})
	if err != nil || !known {
		return err
	}
	if err := s.with(r.Judge, func(open S) error { return s.Check(open, h) }); err != nil {
		return fmt.Errorf("after more changes, up to %d: %w", h.Done[len(h.Done)-1], err)
	}
	return nil
}

// settled finds out by the check whether what was begun is there: from now on it is, or never was.
// A check that takes neither, or does not tell, leaves it open.
func (s Store[S]) settled(open S, h History) (History, bool) {
	there := History{Done: slices.Concat(h.Done, h.Maybe)}
	absent := History{Done: slices.Clone(h.Done)}
	is, not := s.Check(open, there) == nil, s.Check(open, absent) == nil
	switch {
	case is && !not:
		return there, true
	case not && !is:
		return absent, true
	}
	return h, false
}

// with opens the store for do and closes it.
func (s Store[S]) with(dir string, do func(S) error) error {
	open, err := s.Open(dir)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	err = do(open)
	if e := open.Close(); e != nil {
		err = errors.Join(err, fmt.Errorf("close: %w", e))
	}
	return err
}
