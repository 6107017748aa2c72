package powertest

import (
	"errors"
	"fmt"
	"os"

	"github.com/assaydb/assay/lab/child"
	"github.com/assaydb/assay/lab/powerfs"
)

// diskRole is the only argument of a test binary that serves a Disk.
const diskRole = "powertest-disk"

// A test binary that serves a disk never comes to its tests: no test has to know of it.
func init() {
	if len(os.Args) != 2 || os.Args[1] != diskRole {
		return
	}
	if err := serveDisk(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// diskRequest is what a Disk asks of its process. The first says where to mount; of the others, the
// field that is set says what to do.
type diskRequest struct {
	Mount string `json:",omitempty"`
	From  string `json:",omitempty"`
	Space int64  `json:",omitempty"`

	Fail      *powerfs.Fault `json:",omitempty"`
	Heal      bool           `json:",omitempty"`
	CutBefore uint64         `json:",omitempty"`
	Cut       string         `json:",omitempty"` // a folder to be made
	End       bool           `json:",omitempty"`
	Rule      powerfs.Rule   // of a cut
	Seed      uint64         `json:",omitempty"`

	Count powerfs.FaultOp // every answer counts
}

type diskAnswer struct {
	Calls, Failed uint64
	Err           string `json:",omitempty"`
}

// diskServer is the disk's side.
type diskServer struct {
	disk  *powerfs.Disk
	mount *powerfs.Mount
	early <-chan *powerfs.Image // what CutBefore has asked for
}

// serveDisk does what the parent says until its end of the pipe is closed.
func serveDisk() error {
	var s diskServer
	err := child.Serve(os.Stdin, os.Stdout, func(r diskRequest) (a diskAnswer) {
		if err := s.do(r); err != nil {
			return diskAnswer{Err: err.Error()}
		}
		return diskAnswer{Calls: s.disk.Calls(r.Count), Failed: uint64(len(s.disk.Struck()))}
	})
	if s.mount != nil { // the parent has died: twice is once
		err = errors.Join(err, s.end())
	}
	return err
}

func (s *diskServer) end() error { return errors.Join(s.mount.Unmount(), s.disk.Close()) }

func (s *diskServer) do(r diskRequest) error {
	switch {
	case r.Mount != "":
		return s.begin(r)
	case r.Fail != nil:
		return s.disk.Fail(*r.Fail)
	case r.Heal:
		s.disk.Heal()
	case r.CutBefore > 0:
		s.early = s.disk.ImageBefore(s.disk.Ops()+r.CutBefore, r.Rule, r.Seed)
	case r.Cut != "":
		return s.cut(r)
	case r.End:
		return s.end()
	}
	return nil
}

func (s *diskServer) begin(r diskRequest) (err error) {
	o := powerfs.Options{Space: r.Space}
	if r.From != "" {
		if o.From, err = powerfs.Import(r.From); err != nil {
			return err
		}
	}
	if s.disk, err = powerfs.New(o); err != nil {
		return err
	}
	s.mount, err = s.disk.Mount(r.Mount)
	return err
}

func (s *diskServer) cut(r diskRequest) error {
	if early := s.early; early != nil {
		s.early = nil
		select {
		case image := <-early:
			return image.Export(r.Cut)
		default:
			return errors.New("there were fewer calls than the cut was to wait for")
		}
	}
	if err := s.mount.WriteBack(); err != nil {
		return err
	}
	return s.disk.Image(r.Rule, r.Seed).Export(r.Cut)
}
