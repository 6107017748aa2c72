package driver

import (
	"fmt"
	"slices"
	"strings"
)

// Durability is what an acknowledged commit survives. The zero value is the safest.
type Durability uint8

const (
	Synced   Durability = iota // survives power loss
	Flushed                    // survives the death of the process (kill -9), not a power loss
	Buffered                   // survives nothing; the engine writes it out when it sees fit
)

// Durabilities lists the classes, the strongest first.
var Durabilities = []Durability{Synced, Flushed, Buffered}

var durabilityNames = []string{"synced", "flushed", "buffered"}

func (d Durability) String() string { return nameOf(durabilityNames, d, "durability") }

// MarshalText returns the name of the class.
func (d Durability) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText sets d to the class with the name in text.
func (d *Durability) UnmarshalText(text []byte) error {
	v, err := ParseDurability(string(text))
	if err == nil {
		*d = v
	}
	return err
}

// ParseDurability returns the class called name. Any other name is Invalid.
func ParseDurability(name string) (Durability, error) {
	return parse[Durability](durabilityNames, name, "durability", "class")
}

// Mode is how processes share a store.
type Mode uint8

const (
	Exclusive Mode = iota // no other process may have the store open
	Shared                // several processes may have the store open in Shared mode, reading and writing
	ReadOnly              // this handle changes nothing; whether others may read beside it is Caps.SharedReading
)

var modeNames = []string{"exclusive", "shared", "ro"}

func (m Mode) String() string { return nameOf(modeNames, m, "mode") }

// MarshalText returns the name of the mode.
func (m Mode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// ParseMode returns the mode called name ("exclusive", "shared", "ro"). Any other name is Invalid.
func ParseMode(name string) (Mode, error) { return parse[Mode](modeNames, name, "mode", "mode") }

// nameOf returns the name of v, which what and its number stand in for where it has none.
func nameOf[T ~uint8](names []string, v T, what string) string {
	if int(v) < len(names) {
		return names[v]
	}
	return fmt.Sprintf("%s(%d)", what, uint8(v))
}

// parse returns the value that has name among names.
func parse[T ~uint8](names []string, name, op, what string) (T, error) {
	i := slices.Index(names, name)
	if i < 0 {
		return 0, &Error{Op: "parse " + op, Kind: Invalid, Err: fmt.Errorf("unknown %s %q", what, name),
			Hint: "use " + strings.Join(names, ", ")}
	}
	return T(i), nil
}

// Promise is what an engine delivers for one class that it was asked for.
type Promise struct {
	// Supported is false where the engine cannot deliver the class or a stronger one.
	Supported bool `json:"supported"`
	// Class is what is delivered: the class asked for or a stronger one.
	Class Durability `json:"class"`
	// Intact: after power loss the store opens, passes its check and holds a prefix of the commits.
	Intact bool `json:"intact"`
	// KillAtomic: after the death of the process each transaction is there as a whole or not at
	// all.
	KillAtomic bool `json:"kill_atomic"`
	// PowerAtomic: the same after power loss.
	PowerAtomic bool `json:"power_atomic"`
	// DiskMayBreak: after a write or sync that failed, or a full disk, the handle may read nothing
	// more, the store may not open, and of a commit in doubt there may be a part. What was
	// acknowledged is there if it opens, but for what the engine was rewriting when it met the
	// failure. Without it all of the above holds then, too, and a commit that met the failure is
	// there as a whole or not at all.
	DiskMayBreak bool `json:"disk_may_break,omitempty"`
}

// Blocking says whether one kind of user of a store keeps another kind waiting.
type Blocking uint8

const (
	Never     Blocking = iota // they do not wait for each other
	Sometimes                 // they may, as when bbolt must enlarge its memory map
	Always                    // while one is in, the other waits
)

var blockingNames = []string{"never", "sometimes", "always"}

func (b Blocking) String() string { return nameOf(blockingNames, b, "blocking") }

// MarshalText returns the word for b.
func (b Blocking) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// Caps says as data what a store can do.
type Caps struct {
	PureGo     bool `json:"pure_go"`
	Persistent bool `json:"persistent"` // data outlives Close
	Folder     bool `json:"folder"`     // the path names a folder, not a file

	// Modes lists the modes that are honoured; the first is the default.
	Modes []Mode `json:"modes"`

	// SharedReading: several processes may have the store open in ReadOnly mode.
	SharedReading bool `json:"shared_reading"`

	// Promises is what a commit of each class delivers, indexed by the class asked for.
	Promises [3]Promise `json:"promises"`

	// ConcurrentApply: Apply may run concurrently with Apply, so that commits share a sync. Only of
	// an [Applier].
	ConcurrentApply bool `json:"concurrent_apply"`

	// ReadersBlockWriters: a transaction does not begin, or not commit, while a Reader is open.
	ReadersBlockWriters Blocking `json:"readers_block_writers"`

	// WritersBlockReaders: Snapshot waits while a Txn is open.
	WritersBlockReaders Blocking `json:"writers_block_readers"`

	// MayAbort: Begin, any method of a Txn, Commit and Apply may return Aborted, and kv then begins
	// again. Engines that detect conflicts instead of excluding them set it.
	MayAbort bool `json:"may_abort"`

	// Remote: the store is another program's, reached over a connection. Calls take round trips and
	// fail when it is lost; a commit may be in doubt without harm to the store, so that commits
	// after it are allowed.
	Remote bool `json:"remote"`

	// MaxKey, MaxValue are in bytes; 0 is no limit below 1 GiB.
	MaxKey   int `json:"max_key,omitempty"`
	MaxValue int `json:"max_value,omitempty"`

	// TxnLimit: a transaction that grows too large is TooLarge; otherwise memory is the only limit.
	TxnLimit bool `json:"txn_limit"`

	Compression []string `json:"compression,omitempty"` // the algorithms on offer
	Compacts    bool     `json:"compacts"`              // Compact can give space back
	Checks      bool     `json:"checks"`                // Check examines all stored data, not only that the store opens
	ChecksAlone bool     `json:"checks_alone"`          // writers wait while Check runs
}

// Supports reports whether mode is one of c.Modes.
func (c Caps) Supports(mode Mode) bool { return slices.Contains(c.Modes, mode) }

// Promise returns what a commit of class d delivers; an unknown class is not supported.
func (c Caps) Promise(d Durability) Promise {
	if int(d) < len(c.Promises) {
		return c.Promises[d]
	}
	return Promise{}
}

// Cheapest returns the weakest class that the store takes, which is the cheapest to ask for.
func (c Caps) Cheapest() Durability {
	for d := Buffered; d > Synced; d-- {
		if c.Promises[d].Supported {
			return d
		}
	}
	return Synced
}

// Strongest returns the strongest class that the store takes.
func (c Caps) Strongest() Durability {
	return Durability(max(slices.IndexFunc(c.Promises[:], func(p Promise) bool { return p.Supported }), 0))
}
