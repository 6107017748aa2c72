package sqlite_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/assaydb/assay/engines/internal/sqlite"
	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/powertest"
)

func TestALogOfWhichAFrameCannotBeReadIsNotCut(t *testing.T) {
	disk := powertest.NewDisk(t, nil)
	path := filepath.Join(disk.Dir(), "db")
	db := open(t, "sqlite", path, "")
	for i := range 3 {
		put(t, db, fmt.Sprint(i), "")
	}
	before := content(t, path+"-wal")
	for frame := range int64(3) {
		name := filepath.Join(disk.Dir(), fmt.Sprint("log", frame))
		if err := os.WriteFile(name, before, 0o600); err != nil {
			t.Fatal(err)
		}
		log, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		// The kernel has it in its cache, of which no read fails.
		if err := errors.Join(log.Sync(), unix.Fadvise(int(log.Fd()), 0, 0, unix.FADV_DONTNEED)); err != nil {
			t.Fatal(err)
		}
		disk.Arm(powerfs.Fault{Op: powerfs.OnRead, Nth: 1, Err: syscall.EIO, Sticky: true, Match: filepath.Base(name),
			At: 32 + frame*(24+4096)})
		if err := sqlite.ClearFrames(log, frame, nil); !errors.Is(err, syscall.EIO) {
			t.Errorf("frame %d cannot be read: got %v", frame, err)
		}
	}
}
