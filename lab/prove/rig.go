package prove

import (
	"errors"
	"os"

	"github.com/assaydb/assay/lab/powerfs"
)

// rig is a mounted disk that can lose power.
type rig struct {
	disk  *powerfs.Disk
	mount *powerfs.Mount
	dir   string
	// unsettled is why the disk may lack what the process had mapped and changed: images of it
	// would show what no power cut leaves. It is set before the power is off.
	unsettled error
}

// newRig mounts a disk.
func (l *lane) newRig(o powerfs.Options) (*rig, error) {
	o.SpillDir = l.dir.Path
	disk, err := powerfs.New(o)
	if err != nil {
		return nil, err
	}
	g := &rig{disk: disk, dir: l.folder("disk")}
	if err = os.Mkdir(g.dir, 0o700); err == nil {
		g.mount, err = disk.Mount(g.dir)
	}
	if err != nil {
		return nil, errors.Join(err, g.close())
	}
	return g, nil
}

// crash unmounts the disk, which no process uses any more, and returns the moment of its cut, which
// is now unless it was before. It is an error that the process could not be settled.
func (g *rig) crash() (*powerfs.Crash, error) {
	err := errors.Join(g.unsettled, g.unmount())
	return g.disk.Crash(), err
}

// settle stops the process and brings what it has mapped and changed to the disk.
func (g *rig) settle(pid int) { g.unsettled = errors.Join(g.unsettled, g.mount.Settle(pid)) }

func (g *rig) unmount() error {
	if g.mount == nil {
		return nil
	}
	err := g.mount.Unmount()
	g.mount = nil
	return errors.Join(err, os.Remove(g.dir))
}

func (g *rig) close() error { return errors.Join(g.unmount(), g.disk.Close()) }
