package prove

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/bench"
)

// The parent drives a child over its standard input and output: one JSON request a line. A child
// sends any number of messages, of which the one with Done ends the request.

// request is one command to a child; one of its fields is set.
type request struct {
	Probe  *storeSpec  `json:",omitempty"` // open fresh stores and tell what they promise
	Write  *writeSpec  `json:",omitempty"` // commit; the store stays open for the next Write
	Verify *verifySpec `json:",omitempty"` // open a store, compare it with the past, go on in it
	// HandOver has the process hand its syncs over, until the next request.
	HandOver bool `json:",omitempty"`
	// Inherit names the folders of the run. Once there are no more requests, and the parent has not
	// removed them, it was killed: the child does it.
	Inherit []string `json:",omitempty"`
}

// storeSpec says which store to open.
type storeSpec struct {
	Entry bench.Entry
	Dir   string // the store's own folder
	Class kv.Durability
	Copy  bool `json:",omitempty"` // not the store, but the backup of it
	Deep  bool `json:",omitempty"` // it lies within folders that are made with it
}

// path returns where the store is, or its backup.
func (s storeSpec) path() string {
	switch {
	case s.Copy:
		return s.backup()
	case s.Deep:
		return filepath.Join(s.Dir, "one", "within", "another", "store")
	}
	return filepath.Join(s.Dir, "store")
}

// backup returns the path that the store is copied to.
func (s storeSpec) backup() string { return filepath.Join(s.Dir, "backup") }

// url returns the store's URL, of which the characters that mean something in URLs are escaped.
func (s storeSpec) url() string {
	path := filepath.ToSlash(s.path())
	return s.Entry.Engine + ":" + strings.NewReplacer("%", "%25", "?", "%3F").Replace(path) + "?" + s.Entry.Options
}

type writeSpec struct {
	Store storeSpec
	Past  past
	From  []uint64 // how many commits of each writer are in the store
	Legs  []leg
	// Resume: after a commit that returned an error, the writer asks the store whether it is there,
	// and goes on.
	Resume bool
	// Tried is how many commits of each writer a process that was killed had tried: From of them
	// are there, and the store is asked for the rest. nil is no such process.
	Tried []uint64 `json:",omitempty"`
	// Buffers: Buffered commits are that, and no more: of a process that was killed they may be
	// gone.
	Buffers bool `json:",omitempty"`
	// Only are the writers that commit; others have processes of their own. nil is all.
	Only  []int `json:",omitempty"`
	Close bool  // the store when it is done
	// Pause is for how long a writer waits before a commit, at most, so that some come amid the
	// sync of others. The first, whose transactions are alone, waits for up to three times as long.
	Pause time.Duration `json:",omitempty"`
	Level bool          `json:",omitempty"` // all commits are begun together
}

// leg is a stretch of commits, and what is done before them.
type leg struct {
	First   string // one of the constants below; "" is nothing
	Commits uint64 // of each writer; 0 is until the process is killed
}

// What a process does before a leg. What the engine cannot do is left out.
const (
	reopen  = "reopen"  // close the store and open it again
	compact = "compact" // beside the commits of the leg
	hold    = "hold"    // a snapshot, until the leg is over: what it needs must stay
	backup  = "backup"  // to the file or folder backup, beside the store, which must be whole if it is there
	linger  = "linger"  // until a second after the opening: what an engine does each second comes amid the commits
	await   = "await"   // each second with a weaker commit, by one writer alone, and commit right behind it
)

type verifySpec struct {
	Store  storeSpec
	Past   past
	More   uint64 // commits of each writer to make once the content has been compared
	Salt   uint64 // of those
	Reopen bool   `json:",omitempty"` // close the store and open it again before those
	Copies bool   `json:",omitempty"` // compare the backup, too, if there is one
}

// message is what a child says.
type message struct {
	Opening int64        `json:",omitempty"` // the store is about to be opened: the time
	Upkeep  string       `json:",omitempty"` // how a compaction or a backup has failed
	Copied  *copied      `json:",omitempty"`
	Ack     *ack         `json:",omitempty"`
	Failed  *failure     `json:",omitempty"`
	Resumed *resumption  `json:",omitempty"`
	Done    *doneMessage `json:",omitempty"`
}

// ack is that a commit was acknowledged. The times are of the system's monotonic clock, in ns.
type ack struct {
	W           int
	N           uint64
	Weak        bool `json:",omitempty"` // of a weaker class than is promised
	Began, Done int64
}

// copied is that a backup was made, and when. Short is that the store lacked acknowledged commits
// before.
type copied struct {
	Began, Done int64
	Short       bool `json:",omitempty"`
}

// failure is that a commit returned an error. Denied is that by this error nothing of the commit is
// there, now or later; Wrong is that it read what was never written, or that it was denied and is
// there.
type failure struct {
	W      int
	N      uint64
	Salt   uint64
	At     int64 // by clock
	Text   string
	Denied bool `json:",omitempty"`
	Wrong  bool `json:",omitempty"`
}

// isThere says that the commit of a failure that is Denied was found.
func (f failure) isThere() string {
	return fmt.Sprintf("the error of commit %d of writer %d says that nothing of it is there, and it is: %s", f.N, f.W, f.Text)
}

// resumption is that a writer goes on after a failure, with commit After+1 and another salt.
type resumption struct {
	W     int
	After uint64
	Had   uint64 // the salt of commit After; 0 is not known
	Salt  uint64
}

// doneMessage answers a request. Error is empty on success.
type doneMessage struct {
	Error   string   `json:",omitempty"`
	Hint    string   `json:",omitempty"`
	Invalid bool     `json:",omitempty"` // what was asked for is wrong
	Caps    *[3]caps `json:",omitempty"` // of Probe, indexed by the class asked for
	Syncs   int      `json:",omitempty"` // of HandOver, the descriptor that takes them over
	Outcome *outcome `json:",omitempty"`
	Full    bool     `json:",omitempty"` // the process has used its memory, another is to take its place
}

// caps is what matters here of an engine that was opened for a class.
type caps struct {
	kv.Promise
	Log    bool          // it keeps messages, not keys
	Shared bool          // several processes may work on one store
	Remote bool          // it is a server's
	Mixed  kv.Durability // of Synced: a weaker class that one store can have beside it and stay whole; Synced is none
	// Loose, of Synced, is a weaker class of which nothing holds when power fails, until the next
	// commit that is synced; Synced is none.
	Loose kv.Durability
}
