package powerfs

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Operations of io_uring(7).
const (
	ringFsync = 3
	ringWrite = 23
)

// ringSizes is struct io_uring_params of linux/io_uring.h, of which what is needed has names.
type ringSizes struct {
	entries, results uint32
	_                [9]uint32
	tail             uint32
	_                [4]uint32
	index            uint32
	_                [8]uint32
	resultsAt        uint32
	_                [4]uint32
}

// ring does one operation on a file by io_uring, at its beginning.
func ring(operation byte, fd int, b []byte) error {
	var sizes ringSizes
	made, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&sizes)), 0)
	if errno != 0 {
		return fmt.Errorf("io_uring: %w", errno)
	}
	const (
		entrySize, resultSize = 64, 16
		entriesAt             = 0x10000000 // IORING_OFF_SQES
		wait                  = 1          // IORING_ENTER_GETEVENTS
	)
	size := int(max(sizes.index+4*sizes.entries, sizes.resultsAt+resultSize*sizes.results))
	queues, err := unix.Mmap(int(made), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	entries, err := unix.Mmap(int(made), entriesAt, entrySize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	entries[0] = operation
	binary.LittleEndian.PutUint32(entries[4:], uint32(fd))
	if len(b) > 0 {
		binary.LittleEndian.PutUint64(entries[16:], uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))))
		binary.LittleEndian.PutUint32(entries[24:], uint32(len(b)))
	}
	binary.LittleEndian.PutUint32(queues[sizes.index:], 0)
	binary.LittleEndian.PutUint32(queues[sizes.tail:], 1)
	if _, _, errno := unix.Syscall6(unix.SYS_IO_URING_ENTER, made, 1, 1, wait, 0, 0); errno != 0 {
		return fmt.Errorf("io_uring: %w", errno)
	}
	runtime.KeepAlive(b)
	if got := int32(binary.LittleEndian.Uint32(queues[sizes.resultsAt+8:])); got != int32(len(b)) {
		return fmt.Errorf("io_uring: %d, want %d", got, len(b))
	}
	return nil
}

// needsRing skips a test of a role that needs io_uring where there is none.
func needsRing(t *testing.T, role string) {
	t.Helper()
	if !strings.HasPrefix(role, "io_uring") {
		return
	}
	var sizes ringSizes
	made, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&sizes)), 0)
	if errno != 0 {
		t.Skipf("NOT TESTED: this machine lets nobody use io_uring: %v", errno)
	}
	unix.Close(int(made))
}

// What a process asks for that is taken in a way of its own is told, and nothing else.
func TestWhatIsTakenInAWayOfItsOwnIsTold(t *testing.T) {
	for role, want := range map[string][]Use{
		"write": nil, "fdatasync": nil, "munmap": nil, "MS_ASYNC": nil, "copy_file_range": nil, "punch hole": nil,
		"O_SYNC": {UseSynced}, "O_DSYNC": {UseSynced}, "O_DIRECT": {UseDirect}, "RWF_DSYNC": {UseFlagged},
		"MS_SYNC": {UseMsync}, "sync_file_range": {UseRange}, "syncfs": {UseSyncAll}, "io_uring fsync": {UseRing},
		"collapse range, which is refused": {UseShift},
	} {
		t.Run(role, func(t *testing.T) {
			needsRing(t, role)
			d, m := mounted(t, Options{})
			if _, lines := startsHandedOver(t, role, m); !lines.Scan() {
				t.Fatal("the child did not do its work")
			}
			if got := d.Uses(); !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
