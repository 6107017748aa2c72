package powertest

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sync"

	"github.com/assaydb/assay/lab/child"
)

// role is the last argument of a test binary that is a child.
const role = "powertest-child"

// request is what a child is to do; the field that is set says it.
type request[R any] struct {
	Work    string     `json:",omitempty"` // the folder to work in
	Hold    int        `json:",omitempty"` // after so many acknowledgements whoever says more waits; 0 is never
	Check   string     `json:",omitempty"` // the folder to check
	History History[R] `json:",omitzero"`  // of what is to be checked
}

// message is what a child says: any number of Tried and Done, and one Ended, which ends the
// request.
type message[R any] struct {
	Tried *R      `json:",omitempty"`
	Done  *R      `json:",omitempty"`
	At    int64   `json:",omitempty"` // of Done, by powerfs.Now
	Ended *string `json:",omitempty"` // "" or an error
}

// serve does what the parent says and ends the process, if this one is a child.
func serve[R any](c Case[R]) {
	if flag.Arg(0) != role {
		return
	}
	var mu sync.Mutex
	done, hold := 0, 0
	say := func(m message[R]) {
		line, err := json.Marshal(m)
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			_, err = os.Stdout.Write(append(line, '\n')) // one call: a process that is killed has said it or not
		}
		if err != nil {
			panic(fmt.Sprintf("tell the parent: %v", err)) // it has died, or R is no JSON
		}
		if m.Done != nil {
			done++
		}
		if done > 0 && done == hold {
			select {} // with the lock, until power fails
		}
	}
	err := child.Serve(os.Stdin, os.Stdout, func(r request[R]) message[R] {
		var err error
		hold = r.Hold
		if r.Work != "" {
			err = c.Work(r.Work, &Log[R]{say})
		} else {
			err = c.Check(r.Check, r.History)
		}
		text := ""
		if err != nil {
			text = err.Error()
		}
		return message[R]{Ended: &text}
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
