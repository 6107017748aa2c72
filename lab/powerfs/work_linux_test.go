package powerfs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// daemon serves a disk on args[0] until it is killed.
func daemon(dir string) error {
	d, err := New(Options{})
	if err != nil {
		return err
	}
	if _, err := d.Mount(dir); err != nil {
		return err
	}
	fmt.Println("mounted")
	_, err = os.Stdin.Read(make([]byte, 1))
	return err
}

// busy does everything at once, until it fails or is stopped: mapped writes that are acknowledged
// by number, truncations, writes, reads and syncs, of files of its own each.
func busy(dir string) error {
	failed := make(chan error)
	for _, name := range []string{"mapped", "truncated", "written", "synced"} {
		if err := old(filepath.Join(dir, name), 64); err != nil {
			return err
		}
	}
	worker := func(name string, do func(fd, i int) error) {
		fd, err := unix.Open(filepath.Join(dir, name), unix.O_RDWR, 0)
		for i := 1; err == nil; i++ {
			err = do(fd, i)
		}
		failed <- fmt.Errorf("%s: %w", name, err)
	}
	var b []byte
	go worker("mapped", func(fd, i int) (err error) {
		if b == nil {
			if b, err = unix.Mmap(fd, 0, 64*pageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
				return err
			}
		}
		binary.LittleEndian.PutUint64(b[i%64*pageSize:], uint64(i))
		_, err = fmt.Println(i, monotonicNow())
		return err
	})
	go worker("truncated", func(fd, i int) error {
		c, err := unix.Mmap(fd, 0, pageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != nil {
			return err
		}
		c[0] = byte(i)
		return errors.Join(unix.Ftruncate(fd, int64(i%64+1)*pageSize), unix.Munmap(c))
	})
	go worker("written", func(fd, i int) error {
		_, err := unix.Pwrite(fd, xs, int64(i%64)*pageSize)
		return err
	})
	go worker("synced", func(fd, i int) error {
		if _, err := unix.Pwrite(fd, xs, int64(i%64)*pageSize); err != nil {
			return err
		}
		return unix.Fsync(fd)
	})
	return <-failed
}

// workOn does something in the folder args[0] that a process does, says so, and waits to be killed.
func workOn(role string, args []string) error {
	switch role {
	case "daemon":
		return daemon(args[0])
	case "waiting daemon":
		return waitingDaemon(args[0])
	case "descriptors":
		return descriptors()
	case "busy":
		return busy(args[0])
	case "real":
		return realChild(args)
	case handsOver:
		f, err := HandOverSyncs()
		if err != nil {
			return err
		}
		defer f.Close() // not before: it is taken once its number is read
		fmt.Println(f.Fd())
		return workOn(args[1], args[:1])
	case "amid":
		return amid(filepath.Join(args[0], "old"))
	case "told":
		return told(args[0])
	}
	do, ok := works[role]
	if !ok {
		do, ok = callsOn(role)
	}
	if !ok {
		return fmt.Errorf("no role %s", role)
	}
	if err := do(filepath.Join(args[0], "f")); err != nil {
		return fmt.Errorf("%s: %w", role, err)
	}
	fmt.Println("done")
	_, err := os.Stdin.Read(make([]byte, 1))
	return err
}

// works are ways to write a page of x to a new file of one page, which is synced as a page of o,
// with its entry.
var works = map[string]func(path string) error{
	"write":     func(path string) error { return rewrite(path, 0, nil) },
	"close":     func(path string) error { return closing(path) },
	"fsync":     func(path string) error { return rewrite(path, 0, unix.Fsync) },
	"fdatasync": func(path string) error { return rewrite(path, 0, unix.Fdatasync) },
	"O_SYNC":    func(path string) error { return rewrite(path, unix.O_SYNC, nil) },
	"O_DSYNC":   func(path string) error { return rewrite(path, unix.O_DSYNC, nil) },
	"RWF_DSYNC": func(path string) error {
		return opened(path, 0, func(fd int) error {
			_, err := unix.Pwritev2(fd, [][]byte{xs}, 0, unix.RWF_DSYNC)
			return err
		})
	},
	"sync_file_range": func(path string) error {
		return rewrite(path, 0, func(fd int) error {
			return unix.SyncFileRange(fd, 0, 0, unix.SYNC_FILE_RANGE_WAIT_BEFORE|unix.SYNC_FILE_RANGE_WRITE|
				unix.SYNC_FILE_RANGE_WAIT_AFTER)
		})
	},
	"O_DIRECT":                  func(path string) error { return direct(path, nil) },
	"O_DIRECT and fsync":        func(path string) error { return direct(path, unix.Fsync) },
	"copy_file_range":           func(path string) error { return copiedFrom(path, nil) },
	"copy_file_range and fsync": func(path string) error { return copiedFrom(path, unix.Fsync) },
	"io_uring write": func(path string) error {
		return opened(path, 0, func(fd int) error { return ring(ringWrite, fd, xs) })
	},
	"io_uring fsync": func(path string) error {
		return rewrite(path, 0, func(fd int) error { return ring(ringFsync, fd, nil) })
	},
	"syncfs": func(path string) error { return rewrite(path, 0, unix.Syncfs) },
	"mmap":   func(path string) error { return mapped(path, 1, nil) },
	"mmap and sync_file_range": func(path string) error {
		return opened(path, 0, func(fd int) error {
			b, err := unix.Mmap(fd, 0, pageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
			if err != nil {
				return err
			}
			copy(b, xs)
			return unix.SyncFileRange(fd, 0, 0, unix.SYNC_FILE_RANGE_WAIT_BEFORE|unix.SYNC_FILE_RANGE_WRITE|
				unix.SYNC_FILE_RANGE_WAIT_AFTER)
		})
	},
	"mmap and fdatasync": func(path string) error {
		return opened(path, 0, func(fd int) error {
			b, err := unix.Mmap(fd, 0, pageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
			if err != nil {
				return err
			}
			copy(b, xs)
			return unix.Fdatasync(fd)
		})
	},
	"many pages": func(path string) error { return mapped(path, 4096, nil) },
	"MS_SYNC": func(path string) error {
		return mapped(path, 1, func(b []byte) error { return unix.Msync(b, unix.MS_SYNC) })
	},
	"MS_ASYNC": func(path string) error {
		return mapped(path, 1, func(b []byte) error { return unix.Msync(b, unix.MS_ASYNC) })
	},
	"lock": func(path string) error {
		return opened(path, 0, func(fd int) error {
			l := unix.Flock_t{Type: unix.F_WRLCK, Len: 1}
			return errors.Join(unix.Flock(fd, unix.LOCK_EX), unix.FcntlFlock(uintptr(fd), unix.F_SETLK, &l))
		})
	},
	"munmap": func(path string) error { return mapped(path, 1, unix.Munmap) },
}

var xs = []byte(strings.Repeat("x", pageSize))

// old makes the file, durable, of pages pages of o.
func old(path string, pages int) error {
	if err := os.WriteFile(path, []byte(strings.Repeat("o", pages*pageSize)), 0o644); err != nil {
		return err
	}
	for _, what := range []string{path, filepath.Dir(path)} {
		f, err := os.Open(what)
		if err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
		f.Close()
	}
	return nil
}

func opened(path string, flags int, do func(fd int) error) error {
	if err := old(path, 1); err != nil {
		return err
	}
	fd, err := unix.Open(path, unix.O_RDWR|flags, 0)
	if err != nil {
		return err
	}
	return do(fd)
}

func rewrite(path string, flags int, then func(fd int) error) error {
	return opened(path, flags, func(fd int) error {
		if _, err := unix.Pwrite(fd, xs, 0); err != nil || then == nil {
			return err
		}
		return then(fd)
	})
}

// direct writes past the kernel's cache.
func direct(path string, then func(fd int) error) error {
	return opened(path, unix.O_DIRECT, func(fd int) error {
		const own = unix.MAP_ANON | unix.MAP_PRIVATE
		b, err := unix.Mmap(-1, 0, pageSize, unix.PROT_READ|unix.PROT_WRITE, own) // a page is aligned
		if err != nil {
			return err
		}
		copy(b, xs)
		if _, err := unix.Pwrite(fd, b, 0); err != nil || then == nil {
			return err
		}
		return then(fd)
	})
}

// copiedFrom has the kernel copy from another file, which has no name any more.
func copiedFrom(path string, then func(fd int) error) error {
	return opened(path, 0, func(fd int) error {
		from, err := unix.Open(path+".from", unix.O_RDWR|unix.O_CREAT|unix.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = unix.Pwrite(from, xs, 0)
		if err = errors.Join(err, unix.Unlink(path+".from")); err != nil {
			return err
		}
		if n, err := unix.CopyFileRange(from, nil, fd, nil, pageSize, 0); n != pageSize {
			return fmt.Errorf("%d bytes were copied: %v", n, err)
		}
		if then == nil {
			return nil
		}
		return then(fd)
	})
}

func closing(path string) error { return rewrite(path, 0, unix.Close) }

// mapped changes one byte of each page through a mapping.
func mapped(path string, pages int, then func([]byte) error) error {
	if err := old(path, pages); err != nil {
		return err
	}
	fd, err := unix.Open(path, unix.O_RDWR, 0)
	if err != nil {
		return err
	}
	b, err := unix.Mmap(fd, 0, pages*pageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	for i := range b {
		b[i] = 'x'
	}
	if then == nil {
		return nil
	}
	return then(b)
}
