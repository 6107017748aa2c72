package buntkv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/assaydb/assay/kv/driver"
)

func openAt(t *testing.T, path string) (*store, error) {
	t.Helper()
	s, err := Driver{}.Open(t.Context(), driver.Config{Path: path, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	return s.(*store), nil
}

// crashed returns the bytes of a store with a synced commit for each of n, as a kill leaves them: not closed.
func crashed(t *testing.T, n int) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.db")
	s, err := openAt(t, path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range n {
		if err := s.Apply(t.Context(), commitOf(i), driver.Synced); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// commitOf returns a commit of three pairs that takes several sectors.
func commitOf(i int) []driver.Op {
	var ops []driver.Op
	for j := range 3 {
		ops = append(ops, driver.Op{Key: fmt.Appendf(nil, "%03d/%d", i, j), Value: bytes.Repeat([]byte{'a' + byte(i)}, 900)})
	}
	return ops
}

// commits returns how many of the commits are whole in the store at path, and fails on one that is not.
func commits(t *testing.T, path string) (n int, err error) {
	t.Helper()
	s, err := openAt(t, path)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	r, err := s.Snapshot(context.Background())
	if err != nil {
		return 0, err
	}
	defer r.Close()
	for ; ; n++ {
		for j, op := range commitOf(n) {
			v, err := r.Get(nil, op.Key)
			switch {
			case errors.Is(err, driver.NotFound) && j == 0:
				return n, nil
			case err != nil || !bytes.Equal(v, op.Value):
				return n, fmt.Errorf("commit %d is there in part: %v", n, err)
			}
		}
	}
}

func TestACommitThatPowerLossToreIsCutOff(t *testing.T) {
	const sector = 512
	before, after := crashed(t, 3), crashed(t, 4)
	// BuntDB writes the pairs of a commit in any order, so the two stores differ: the fourth commit is told by the marks.
	_, start := lastMark(after[:len(after)-int(markSize)])
	if start == 0 || len(before) == 0 {
		t.Fatal("no marks were found")
	}
	for at := (start/sector + 1) * sector; at+sector <= int64(len(after)); at += sector {
		torn := slices.Clone(after)
		clear(torn[at : at+sector]) // this sector was not written, the later ones were
		path := filepath.Join(t.TempDir(), "s.db")
		if err := os.WriteFile(path, torn, 0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 { // once to mend it, once to read what was mended
			if n, err := commits(t, path); err != nil || n != 3 {
				t.Errorf("without the sector at %d: %d commits, %v; want the 3 that were synced", at, n, err)
			}
		}
	}
}

func TestDamageToAClosedStoreIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	s, err := openAt(t, path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		if err := s.Apply(t.Context(), commitOf(i), driver.Flushed); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	copy(b[bytes.LastIndex(b, []byte("*3\r\n$3\r\nset\r\n$5")):], "garbage")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if n, err := commits(t, path); driver.KindOf(err) != driver.Corrupt {
		t.Errorf("%d commits, %v; want Corrupt: nothing tore it", n, err)
	}
	if now, _ := os.ReadFile(path); !bytes.Equal(now, b) {
		t.Error("the damaged file was changed")
	}
}

func TestFlushedCommitsSurviveAKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	s, err := openAt(t, path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i, d := range []driver.Durability{driver.Flushed, driver.Synced, driver.Flushed, driver.Flushed} {
		if err := s.Apply(t.Context(), commitOf(i), d); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		begun := append(slices.Clone(b), "*3\r\n$3\r\nset\r\n$5\r\n9"...) // the kill came in the midst of a write
		for _, left := range [][]byte{b, begun} {
			killed := filepath.Join(t.TempDir(), "s.db")
			if err := os.WriteFile(killed, left, 0o600); err != nil {
				t.Fatal(err)
			}
			if n, err := commits(t, killed); err != nil || n != i+1 {
				t.Errorf("killed after commit %d at %v: %d commits, %v", i, d, n, err)
			}
		}
	}
}

func TestNoCommitIsTakenAfterAFailure(t *testing.T) {
	s, err := openAt(t, filepath.Join(t.TempDir(), "s.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.file.Close() // its next sync fails
	if err := s.Apply(t.Context(), commitOf(0), driver.Synced); err == nil {
		t.Error("a commit whose sync failed was acknowledged")
	}
	if err := s.Apply(t.Context(), commitOf(1), driver.Flushed); err == nil {
		t.Error("a commit was taken after a failure")
	}
}

func TestZeroesAtTheEndAreNoEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	if err := os.WriteFile(path, append(crashed(t, 2), make([]byte, 5000)...), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := openAt(t, path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Apply(t.Context(), commitOf(2), driver.Synced); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := commits(t, path); err != nil || n != 3 {
		t.Errorf("%d commits, %v; want 3", n, err)
	}
}

func TestACompactionKeepsTheMarks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	s, err := openAt(t, path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range 2 {
		if err := s.Apply(t.Context(), commitOf(i), driver.Synced); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Apply(t.Context(), commitOf(2), driver.Synced); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, end := lastMark(b); end != int64(len(b)) {
		t.Errorf("the last mark ends at %d of %d bytes", end, len(b))
	}
}

func TestWithoutMarksTheFileIsBuntDBsAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	s, err := Driver{}.Open(t.Context(), driver.Config{Path: path, Params: map[string]string{"Marks": "false"}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Apply(t.Context(), commitOf(0), driver.Synced); driver.KindOf(err) != driver.Unsupported {
		t.Errorf("a synced commit: %v, want Unsupported", err)
	}
	for _, err := range []error{s.Apply(t.Context(), commitOf(0), driver.Flushed), s.(driver.Compacter).Compact(t.Context()), s.Close()} {
		if err != nil {
			t.Error(err)
		}
	}
	if b, err := os.ReadFile(path); err != nil || bytes.Contains(b, []byte(markHead)) {
		t.Errorf("the file has marks, or cannot be read: %v", err)
	}
}
