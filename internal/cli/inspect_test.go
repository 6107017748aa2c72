package cli

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"testing"

	_ "github.com/assaydb/assay/engines/bboltkv"
	"github.com/assaydb/assay/kv"
)

// interrupting ends a context at the first write.
type interrupting struct {
	bytes.Buffer
	end context.CancelFunc
}

func (w *interrupting) Write(p []byte) (int, error) {
	w.end()
	return w.Buffer.Write(p)
}

func TestALongScanEndsAtAnInterrupt(t *testing.T) {
	const pairs = 10_000
	url := "bbolt:" + filepath.ToSlash(filepath.Join(t.TempDir(), "store"))
	db, err := kv.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	var b kv.Batch
	for i := range pairs {
		b.Put(kv.AppendUint64(nil, uint64(i)), []byte("some value"))
	}
	if err := db.Write(t.Context(), kv.Flushed, &b); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	out := &interrupting{end: cancel}
	status := Run(ctx, []string{"inspect", url, "scan"}, nil, out, io.Discard, nil)
	if n := bytes.Count(out.Bytes(), []byte("\n")); status != 130 || n == pairs {
		t.Errorf("exit status %d after %d of %d pairs, want 130 after fewer", status, n, pairs)
	}
}
