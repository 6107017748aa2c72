package prove

import (
	"context"
	"errors"
	"os"

	"github.com/assaydb/assay/lab/powerfs"
)

// rig is a mounted disk that can lose power.
type rig struct {
	disk  *powerfs.Disk
	mount *powerfs.Mount
	dir   string
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

// crash unmounts the disk, which no process uses any more, and returns the moment of its cut, which is now unless it
// was before.
func (g *rig) crash() (*powerfs.Crash, error) {
	err := g.unmount()
	return g.disk.Crash(), err
}

func (g *rig) unmount() error {
	if g.mount == nil {
		return nil
	}
	err := g.mount.Unmount()
	g.mount = nil
	return errors.Join(err, os.Remove(g.dir))
}

func (g *rig) close() error { return errors.Join(g.unmount(), g.disk.Close()) }

// run is what came of a writer process on a rig.
type run struct {
	ledger  ledger
	trouble error // what went wrong while power was on
	at      int64
}

// runUntilCut has a process commit until power fails before operation cut, or until it has done all that spec says:
// then it fails at that moment. A cut of 0 is never reached.
func (l *lane) runUntilCut(ctx context.Context, g *rig, spec writeSpec, cut uint64) (run, error) {
	arm := func(pid int) {
		if cut > 0 {
			g.disk.CutBefore(cut, func() { _ = g.mount.Settle(pid) }) // unsettled, some mapped pages are not there to choose from
		}
	}
	w, err := startWriter(l.Child, spec, 0, arm)
	if err != nil {
		return run{}, err
	}
	limited, cancel := context.WithTimeout(ctx, l.Hang)
	defer cancel()
	d, err := w.wait(limited, g.disk.Down())
	ended := w.ended()
	_, off := g.disk.CutAt()
	g.disk.Cut()
	at, _ := g.disk.CutAt()
	r := run{ledger: w.stop(), at: at}
	switch {
	case ctx.Err() != nil:
		return r, ctx.Err()
	case off: // what it said afterwards is of a disk without power
	case err != nil:
		r.trouble = errHung(l.Hang)
	default:
		r.trouble = trouble(d, r.ledger, ended)
	}
	return r, nil
}
