package drivertest

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
)

var killCases = []tcase{
	{"what was acknowledged survives kill -9, transactions as a whole, for every class that promises it", survivesKill},
}

// Record i has 1 to 5 parts, written by one commit together with the key "last". The form of the
// commit alternates between Update and Write. Nothing is random, so that a verifier knows every
// byte from the number.

func parts(i int) int { return 1 + i*7%5 }

func partKey(i, part int) []byte { return fmt.Appendf(nil, "record%08d/%d", i, part) }

func partValue(i, part int) []byte {
	return fmt.Appendf(nil, "%d/%d of %d %s", i, part, parts(i), strings.Repeat(string(rune('a'+i%26)), i*31%500))
}

// record commits records from the first number on and acknowledges each, until it is killed.
func (p *part) record(words []string) error {
	class, err := kv.ParseDurability(words[0])
	if err != nil {
		return err
	}
	first, err := strconv.Atoi(words[1])
	if err != nil {
		return err
	}
	for i := first; ; i++ {
		if err := commitRecord(p.db, class, i); err != nil {
			return err
		}
		p.answer(strconv.Itoa(i), nil)
	}
}

func commitRecord(db *kv.DB, class kv.Durability, i int) error {
	var b kv.Batch
	for part := range parts(i) {
		b.Put(partKey(i, part), partValue(i, part))
	}
	b.Put([]byte("last"), strconv.AppendInt(nil, int64(i), 10))
	if i%2 == 0 {
		return db.Write(ctx, class, &b)
	}
	return db.Update(ctx, class, b.Run)
}

func survivesKill(e *env) {
	e.needs(e.info.Caps.Persistent, "nothing outlives the process")
	runs := 10
	if testing.Short() {
		runs = 3
	}
	seed := rand.Uint64()
	e.Logf("seed %d", seed)
	rng := newRand(seed)
	for _, class := range e.classes {
		acked, name := -1, ""
		for run := range runs {
			if run%2 == 0 { // every other run goes on with the store that was killed before
				acked, name = -1, fmt.Sprintf("%v%d", class, run)
			}
			acked = e.killRun(name, class, acked+1, rng)
		}
	}
}

// killRun has a child commit records from first on, kills it, verifies the store and returns its
// last record.
func (e *env) killRun(name string, class kv.Durability, first int, rng *rand.Rand) (last int) {
	e.Helper()
	c := e.spawn()
	c.must("open", e.url(name), class.String())
	c.send("record", class.String(), strconv.Itoa(first))
	acked, enough := first-1, first+5+rng.IntN(60)
	for acked < enough {
		acked = e.acknowledged(c, acked)
	}
	time.Sleep(time.Duration(rng.IntN(3000)) * time.Microsecond) // somewhere within a commit; nothing depends on it
	_ = c.cmd.Process.Kill()
	for r := range c.replies { // what was acknowledged before the kill counts, even if it was still in the pipe
		acked = e.checkAck(r, acked)
	}
	c.kill()

	db, err := kv.Open(ctx, e.url(name), kv.WithWeakest(class), kv.WithWait(patience))
	if err != nil {
		e.Fatalf("%v: open after a kill at record %d: %v", class, acked, err)
	}
	e.Cleanup(func() { db.Close() })
	if err := db.Check(ctx); err != nil {
		e.Fatalf("%v: check after a kill at record %d: %v", class, acked, err)
	}
	last = e.verifyRecords(db, class, acked)
	if err := commitRecord(db, class, last+1); err != nil {
		e.Fatalf("%v: commit after a kill at record %d: %v", class, acked, err)
	}
	e.verifyRecords(db, class, last+1)
	e.must(db.Close())
	return last + 1
}

// acknowledged waits for the acknowledgement of the record after acked.
func (e *env) acknowledged(c *child, acked int) int {
	e.Helper()
	r, what, ok := c.next()
	if !ok {
		e.Fatalf("the child, committing record %d, %s", acked+1, what)
	}
	return e.checkAck(r, acked)
}

func (e *env) checkAck(r reply, acked int) int {
	e.Helper()
	if r.Err != "" || r.Value != strconv.Itoa(acked+1) {
		e.Fatalf("the child, committing record %d: got %v", acked+1, r)
	}
	return acked + 1
}

// verifyRecords reads all records and returns the number of the last one that is there.
func (e *env) verifyRecords(db *kv.DB, class kv.Durability, acked int) (last int) {
	e.Helper()
	promise := db.Caps().Promise(class)
	last = -1
	e.view(db, func(s *kv.Snapshot) {
		i, found := 0, 0
		end := func() { // of record i
			switch {
			case found == parts(i):
				last = i
			case found > 0 && promise.KillAtomic:
				e.Fatalf("%v: record %d has %d of its %d parts; acknowledged up to %d", class, i, found, parts(i),
					acked)
			}
			if found < parts(i) && i <= acked && promise.Class <= kv.Flushed {
				e.Fatalf("%v: record %d is lost (%d of %d parts); acknowledged up to %d", class, i, found, parts(i),
					acked)
			}
			i, found = i+1, 0
		}
		for k, v := range s.Scan(kv.Prefix([]byte("record"))) {
			var n, part int
			if _, err := fmt.Sscanf(string(k), "record%d/%d", &n, &part); err != nil || part >= parts(n) || n < i {
				e.Fatalf("%v: a key that nobody wrote: %q", class, k)
			}
			for i < n {
				end()
			}
			if string(v) != string(partValue(n, part)) {
				e.Fatalf("%v: record %d part %d: got %q", class, n, part, clipString(string(v)))
			}
			found++
		}
		for i <= max(acked, last) || found > 0 {
			end()
		}
		if last >= 0 && promise.KillAtomic {
			e.wantGet(class.String()+" after a kill", s, "last", strconv.Itoa(last))
		}
	})
	return last
}
