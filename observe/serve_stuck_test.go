package observe

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
)

// TestAProgramThatIsStoppedIsTold listens as a program does that is stopped: the system takes the
// call, and nobody answers.
func TestAProgramThatIsStoppedIsTold(t *testing.T) {
	defer func(d time.Duration) { patience = d }(patience)
	patience = 50 * time.Millisecond
	socket := filepath.Join(t.TempDir(), "a")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = Fetch(t.Context(), socket)
	if kv.KindOf(err) != kv.Busy || !strings.Contains(err.Error(), "no answer within 50ms") || kv.HintOf(err) == "" {
		t.Errorf("got %v, want that there is no answer, and what to do", err)
	}
	patience = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Fetch(ctx, socket); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v once the caller has given up, want its context's error", err)
	}
}
