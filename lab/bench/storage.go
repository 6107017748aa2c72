package bench

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/assaydb/assay/lab/powerfs"
)

// storage is a disk of powerfs that is mounted in the run's folder.
type storage struct {
	path  string
	disk  *powerfs.Disk
	mount *powerfs.Mount
}

// openStorage mounts a disk with the given latency below dir. What does not fit into memory goes to
// a file in dir.
func openStorage(dir string, latency powerfs.Latency) (*storage, error) {
	path := filepath.Join(dir, "disk")
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	disk, err := powerfs.New(powerfs.Options{Latency: latency, SpillDir: dir})
	if err != nil {
		return nil, err
	}
	mount, err := disk.Mount(path)
	if err != nil {
		return nil, errors.Join(err, disk.Close())
	}
	return &storage{path: path, disk: disk, mount: mount}, nil
}

func (s *storage) close() error {
	return errors.Join(s.mount.Unmount(), s.disk.Close(), os.Remove(s.path))
}
