package powerfs

import (
	"math/bits"
	"os"
	"sync"
	"syscall"

	"github.com/assaydb/assay/kv/driver"
)

// Options say what a Disk is. The zero value is an empty, honest, fast disk.
type Options struct {
	From    *Image  // what it holds at first; nil is an empty root folder
	Lying   bool    // syncs are acknowledged and do nothing
	Space   int64   // bytes of file data that fit before ENOSPC; 0 is 64 GiB. An allocation does not reserve them.
	Faults  []Fault // failures to come, see Fail
	Latency Latency // zero: none
	// bytes of pages in memory before they go to a file; 0 is 256 MiB. Unsynced writes take a
	// quarter more.
	Memory   int64
	SpillDir string // for that file; "" is the system's temporary folder
	Record   bool   // keep everything that is done, see Disk.Tape
}

const (
	defaultSpace  = 64 << 30
	defaultMemory = 256 << 20
	leastMemory   = 64 << 10
)

// Disk is a file system that can lose power. All methods may be called at the same time; one lock
// gives their order. The methods that work on files return a syscall.Errno, EIO once the power is
// off.
type Disk struct {
	options  Options
	mu       sync.Mutex
	changed  *sync.Cond // power or held has changed
	power    power
	held     bool // operations that came after the cut was decided wait, until the process that does them is stopped
	down     chan struct{}
	armed    uint64
	settling func()
	cutAt    int64
	wanted   []wantedImage
	calling  []wantedCall // by their operations
	behind   []wantedCall // by how many operations behind the first fault they come
	quiet    bool         // write-backs are asked for by WriteBack, and are no operations of a process

	ops    uint64                // state-changing operations
	calls  [len(faultOps)]uint64 // the same, by kind
	seq    uint64                // their order, write-backs after the cut included
	inodes map[ID]*inode
	lastID ID
	root   *inode
	pool   pool
	used   int64 // pages of live files

	order      []*event // unsynced changes of all files, oldest first
	deadEvents int
	logged     int64 // bytes
	logLimit   int64
	journal    []*op          // entry operations that no sync of their folder has made durable, oldest first
	committed  uint64         // the ordered journal is durable up to this operation
	syncs      uint64         // that were begun and will succeed
	syncing    []*pendingSync // of these, those that go on, oldest first

	tape    *Tape // what was done, if it is recorded
	replica bool  // a player's: nothing is forgotten

	faults  []armedFault
	strikes []Strike
	counts  counts
	uses    map[Use]bool
	arm     arm
}

type power uint8

const (
	on       power = iota
	settling       // the cut is decided; dirty mapped pages are still taken
	off
)

// New returns a disk that holds options.From.
func New(options Options) (*Disk, error) {
	if err := options.check(); err != nil {
		return nil, err
	}
	d := &Disk{options: options, down: make(chan struct{}), inodes: make(map[ID]*inode), logLimit: options.Memory / 4}
	d.changed = sync.NewCond(&d.mu)
	d.pool = pool{limit: options.Memory, dir: options.SpillDir}
	if options.Record {
		d.tape = &Tape{from: options.From}
	}
	for _, f := range options.Faults {
		d.faults = append(d.faults, armedFault{Fault: f})
	}
	d.root = d.newInode(ModeDir|0o755, Owner{UID: uint32(max(os.Geteuid(), 0)), GID: uint32(max(os.Getegid(), 0))})
	if options.From != nil {
		if err := options.From.err; err != nil {
			return nil, err
		}
		d.load(options.From)
	}
	if d.used*pageSize > options.Space {
		return nil, refuse("the image takes more than Space", "give it more Space")
	}
	return d, nil
}

func (o *Options) check() error {
	if o.Space == 0 {
		o.Space = defaultSpace
	}
	if o.Memory == 0 {
		o.Memory = defaultMemory
	}
	if o.SpillDir == "" {
		o.SpillDir = os.TempDir()
	}
	switch {
	case o.Space < 0 || o.Memory < 0:
		return refuse("Space and Memory cannot be negative", "leave them 0 for the defaults")
	case min(o.Latency.Seek, o.Latency.Sync, o.Latency.Hiccup, o.Latency.Amid) < 0 || o.Latency.BytesPerSecond < 0:
		return refuse("a Latency cannot be negative", "see Profiles")
	case o.Latency.Sync == 0 && o.Latency.Hiccup+o.Latency.Amid > 0:
		return refuse("a Hiccup, or what comes Amid, takes a Sync that takes a while", "give it some time")
	}
	o.Memory = max(o.Memory, leastMemory)
	for _, f := range o.Faults {
		if err := f.check(); err != nil {
			return err
		}
	}
	return checkSpillDir(o.SpillDir)
}

func refuse(what, hint string) error {
	return &driver.Error{Op: "power disk", Kind: driver.Invalid, Err: errorString(what), Hint: hint}
}

type errorString string

func (e errorString) Error() string { return string(e) }

// Close cuts the power and lets go of the memory and the spill file, as far as no Crash or Image
// needs them.
func (d *Disk) Close() error {
	d.Cut()
	return nil
}

// Ops returns how many state-changing operations there were: writes, truncations, allocations,
// syncs, and changes of entries, those that failed included. Write-backs of mapped pages are
// writes.
func (d *Disk) Ops() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ops
}

// enter begins a state-changing operation of one kind on n, or on its entry name if that is not
// empty: it waits if the cut was decided, cuts the power if this is the operation to do it before,
// and fails if a fault strikes. It is called under the lock.
func (d *Disk) enter(kind FaultOp, n *inode, name string) error {
	if d.due() {
		d.decide(d.settling)
	}
	if err := d.enterRead(); err != nil {
		return err
	}
	d.makeDue()
	d.ops++
	d.calls[bits.TrailingZeros16(uint16(kind))]++
	d.seq++
	d.begin(kind, n, name, false)
	return d.strike(kind, n, name)
}

// due reports whether the power fails before the next operation.
func (d *Disk) due() bool { return d.power == on && d.armed != 0 && d.ops+1 >= d.armed }

// enterRead begins an operation that changes nothing.
func (d *Disk) enterRead() error {
	for d.power == settling && d.held {
		d.changed.Wait()
	}
	if d.power != on {
		return syscall.EIO
	}
	return nil
}

// Usage returns the bytes that files take and those that fit.
func (d *Disk) Usage() (used, space int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.used * pageSize, d.options.Space
}
