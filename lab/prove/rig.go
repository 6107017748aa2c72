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
	// unsettled is why the disk may lack what the process had mapped and changed: images of it would show what no
	// power cut leaves. It is set before the power is off.
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

// crash unmounts the disk, which no process uses any more, and returns the moment of its cut, which is now unless it
// was before. It is an error that the process could not be settled.
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

// run is what came of a writer process on a rig.
type run struct {
	ledger  ledger
	trouble error // what went wrong while power was on
	hung    bool  // it had to be killed
	at      int64
}

// runUntilCut has a process commit until the moment at which power fails, or until it has done all that spec says: then
// power fails when it has. The zero moment never comes.
func (l *lane) runUntilCut(ctx context.Context, g *rig, spec writeSpec, cut moment) (run, error) {
	arm := func(pid int) {
		if cut.op > 0 {
			g.disk.CutBefore(cut.op, func() { g.settle(pid) })
		}
	}
	w, err := startWriter(l.Child, spec, cut.acks, arm)
	if err != nil {
		return run{}, err
	}
	limited, cancel := context.WithTimeout(ctx, l.Hang)
	defer cancel()
	event := g.disk.Down()
	if cut.acks > 0 {
		event = w.enough
	}
	d, err := w.wait(limited, event)
	ended := w.ended()
	if cut.acks > 0 && err == nil && d == nil && ended == nil {
		g.settle(w.p.PID())
		g.disk.Cut()
	}
	_, off := g.disk.CutAt()
	g.disk.Cut()
	at, _ := g.disk.CutAt()
	r := run{ledger: w.stop(), at: at}
	switch {
	case ctx.Err() != nil:
		return r, ctx.Err()
	case off: // what it said afterwards is of a disk without power
	case err != nil:
		r.trouble = &lateError{l.Hang}
	default:
		r.trouble = trouble(d, r.ledger, ended)
	}
	return r, nil
}
