package powerfs

import (
	"cmp"
	"errors"
	"math"
	"path"
	"strings"
	"syscall"
)

// Fault is a failure to come: the Nth operation that matches fails. It is counted from when the
// disk is told of it.
type Fault struct {
	Op  FaultOp
	Nth uint64        // 1 is the first
	Err syscall.Errno // what the process gets; 0 is EIO, unless Short
	// Short, of a write: half of it is done; with Err 0 the process is told so, else it gets Err. A
	// write of mapped pages wants Err: nobody is told, and the kernel takes it for whole.
	Short  bool
	Done   bool   // of a write: all of it is done, and the process gets Err
	Sticky bool   // all later ones fail too
	Again  int    // so many behind it fail too, of its kinds, whatever they are to write
	Any    bool   // of those behind it any kind fails, on files that Match
	Until  string // all behind it fail until a name is looked up that matches this glob, and Again more then
	Match  string // a glob, against the name, or with a slash against the path below the root; "" is all
	At     int64  // of a read: only those of the byte at this offset count
	Pages  int    // of a sync: only those that are to write so many pages, or more, count
	Later  bool   // of a sync that takes a while: what is written meanwhile is lost with the rest
}

// FaultOp is a set of kinds of operations: OnWrite|OnSync.
type FaultOp uint16

const (
	OnWrite    FaultOp = 1 << iota // write calls, and write-backs of mapped pages
	OnSync                         // fsync, fdatasync, and what ends in one: msync, a write through O_SYNC
	OnCreate                       // of files
	OnMkdir                        //
	OnLink                         // hard and symbolic
	OnRename                       //
	OnRemove                       // of files, links and folders
	OnTruncate                     //
	OnAllocate                     // fallocate, holes included

	OnRead // of file data that is not in the kernel's cache, which asks again for less if more failed; not in OnAny

	OnAny FaultOp = 0 // every operation that changes the state
)

var faultOps = [...]string{"write", "sync", "create", "mkdir", "link", "rename", "remove", "truncate", "allocate",
	"read"}

// String returns the kinds, with bars between them.
func (o FaultOp) String() string {
	if o == OnAny {
		return "any"
	}
	var names []string
	for i, name := range faultOps {
		if o.has(1 << i) {
			names = append(names, name)
		}
	}
	if o>>len(faultOps) != 0 {
		names = append(names, "unknown")
	}
	return strings.Join(names, "|")
}

// has reports whether the one kind is in the set.
func (o FaultOp) has(kind FaultOp) bool { return o == OnAny && kind != OnRead || o&kind != 0 }

// Strike is a fault that fired.
type Strike struct {
	Fault     Fault
	Op        uint64 // number of the operation
	Path      string // below the root
	Monotonic int64  // nanoseconds, as of CutAt
}

type armedFault struct {
	Fault
	met  uint64
	left int // of those that fail again, once it has fired
}

func (f Fault) check() error {
	switch {
	case f.Op>>len(faultOps) != 0:
		return refuse("unknown operation of a fault", "the operations are "+strings.Join(faultOps[:], ", "))
	case f.Nth == 0:
		return refuse("a fault at operation 0", "the first operation is 1")
	case f.At != 0 && f.Op != OnRead || f.At < 0:
		return refuse("a fault at an offset of a "+f.Op.String(),
			"only reads are told apart by offsets, which begin at 0")
	case f.Pages != 0 && f.Op != OnSync || f.Pages < 0:
		return refuse("a fault of pages at a "+f.Op.String(), "only syncs are told apart by what they are to write")
	case f.Again < 0 || f.Again > 0 && f.Op == OnRead:
		return refuse("a "+f.Op.String()+" that fails again", "Sticky has all later ones fail")
	case f.Until != "" && f.Again == 0:
		return refuse("a fault that ends when a name is looked up", "Again says how many more fail then")
	case f.Any && f.Again == 0:
		return refuse("a fault of any kind that fails once", "Again says how many more fail")
	case f.Later && f.Op != OnSync:
		return refuse("a "+f.Op.String()+" that loses what comes later", "only a sync goes on meanwhile")
	case f.Short && f.Op != OnWrite:
		return refuse("a short "+f.Op.String(), "only a write can be short")
	case f.Done && (f.Op != OnWrite || f.Short):
		return refuse("a "+f.Op.String()+" that fails when it is done", "only a write can be, if it is not short")
	}
	for _, glob := range []string{f.Match, f.Until} {
		if _, err := path.Match(glob, ""); err != nil {
			return refuse("fault: "+err.Error(), "Match and Until are globs as of path.Match")
		}
	}
	return nil
}

// again returns what those match that fail again.
func (f Fault) again() Fault {
	if f.Any {
		f.Op = OnAny
	}
	return f
}

func (f Fault) matches(kind FaultOp, where string) bool {
	if !f.Op.has(kind) || f.Match == "" {
		return f.Op.has(kind)
	}
	if !strings.Contains(f.Match, "/") {
		where = path.Base(where)
	}
	ok, _ := path.Match(f.Match, where)
	return ok
}

// errShort tells Write to do half of the write and report that.
var errShort = errors.New("short write")

// strike returns the error of the fault that hits this operation, nil if none does. name is an
// entry to be made in n.
func (d *Disk) strike(kind FaultOp, n *inode, name string) error {
	if len(d.faults) == 0 {
		return nil
	}
	where := n.path()
	if name != "" {
		where = path.Join(where, name)
	}
	var err error
	for i := range d.faults {
		f := &d.faults[i]
		again := f.left > 0 && f.again().matches(kind, where)
		if !again && (!f.matches(kind, where) || f.Pages > len(n.dirty)) {
			continue
		}
		f.met++
		if err != nil || f.met < f.Nth || f.met > f.Nth && !f.Sticky && !again {
			continue
		}
		if f.left = max(f.left-1, 0); f.met == f.Nth {
			if f.left = f.Again; f.Until != "" {
				f.left = math.MaxInt
			}
		}
		err = f.result()
		d.failed()
		d.strikes = append(d.strikes, Strike{Fault: f.Fault, Op: d.ops, Path: where, Monotonic: monotonicNow()})
	}
	if err != nil {
		d.struck()
	}
	return err
}

// lookedUp lets faults end that last until a name is looked up.
func (d *Disk) lookedUp(name string) {
	for i := range d.faults {
		f := &d.faults[i]
		if ok, _ := path.Match(f.Until, name); ok && f.left > f.Again {
			f.left = f.Again
		}
	}
}

// strikeRead is strike for a read, which is on no tape.
func (d *Disk) strikeRead(n *inode, off int64, size int) error {
	for i := range d.faults {
		f := &d.faults[i]
		if f.Op&OnRead == 0 || !f.matches(OnRead, n.path()) || f.At < off || f.At >= off+int64(size) {
			continue
		}
		if f.met++; f.met < f.Nth || f.met > f.Nth && !f.Sticky {
			continue
		}
		d.strikes = append(d.strikes, Strike{Fault: f.Fault, Op: d.ops, Path: n.path(), Monotonic: monotonicNow()})
		return f.result()
	}
	return nil
}

func (f *armedFault) result() error {
	switch {
	case f.Short && f.Err == 0:
		return errShort
	case f.Short:
		return halfDone{f.Err}
	case f.Done:
		return allDone{cmp.Or(f.Err, syscall.EIO)}
	case f.Later:
		return losesLater{cmp.Or(f.Err, syscall.EIO)}
	}
	return cmp.Or(f.Err, syscall.EIO)
}

// losesLater tells Sync to lose what is written until it is done, and to report the error.
type losesLater struct{ syscall.Errno }

// halfDone tells Write to do half of the write and report the error.
type halfDone struct{ syscall.Errno }

// allDone tells Write to do all of the write and report the error.
type allDone struct{ syscall.Errno }

// whole is for operations that cannot be half done.
func whole(err error) error {
	switch err := err.(type) {
	case halfDone:
		return err.Errno
	case allDone:
		return err.Errno
	case losesLater:
		return err.Errno
	}
	if err == errShort {
		return syscall.EIO
	}
	return err
}

// Fail tells the disk of one more fault.
func (d *Disk) Fail(f Fault) error {
	if err := f.check(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults = append(d.faults, armedFault{Fault: f})
	return nil
}

// Heal lets the disk forget all faults: none fires any more. What they have done stays.
func (d *Disk) Heal() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults = nil
}

// Calls returns how many operations of these kinds there were, those that failed included. Of OnAny
// it is Ops.
func (d *Disk) Calls(kinds FaultOp) uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := uint64(0)
	for i, calls := range d.calls {
		if kinds.has(1 << i) {
			n += calls
		}
	}
	return n
}

// Struck returns the faults that fired, in order.
func (d *Disk) Struck() []Strike {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]Strike(nil), d.strikes...)
}
