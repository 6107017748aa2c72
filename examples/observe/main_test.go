package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assaydb/assay/observe"
)

// lines keeps what is logged.
type lines struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// TestARunningProgramIsWatched runs the program on each engine, and looks at it by its socket and
// by HTTP.
func TestARunningProgramIsWatched(t *testing.T) {
	for _, engine := range []string{"pebble", "sqlite"} {
		path := filepath.Join(t.TempDir(), "orders")
		ctx, cancel := context.WithCancel(t.Context())
		var log lines
		ended := make(chan error, 1)
		go func() { ended <- run(ctx, engine+":"+path, "localhost:0", slog.New(slog.NewTextHandler(&log, nil))) }()
		worked := func(f observe.Figures) bool {
			var writes, updates int64
			for _, op := range f.Ops {
				switch op.Op {
				case "write":
					writes += op.Count
				case "update":
					updates += op.Count
				}
			}
			return writes > 0 && updates > 0 && len(f.Running) > 0
		}
		var f observe.Figures
		for {
			if now, err := observe.Fetch(t.Context(), observe.SocketOf(path)); err == nil && worked(now) {
				f = now
				break
			}
			select {
			case err := <-ended:
				t.Fatalf("%s: it ended: %v\n%s", engine, err, &log)
			case <-time.After(10 * time.Millisecond):
			}
		}
		if f.Engine != engine || f.Store.Size.Files == 0 || !strings.Contains(strings.Join(f.Running[0].Where, " "),
			".hold ") {
			t.Errorf("%s: got the files %+v, running %+v", engine, f.Store, f.Running)
		}
		page := regexp.MustCompile(`http://\S+/debug/store`).FindString(log.String())
		if f, err := observe.Fetch(t.Context(), page); err != nil || !worked(f) {
			t.Errorf("%s, over HTTP: %v", engine, err)
		}
		response, err := http.Get(strings.Replace(page, "/debug/store", "/metrics", 1))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || !strings.Contains(string(text), `assay_operation_seconds_bucket{class="synced",op="write",store="orders"`) {
			t.Errorf("%s: no latencies for Prometheus: %v\n%s", engine, err, text)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("%s: %v", engine, err)
		}
	}
}
