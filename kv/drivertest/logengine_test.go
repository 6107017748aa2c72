package drivertest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/assaydb/assay/kv/driver"
)

// logDriver is a small persistent engine, right or with one fault: a map in memory and a log of its
// commits, a line of JSON each. It lets the cases about files, processes and kills fail.
type logDriver struct {
	name   string
	caught string // the sentence that does not hold, "" for the right one
	fault  fault
}

type fault int

const (
	none             fault = iota
	noLock                 // two processes may open one log
	lateWrites             // commits are written on Close
	splitWrites            // a transaction is written pair by pair
	panicsOnDamage         // as some engines do
	overwritesOthers       // what it cannot read is an empty log
	forgetsOnClose         // the last commit
	emptyBackup            // a backup holds nothing
	createsReadOnly        // opening read-only makes a log
	writesReadOnly         // opening read-only takes no lock that keeps writers away
	staleShared            // nobody sees the other's commits
	believesAll            // a line is read as far as it goes
	movesFirst             // a snapshot is the state that is read
	tornWrites             // a transaction is written pair by pair, as fast as can be
)

var logDrivers = []*logDriver{
	{"log", "", none},
	{"log-without-lock", "a store open Exclusive is busy for everyone else", noLock},
	{"log-unlocked-default", "the default mode is declared, and safe against a second process that opens the same way",
		noLock},
	{"log-late", "what was acknowledged survives kill -9, transactions as a whole, for every class that promises it",
		lateWrites},
	{"log-split", "what was acknowledged survives kill -9, transactions as a whole, for every class that promises it",
		splitWrites},
	{"log-torn", "no transaction is torn by kill -9, not even in the middle of a large write", tornWrites},
	{"log-panic", "a store that lost the end of a file gives an error or what was written, never a crash",
		panicsOnDamage},
	{"log-panic-on-byte", "a store with a changed byte gives an error or opens, never a crash", panicsOnDamage},
	{"log-overwrite", "a file of something else is refused and left alone", overwritesOthers},
	{"log-forgetful", "a store that was closed and opened again holds everything, for every class", forgetsOnClose},
	{"log-backup", "a backup opens like the store, holds the state of its time and replaces nothing", emptyBackup},
	{"log-create", "a missing store opened read-only is missing, and nothing is created", createsReadOnly},
	{"log-read-unlocked", "a store open ReadOnly is read and not written, by several processes where SharedReading says so", writesReadOnly},
	{"log-shared", "a store open Shared is read and written by several processes, each seeing the other's commits",
		staleShared},
	{"log-moving", "a snapshot taken after opening stays as it is while the first commits are written", movesFirst},
	{"log-credulous", "a store that lost the end of a file gives an error or what was written, never a crash",
		believesAll},
}

func init() {
	for _, d := range logDrivers {
		driver.Register(d)
	}
}

func (d *logDriver) Info() driver.Info {
	flushed := driver.Promise{Supported: true, Class: driver.Flushed, KillAtomic: true}
	info := driver.Info{Name: d.name, Summary: "a log of commits, for tests", Caps: driver.Caps{
		Persistent: true, TxnLimit: true, SharedReading: true,
		Modes:    []driver.Mode{driver.Exclusive, driver.ReadOnly},
		Promises: [3]driver.Promise{driver.Flushed: flushed, driver.Buffered: flushed},
	}}
	if d.fault == staleShared {
		info.Caps.Modes = []driver.Mode{driver.Shared}
	}
	return info
}

const logHeader = "log of commits\n"

func (d *logDriver) Open(ctx context.Context, c driver.Config) (driver.Store, error) {
	mem, _ := driver.Lookup("mem")
	inner, err := mem.Open(ctx, driver.Config{Path: c.Path})
	if err != nil {
		return nil, err
	}
	s := &logStore{Store: inner, logDriver: d, path: c.Path, lock: flock.New(c.Path + ".lock")}
	if c.Mode == driver.ReadOnly && d.fault != createsReadOnly {
		if _, err := os.Stat(c.Path); err != nil {
			return nil, err
		}
	}
	if err := driver.MakeDirs(filepath.Dir(c.Path)); err != nil {
		return nil, err
	}
	if err := s.acquire(c.Mode); err != nil {
		return nil, err
	}
	if err := s.load(); err != nil {
		return nil, errors.Join(err, s.lock.Close())
	}
	return s, nil
}

func (s *logStore) acquire(m driver.Mode) error {
	try := s.lock.TryLock
	switch {
	case s.fault == noLock, s.fault == staleShared, m == driver.ReadOnly && s.fault == writesReadOnly:
		return nil
	case m == driver.ReadOnly:
		try = s.lock.TryRLock
	}
	ok, err := try()
	if err == nil && !ok {
		err = driver.Busy
	}
	return err
}

type logStore struct {
	driver.Store
	*logDriver
	path string
	lock *flock.Flock
	file *os.File
	late [][]driver.Op
}

// load reads the log into memory and leaves the file open for appending.
func (s *logStore) load() error {
	content, err := os.ReadFile(s.path)
	switch {
	case err == nil && len(content) > 0 && !bytes.HasPrefix(content, []byte(logHeader)) && s.fault != overwritesOthers:
		return driver.Corrupt
	case err == nil && bytes.HasPrefix(content, []byte(logHeader)):
		err = s.replay(content[len(logHeader):])
	case err == nil || errors.Is(err, fs.ErrNotExist):
		err = os.WriteFile(s.path, []byte(logHeader), 0o600)
	}
	if err == nil {
		s.file, err = os.OpenFile(s.path, os.O_RDWR|os.O_APPEND, 0o600)
	}
	return err
}

func (s *logStore) replay(log []byte) error {
	size := len(logHeader)
	for {
		line, rest, whole := bytes.Cut(log, []byte("\n"))
		if !whole {
			if s.fault == panicsOnDamage && len(line) > 0 {
				panic("half a line")
			}
			if s.fault == believesAll && len(line) > 8 {
				line = append(bytes.TrimRight(line[:len(line)-5], "=\"\\"), "\"}]"...)
				var ops []driver.Op
				_ = json.Unmarshal(line, &ops)
				return driver.Apply(context.Background(), s.Store, ops, driver.Buffered)
			}
			return os.Truncate(s.path, int64(size)) // a commit that was not finished
		}
		var ops []driver.Op
		if err := json.Unmarshal(line, &ops); err != nil {
			if s.fault == panicsOnDamage {
				panic(err)
			}
			return &driver.Error{Kind: driver.Corrupt, Err: err}
		}
		if err := driver.Apply(context.Background(), s.Store, ops, driver.Buffered); err != nil {
			return err
		}
		log, size = rest, size+len(line)+1
	}
}

func (s *logStore) Caps() driver.Caps { return s.Info().Caps }

// logLimit is the size of a transaction in bytes that is too large.
const logLimit = 3 << 19

func (s *logStore) write(ops []driver.Op) error {
	size := 0
	for _, op := range ops {
		size += len(op.Key) + len(op.Value)
	}
	switch {
	case size > logLimit:
		return driver.TooLarge
	case s.fault == lateWrites || s.fault == forgetsOnClose:
		s.late = append(s.late, cloneOps(ops))
		return nil
	case (s.fault == splitWrites || s.fault == tornWrites) && len(ops) > 1:
		for i := range ops {
			if err := s.write(ops[i : i+1]); err != nil {
				return err
			}
			if s.fault == splitWrites {
				time.Sleep(time.Millisecond)
			}
		}
		return nil
	}
	line, err := json.Marshal(ops)
	if err == nil {
		_, err = s.file.Write(append(line, '\n'))
	}
	return err
}

func cloneOps(ops []driver.Op) []driver.Op {
	out := make([]driver.Op, len(ops))
	for i, op := range ops {
		out[i] = driver.Op{Key: bytes.Clone(op.Key), Value: bytes.Clone(op.Value), Delete: op.Delete}
	}
	return out
}

func (s *logStore) Apply(ctx context.Context, ops []driver.Op, d driver.Durability) error {
	if err := s.write(ops); err != nil {
		return err
	}
	return driver.Apply(ctx, s.Store, ops, d)
}

func (s *logStore) Begin(ctx context.Context, d driver.Durability) (driver.Txn, error) {
	t, err := s.Store.Begin(ctx, d)
	return &logTxn{Txn: t, store: s}, err
}

func (s *logStore) Snapshot(ctx context.Context) (driver.Reader, error) {
	if s.fault == movesFirst {
		return latest(s.Store)
	}
	return s.Store.Snapshot(ctx)
}

func (s *logStore) Backup(_ context.Context, path string) error {
	if s.fault == emptyBackup {
		return os.WriteFile(path, []byte(logHeader), 0o600)
	}
	content, err := os.ReadFile(s.path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}

func (s *logStore) Close() error {
	late := s.late
	if s.fault == forgetsOnClose && len(late) > 0 {
		late = late[:len(late)-1]
	}
	var err error
	for _, ops := range late {
		line, _ := json.Marshal(ops)
		_, werr := s.file.Write(append(line, '\n'))
		err = errors.Join(err, werr)
	}
	return errors.Join(err, s.file.Close(), s.lock.Close(), s.Store.Close())
}

type logTxn struct {
	driver.Txn
	store *logStore
	ops   []driver.Op
}

func (t *logTxn) Put(key, value []byte) error {
	t.ops = append(t.ops, cloneOps([]driver.Op{{Key: key, Value: value}})...)
	return t.Txn.Put(key, value)
}

func (t *logTxn) Delete(key []byte) error {
	t.ops = append(t.ops, cloneOps([]driver.Op{{Key: key, Delete: true}})...)
	return t.Txn.Delete(key)
}

func (t *logTxn) Commit() error {
	if len(t.ops) > 0 {
		if err := t.store.write(t.ops); err != nil {
			return err
		}
	}
	return t.Txn.Commit()
}

func TestTheSuiteCatchesEveryFaultOfALog(t *testing.T) {
	runChild()
	setFlag(t, "rapid.nofailfile", "true")
	for _, d := range logDrivers {
		t.Run(d.name, func(t *testing.T) {
			if d.fault == tornWrites {
				t.Setenv(killsVar, "24") // one kill in two finds it
			}
			catch(t, d.name, d.caught)
		})
	}
}
