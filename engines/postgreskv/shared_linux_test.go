package postgreskv_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assaydb/assay/engines/postgreskv/postgrestest"
)

// TestAKilledServerLeavesNoSharedMemory: of a killed server's shared memory nothing lies elsewhere
// than in its folder.
func TestAKilledServerLeavesNoSharedMemory(t *testing.T) {
	s := postgrestest.Start(t)
	data := filepath.Join(filepath.Dir(s.Socket()), "data")
	dynamic, err := filepath.Glob(filepath.Join(data, "pg_dynshmem", "*"))
	if err != nil || len(dynamic) == 0 {
		t.Errorf("no dynamic shared memory lies in the folder: %v", err)
	}
	text, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(strings.Split(string(text), "\n")[6])
	if !segmentIsThere(t, fields[1]) {
		t.Fatalf("segment %s of a server that runs is not there", fields[1])
	}
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	if segmentIsThere(t, fields[1]) {
		t.Errorf("segment %s of a server that was killed is there", fields[1])
	}
	if err := s.Launch(); err != nil {
		t.Error(err)
	}
}

// segmentIsThere reports whether System V's shared memory has a segment.
func segmentIsThere(t *testing.T, id string) bool {
	t.Helper()
	all, err := os.ReadFile("/proc/sysvipc/shm")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(all)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[1] == id {
			return true
		}
	}
	return false
}
