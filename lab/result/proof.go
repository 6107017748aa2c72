package result

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// ProofSchema names the format of the document that a proof is.
const ProofSchema = "assay.proof/1"

// Proof is one run of `assay prove`: what each engine's commits survived. docs/formats.md is the
// document's contract.
type Proof struct {
	Schema      string        `json:"schema"`
	Command     []string      `json:"command"`
	Started     time.Time     `json:"started"`
	Took        time.Duration `json:"took_ns"`
	Seed        uint64        `json:"seed"`
	Interrupted bool          `json:"interrupted,omitempty"`
	Warnings    []Warning     `json:"warnings,omitempty"`
	Environment Environment   `json:"environment"`
	// Drivers holds a digest of the source of each engine's driver, see [DriverDigest].
	Drivers map[string]string `json:"drivers,omitempty"`
	// Unseen tells what engines asked of the file system of which the proof shows less than of
	// other calls: "badger calls msync: no write call came amid it". Its sentences begin with an
	// engine.
	Unseen []string `json:"unseen,omitempty"`
	// Damage tells what engines notice of files that went bad. Nobody promises anything there.
	Damage []Damage `json:"damage,omitempty"`
	// Seen are the states that were opened and compared, for a proof that goes on with this one.
	// They lie in a file of their own: see [ReadStates].
	Seen  States      `json:"-"`
	Cells []ProofCell `json:"cells"` // the last field: see MarshalProof
}

// States are states of stores, by the engine, the class and, where nothing is promised, the fault
// that they are of: the first 8 bytes of the sum of each, in order.
type States map[string][]byte

// Without returns the proof without what it has of some engines.
func (p *Proof) Without(engines []string) *Proof {
	of := func(sentence string) bool { // that begins with an engine
		name, _, _ := strings.Cut(sentence, " ")
		return slices.Contains(engines, name)
	}
	rest := *p
	rest.Unseen = slices.DeleteFunc(slices.Clone(p.Unseen), of)
	rest.Damage = slices.DeleteFunc(slices.Clone(p.Damage), func(d Damage) bool { return of(d.Engine) })
	rest.Cells = slices.DeleteFunc(slices.Clone(p.Cells), func(c ProofCell) bool { return of(c.Engine) })
	rest.Seen = maps.Clone(p.Seen)
	maps.DeleteFunc(rest.Seen, func(name string, _ []byte) bool { return of(name) })
	return &rest
}

// WithoutPromise returns the proof without what it has of one class of an engine.
func (p *Proof) WithoutPromise(engine, requested string) *Proof {
	name := engine + " " + requested
	rest := *p
	rest.Cells = slices.DeleteFunc(slices.Clone(p.Cells),
		func(c ProofCell) bool { return c.Engine == engine && c.Requested == requested })
	rest.Seen = maps.Clone(p.Seen)
	maps.DeleteFunc(rest.Seen, func(key string, _ []byte) bool { return key == name || strings.HasPrefix(key, name+" ") })
	return &rest
}

// Damage is what came of stores of one engine of which a file went bad after they had been written.
type Damage struct {
	Engine string `json:"engine"`
	Kind   string `json:"kind"` // DamageBit, DamageRead
	Tries  int    `json:"tries"`
	// Each try is one of these; the rest did no harm.
	Noticed int `json:"noticed"` // an error said so, of opening, reading, checking or closing
	Missing int `json:"missing"` // nothing said so, and acknowledged commits were not there
	Wrong   int `json:"wrong"`   // nothing said so before other content was read than had been written
	Ended   int `json:"ended"`   // the process crashed, or hung
	// What was wrong in the first store that held something else.
	What string `json:"what,omitempty"`
}

// How files go bad.
const (
	DamageBit  = "bit"  // one bit is another
	DamageRead = "read" // one page cannot be read
)

// Faults that a proof inflicts.
const (
	FaultKill     = "kill"     // kill -9 of the writing process
	FaultPower    = "power"    // power fails while it writes
	FaultRecovery = "recovery" // power fails again while the store is opened after a power failure
	FaultEIO      = "eio"      // a write or a sync fails with an input/output error
	FaultENOSPC   = "enospc"   // a write fails because the disk is full

	// Of stores on servers, of which FaultKill kills a client.
	FaultServer    = "server"    // kill -9 of a server, or of one node of a cluster
	FaultLeader    = "leader"    // kill -9 of the node that leads a cluster
	FaultPartition = "partition" // a node is parted from the others
)

// ProofCell is one engine at one durability class under one fault.
type ProofCell struct {
	Engine    string `json:"engine"`    // the name of the entry: "bbolt"
	URL       string `json:"url"`       // engine and options
	Requested string `json:"requested"` // the class that commits asked for: "synced", "flushed", "buffered"
	Delivered string `json:"delivered"` // the class that the driver says they got
	Intact    bool   `json:"intact"`    // what the driver says of the store after a power failure
	Fault     string `json:"fault"`     // one of the Fault constants
	// Server is that the store is on a server, which the proof ran itself.
	Server bool `json:"server,omitempty"`
	// Rule is what remains when power fails, "ENTRIES/SURVIVORS": "ordered/sectors". Empty under a
	// kill.
	Rule string `json:"rule,omitempty"`

	Rounds int `json:"rounds"` // crash points: moments of recorded runs, and real kills
	// Cuts is how many independent runs they are of, each with a seed of its own.
	Cuts   int `json:"cuts,omitempty"`
	Kills  int `json:"kills,omitempty"` // of the rounds, real ones
	Images int `json:"images"`          // crashed stores that were opened and compared
	// States is how many distinct ones were opened and compared, without those that another cell of
	// what is promised, or else another rule of the same fault, had before.
	States int `json:"states,omitempty"`
	// Did is what the recorded runs did meanwhile, by the kind of operation and of file: "create
	// #.sst". The first cell of power failures tells it.
	Did map[string]int `json:"did,omitempty"`
	// Ops is how many operations the recorded runs were of, and Covered before how many of those
	// the process was killed, or power failed. Worked is how long that took, of several that work
	// side by side. The first cell of each fault tells them.
	Ops     int           `json:"ops,omitempty"`
	Covered int           `json:"covered,omitempty"`
	Worked  time.Duration `json:"worked_ns,omitempty"`
	// Late is how many stores, beside the images, were not verified in time. Nothing is known of
	// them.
	Late  int   `json:"late,omitempty"`
	Acked int64 `json:"acked"` // commits acknowledged before the crashes
	// Transactions is how many the clients of a server began, and InDoubt of how many of them
	// nobody was told what became of them.
	Transactions int64 `json:"transactions,omitempty"`
	InDoubt      int64 `json:"in_doubt,omitempty"`
	// Lost is how many of the acknowledged commits were missing, over all images; LostMax the most
	// in one image, and LostAge the age, at the crash, of the oldest one that was ever lost.
	Lost    int64         `json:"lost"`
	LostMax int64         `json:"lost_max"`
	LostAge time.Duration `json:"lost_age_ns"`
	Torn    int           `json:"torn"`           // images with a transaction applied in part
	Broken  int           `json:"broken"`         // images that did not open, failed their check or hold no prefix of the commits
	What    string        `json:"what,omitempty"` // what the engine, or the verification, said first of a broken or torn image

	SyncsPerCommit  *float64 `json:"syncs_per_commit,omitempty"`
	WritesPerCommit *float64 `json:"writes_per_commit,omitempty"`
	BytesPerCommit  *float64 `json:"bytes_per_commit,omitempty"`

	Keeps Finding `json:"keeps"` // acknowledged commits survive
	Whole Finding `json:"whole"` // the store opens, passes its check, and holds whole transactions, a prefix of the commits
}

// EnoughStates is how many distinct states of what it promises a proof is to find of each engine
// and class, see ProofCell.States.
const EnoughStates = 2000

// The verdicts of a finding.
const (
	Proved    = "proved"    // in no image otherwise
	Disproved = "disproved" // in at least one image otherwise
	Unproved  = "unproved"  // not tried, or not to the end: Why says why
)

// Finding is one property of a store after a fault.
type Finding struct {
	Claimed    bool    `json:"claimed"` // the driver promises it under this fault
	Verdict    string  `json:"verdict"`
	Failed     int     `json:"failed"`                // images that lack it
	UpperBound float64 `json:"upper_bound,omitempty"` // of the rate of failure, at 95 % confidence, that so many Cuts allow
	Why        string  `json:"why,omitempty"`         // of unproved
	Seed       uint64  `json:"seed,omitempty"`        // of the first image that lacks it
	Command    string  `json:"command,omitempty"`     // shows that image again
}

// Strict reports whether directory entries followed the strict POSIX rule: what then happens is a
// matter of portability, and no promise of an engine on a file system that keeps entries in order
// is measured by it.
func (c ProofCell) Strict() bool { return strings.HasPrefix(c.Rule, "strict/") }

// PerFile reports whether a sync made no entries durable but those of its own file, as on btrfs and
// f2fs.
func (c ProofCell) PerFile() bool { return strings.HasPrefix(c.Rule, "perfile/") }

// Unkept returns the cells in which a property that the driver promises was disproved.
func (p *Proof) Unkept() []ProofCell {
	var cells []ProofCell
	for _, c := range p.Cells {
		if c.Keeps.Broken() || c.Whole.Broken() {
			cells = append(cells, c)
		}
	}
	return cells
}

// Broken reports whether a property was promised and disproved.
func (f Finding) Broken() bool { return f.Claimed && f.Verdict == Disproved }
