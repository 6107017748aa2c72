package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal opens a terminal of 80 × 24 without a screen, and collects what is written to it.
func terminal(t *testing.T) (tty *os.File, shown *output) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("NOT TESTED: no terminal can be made: %v", err)
	}
	t.Cleanup(func() { master.Close() })
	fd := int(master.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80})
	}
	if err != nil {
		t.Skipf("NOT TESTED: no terminal can be made: %v", err)
	}
	if tty, err = os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Skipf("NOT TESTED: no terminal can be made: %v", err)
	}
	t.Cleanup(func() { tty.Close() })
	shown = new(output)
	go io.Copy(shown, master) // until both are closed
	return tty, shown
}

func TestWatchRestoresTheTerminal(t *testing.T) {
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	path, _, _ := served(t)
	tty, shown := terminal(t)
	ctx, interrupt := context.WithCancel(t.Context())
	ended := make(chan int)
	go func() { ended <- Run(ctx, []string{"watch", path, "--every", "10ms"}, tty, tty, io.Discard, nil) }()
	shown.await(t, `(?s)\x1b\[\?1049h\x1b\[\?25l.*\x1b\[H.*app.db  bbolt.*\x1b\[J.*\x1b\[H`)
	interrupt()
	if status := <-ended; status != exitInterrupted {
		t.Errorf("status %d", status)
	}
	shown.await(t, `(?s)\x1b\[\?25h\x1b\[\?1049l.*app.db  bbolt.*\n`) // the last look stays
	for _, l := range strings.Split(shown.String(), "\n") {
		if n := len([]rune(l)); n > 80+len("\x1b[?1049h\x1b[?25l\x1b[H\x1b[1;36m\x1b[m\x1b[K\r")+20 {
			t.Errorf("%d characters on a terminal of 80: %q", n, l)
		}
	}
}
