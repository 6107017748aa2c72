//go:build cgo

package sqlite

// #include "cross.h"
import "C"

import "context"

// Status is what a connection did and holds since it was opened. Memory is in bytes.
type Status struct {
	CacheHits     int64 // pages found in the cache
	CacheMisses   int64 // pages read from the file or its log
	CacheWrites   int64 // pages written
	CacheSpills   int64 // pages written before the commit, as the cache was full
	CacheMemory   int64
	SchemaMemory  int64
	StmtMemory    int64
	Lookaside     int64 // slots of small memory in use
	CheckpointErr error // of the last checkpoint that a commit made, where callbacks or a ring watch the log
}

// Status returns the connection's figures.
func (c *Conn) Status() (Status, error) {
	if err := c.enter("status"); err != nil {
		return Status{}, err
	}
	defer c.leave()
	var s Status
	for _, f := range []struct {
		op C.int
		to *int64
	}{{0, &s.Lookaside}, {1, &s.CacheMemory}, {2, &s.SchemaMemory}, {3, &s.StmtMemory}, {7, &s.CacheHits},
		{8, &s.CacheMisses}, {9, &s.CacheWrites}, {12, &s.CacheSpills}} {
		var now, most C.int
		if rc := C.sqlite3_db_status(c.c.db, f.op, &now, &most, 0); rc != rcOK {
			return Status{}, c.failure(context.Background(), "status", rc)
		}
		*f.to = int64(now)
	}
	if rc := c.c.checkpoint_rc; rc != rcOK {
		s.CheckpointErr = c.failure(context.Background(), "checkpoint", rc)
	}
	return s, nil
}

// Memory returns the bytes that SQLite has from malloc in this process, now and at most so far; 0
// unless [CountMemory] was called.
func Memory() (now, most int64) {
	var n, m C.int64_t
	C.sqlite3_status64(0, &n, &m, 0)
	return int64(n), int64(m)
}

// StmtStatus is what the runs of a statement did.
type StmtStatus struct {
	FullScanSteps int64 // rows that a scan of a whole table went over
	Sorts         int64
	AutoIndexes   int64 // rows put into indexes made for a run
	Steps         int64 // of SQLite's machine
	Reprepares    int64 // compilations after the schema had changed
	Runs          int64
	Memory        int64 // bytes
}

// Status returns the statement's figures since it was prepared.
func (s *Stmt) Status() (StmtStatus, error) {
	if err := s.c.enter("status"); err != nil {
		return StmtStatus{}, err
	}
	defer s.c.leave()
	var t StmtStatus
	if s.run == nil {
		return t, s.c.invalid("status", "", "the statement is closed")
	}
	for op, to := range map[C.int]*int64{1: &t.FullScanSteps, 2: &t.Sorts, 3: &t.AutoIndexes, 4: &t.Steps,
		5: &t.Reprepares, 6: &t.Runs, 99: &t.Memory} {
		*to = int64(C.sqlite3_stmt_status(s.run.stmt, op, 0))
	}
	return t, nil
}

// A CheckpointMode says for whom a checkpoint waits.
type CheckpointMode int

// Modes of checkpoints, with SQLite's numbers.
const (
	Passive         CheckpointMode = iota // copies what it can without waiting
	CheckpointFull                        // waits for writers and for readers of older states
	RestartLog                            // then waits until nobody reads the log, which begins anew
	TruncateLog                           // then cuts the log to nothing
	checkpointModes = iota
)

// Checkpoint copies the log into the database, and returns how many pages the log has and how many
// of them are in the database now; both are -1 without a log.
func (c *Conn) Checkpoint(ctx context.Context, mode CheckpointMode) (log, copied int, err error) {
	if mode < 0 || mode >= checkpointModes {
		return 0, 0, c.invalid("checkpoint", "", "mode %d", mode)
	}
	if err := c.enter("checkpoint"); err != nil {
		return 0, 0, err
	}
	defer c.leave()
	if err := c.begin(ctx, "checkpoint"); err != nil {
		return 0, 0, err
	}
	defer c.finish(ctx)
	var l, n C.int
	rc := C.sqlite3_wal_checkpoint_v2(c.c.db, nil, C.int(mode), &l, &n)
	if Code(rc) == Interrupted && ctx.Err() == nil { // by one that came too late for a statement before
		rc = C.sqlite3_wal_checkpoint_v2(c.c.db, nil, C.int(mode), &l, &n)
	}
	if rc != rcOK {
		return int(l), int(n), c.failure(ctx, "checkpoint", rc)
	}
	return int(l), int(n), nil
}
