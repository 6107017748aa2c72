package child

import (
	"strings"
	"sync"
)

// tail keeps the first and the last of what a process writes to standard error.
type tail struct {
	mu          sync.Mutex
	first, last []byte
}

const tailSize = 8 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if room := tailSize - len(t.first); room > 0 {
		t.first = append(t.first, b[:min(room, len(b))]...)
	}
	t.last = append(t.last, b...)
	if len(t.last) > tailSize {
		t.last = t.last[len(t.last)-tailSize:]
	}
	return len(b), nil
}

// reason returns the line that says why the process ended: the one that Go's run-time system
// prints, or the last.
func (t *tail) reason() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := ""
	for line := range strings.Lines(string(t.first) + "\n" + string(t.last)) {
		line = strings.TrimSpace(line)
		for _, start := range []string{"panic: ", "fatal error: ", "unexpected fault address", "SIG"} {
			if strings.HasPrefix(line, start) {
				return line
			}
		}
		if line != "" {
			last = line
		}
	}
	return last
}
