package state

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/assaydb/assay/kv"
)

// Kind is what a bucket is for. It decides in which file the bucket lies, and what happens when
// that file is damaged.
type Kind uint8

// The kinds of buckets. Each has a file of its own, named as the kind with the ending ".db".
const (
	State  Kind = iota // what must not be lost: a damaged file is an error
	Cache              // what can be made again: a damaged file is set aside and an empty one begun
	Secret             // as State, in a file that only its owner may read
)

var kindNames = [...]string{State: "state", Cache: "cache", Secret: "secrets"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Bucket declares one set of keys.
type Bucket struct {
	Name string
	Kind Kind

	// TTL is how long after it was written an entry of a Cache is still found; 0 is for ever. It is
	// not stored: a program that declares another TTL has it for the entries that are there.
	TTL time.Duration

	// Max is how many bytes of keys and values a Cache holds at most, with 13 bytes for each entry;
	// 0 is no bound. A call that puts deletes the entries that were written first, down to three
	// quarters of Max, when it comes to a quarter. It deletes expired ones then, too; without Max
	// it does so every DefaultPrune bytes. An entry that is larger than three quarters of Max may
	// be gone at once. The file keeps its size, and uses the space again. It is not stored, as TTL
	// is not.
	Max int64
}

// Options is how a store is kept. Buckets is required.
type Options struct {
	// Buckets lists what there is. A bucket that is no longer declared stays in its file, out of
	// reach.
	Buckets []Bucket

	// Durability is the class that every change of State and Secret buckets is committed with; the
	// zero value is kv.Synced. Cache buckets get kv.Flushed: what a power loss does to a cache, it
	// is made again.
	Durability kv.Durability

	// Wait is how long a call waits for the lock of another process, before it fails with kv.Busy;
	// 0 is DefaultWait. The context of the call may end it earlier. On SQLite a program that locks
	// the file without this package may cost as much again.
	Wait time.Duration

	// MigrationWait is how long a call waits while another process creates, migrates or sets aside
	// the file, and while an older program locks the file that is migrated; 0 is
	// DefaultMigrationWait.
	MigrationWait time.Duration

	// Legacy reads the older SQLite file at path and puts each of its entries into a bucket, of
	// whichever kind: kinds that have no file yet get one. Before it returns it closes the file,
	// with nothing left in its write-ahead log. It is called in one process at a time, and again
	// from the start if that one was killed. Package sqlitelegacy has one for tables of keys and
	// values. Without it such a file is an error, or set aside if it lies where the cache belongs.
	Legacy func(ctx context.Context, path string, into *Import) error

	// Older is the name of the older SQLite file, if it lies in the folder under none of the names
	// of Files. The first call migrates it, with all kinds that it has entries of.
	Older string

	// RemoveOlder removes the older file after its migration, instead of keeping it with the ending
	// ".sqlite".
	RemoveOlder bool

	// Files names the files of kinds that are not to have their usual name: where an older program
	// kept them.
	Files map[Kind]string

	// Logger is told what happened to files: see Incident. Without it such reports are only kept
	// for Incidents.
	Logger *slog.Logger

	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// The limits of waiting when Options say nothing.
const (
	DefaultWait          = 900 * time.Millisecond
	DefaultMigrationWait = 30 * time.Second
)

// complete checks the options and fills in what was not said.
func (o *Options) complete() error {
	if len(o.Buckets) == 0 {
		return invalid(errors.New("no buckets"), `declare them: Options{Buckets: []state.Bucket{{Name: "checkpoints"}}}`)
	}
	seen := map[string]bool{}
	for _, b := range o.Buckets {
		switch {
		case b.Name == "":
			return invalid(errors.New("a bucket without a name"), "name every bucket")
		case seen[b.Name]:
			return invalid(fmt.Errorf("bucket %q is declared twice", b.Name), "declare each bucket once")
		case int(b.Kind) >= len(kindNames):
			return invalid(fmt.Errorf("bucket %q: %v", b.Name, b.Kind), "use state.State, state.Cache or state.Secret")
		case b.TTL < 0 || b.TTL > 0 && b.Kind != Cache:
			return invalid(fmt.Errorf("bucket %q: TTL %v", b.Name, b.TTL),
				"only a Cache bucket has a TTL, of 0 or more")
		case b.Max < 0 || b.Max > 0 && b.Kind != Cache:
			return invalid(fmt.Errorf("bucket %q: Max %d", b.Name, b.Max),
				"only a Cache bucket has a Max, of 0 or more")
		}
		seen[b.Name] = true
	}
	names := map[string]Kind{}
	for kind := range Kind(len(kindNames)) {
		name := o.fileName(kind)
		if other, taken := names[name]; taken || !plainName(name) {
			return invalid(fmt.Errorf("file %q for %v (and %v)", name, kind, other),
				"give each kind the name of a file of its own, without a path")
		}
		names[name] = kind
	}
	if _, taken := names[o.Older]; o.Older != "" && (taken || !plainName(o.Older) || o.Legacy == nil) {
		return invalid(fmt.Errorf("option Older %q", o.Older),
			"give the plain name of a file that is none of Files, and a Legacy that reads it")
	}
	if o.Wait < 0 || o.MigrationWait < 0 {
		return invalid(fmt.Errorf("options Wait %v, MigrationWait %v", o.Wait, o.MigrationWait),
			"give a duration, or 0 for the default")
	}
	if o.Wait == 0 {
		o.Wait = DefaultWait
	}
	if o.MigrationWait == 0 {
		o.MigrationWait = DefaultMigrationWait
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return nil
}

func (o *Options) fileName(kind Kind) string {
	if name, ok := o.Files[kind]; ok {
		return name
	}
	return kind.String() + ".db"
}

// plainName reports whether name is one of a file in the folder, and none of the locks'.
func plainName(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, `/\:`) &&
		!strings.HasPrefix(name, lockName) && !strings.HasPrefix(name, signPrefix) &&
		!strings.HasPrefix(name, freshPrefix)
}

func invalid(err error, hint string) error {
	return &kv.Error{Op: "new state", Kind: kv.Invalid, Err: err, Hint: hint}
}
