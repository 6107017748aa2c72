package child

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// Serve is the child's end: it decodes requests from in, one at a time, and encodes what answer
// returns to out, until in ends.
//
// If in ends while a request is being worked on, the parent has died, and Serve exits the process
// at once: there is nobody to answer, and what the child was working in is the next run's to
// remove.
func Serve[Request, Answer any](in io.Reader, out io.Writer, answer func(Request) Answer) error {
	requests := make(chan Request)
	var broken error
	go func() {
		defer close(requests)
		for dec := json.NewDecoder(in); ; {
			var r Request
			if err := dec.Decode(&r); err != nil {
				if !errors.Is(err, io.EOF) {
					broken = fmt.Errorf("read request: %w", err)
				}
				return
			}
			requests <- r
		}
	}()
	enc := json.NewEncoder(out)
	for {
		r, ok := <-requests
		if !ok {
			return broken
		}
		done := make(chan Answer, 1)
		go func() { done <- answer(r) }()
		select {
		case a := <-done:
			if err := enc.Encode(a); err != nil {
				return fmt.Errorf("answer: %w", err)
			}
		case <-requests: // the parent sends one request at a time, so this is the end of in
			os.Exit(1)
		}
	}
}
