package drivertest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
)

var tornCases = []tcase{
	{"no transaction is torn by kill -9, not even in the middle of a large write", leavesNoTornTransaction},
}

// killsVar names the environment variable that tells how often tornCases kill during a commit, for
// each class: ASSAY_KILLS=1000.
const killsVar = "ASSAY_KILLS"

// kills is how often a case kills during a commit, for each class.
func (e *env) kills() int {
	e.Helper()
	text := os.Getenv(killsVar)
	switch {
	case text == "" && testing.Short():
		return 3
	case text == "":
		return 10
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		e.Fatalf("%s=%s: want a number of kills", killsVar, text)
	}
	return n
}

// atomicAtKill reports whether a store promises that a transaction of the class is whole or absent
// after a kill.
func atomicAtKill(caps kv.Caps, class kv.Durability) bool { return caps.Promise(class).KillAtomic }

// largeWork is a sequence of transactions. Transaction i replaces what the one slots before it left
// by its own pairs, and writes its number under "last". All of its bytes follow from its number, so
// that a verifier knows them.
type largeWork struct {
	largest int // bytes of the largest transaction
}

const (
	slots      = 3   // so many transactions are in the store
	mostPairs  = 512 // of a transaction
	mebibyte   = 1 << 20
	lastNumber = "last"
)

// shape returns how many pairs transaction i has, and how many bytes in each value. The first two,
// one of each form of commit, are the largest; of the others one in four is small.
func (w largeWork) shape(i int) (pairs, value int) {
	if i < 2 {
		return mostPairs, w.largest / mostPairs
	}
	rng := newRand(uint64(i))
	pairs = 4 << rng.IntN(7)
	pairs += rng.IntN(pairs)
	size := 4<<10 + rng.IntN(16<<10)
	if rng.IntN(4) > 0 {
		size = w.largest/8 + rng.IntN(w.largest-w.largest/8)
	}
	return pairs, max(8, size/pairs)
}

func (w largeWork) bytes(i int) int {
	pairs, value := w.shape(i)
	return pairs * value
}

func largeKey(i, pair int) []byte { return fmt.Appendf(nil, "slot%d/%04d", i%slots, pair) }

// incompressible is what values are cut from.
var incompressible = sync.OnceValue(func() []byte { return noise(2*mebibyte, 3) })

// appendValue appends a value of n bytes to dst: the number of the transaction, then bytes of this
// pair alone.
func appendValue(dst []byte, i, pair, n int) []byte {
	at := (i*7919 + pair*104729) % mebibyte
	return append(binary.BigEndian.AppendUint64(dst, uint64(i)), incompressible()[at:at+n-8]...)
}

// writes are those of transaction i; a nil value deletes.
func (w largeWork) writes(i int) iter.Seq2[[]byte, []byte] {
	return func(yield func(k, v []byte) bool) {
		var buf []byte
		pairs, n := w.shape(i)
		for pair := range pairs {
			buf = appendValue(buf[:0], i, pair, n)
			if !yield(largeKey(i, pair), buf) {
				return
			}
		}
		if i >= slots {
			before, _ := w.shape(i - slots)
			for pair := pairs; pair < before; pair++ {
				if !yield(largeKey(i, pair), nil) {
					return
				}
			}
		}
		yield([]byte(lastNumber), strconv.AppendInt(nil, int64(i), 10))
	}
}

// commit commits transaction i, in one form or the other, and calls committing when only the commit
// is left to do.
func (w largeWork) commit(db *kv.DB, class kv.Durability, i int, committing func()) error {
	var b kv.Batch
	for k, v := range w.writes(i) {
		if v == nil {
			b.Delete(k)
		} else {
			b.Put(k, v)
		}
	}
	if i%2 == 0 {
		committing()
		return db.Write(ctx, class, &b)
	}
	return db.Update(ctx, class, func(tx *kv.Tx) error {
		if err := b.Run(tx); err != nil {
			return err
		}
		committing()
		return nil
	})
}

// verify returns the number of the transaction after which the store was as it is, -1 for an empty
// store. That there is no such transaction is an error which tells what is there.
func (w largeWork) verify(db *kv.DB) (last int, err error) {
	found := map[int]int{} // pairs of each transaction
	number := ""
	err = db.View(ctx, func(s *kv.Snapshot) error {
		for k, v := range s.Scan(kv.Range{}) {
			if string(k) == lastNumber {
				number = string(v)
				continue
			}
			i, err := w.identify(k, v)
			if err != nil {
				return err
			}
			found[i]++
		}
		return nil
	})
	if err != nil || number == "" && len(found) == 0 {
		return -1, err
	}
	last, err = strconv.Atoi(number)
	whole := err == nil && len(found) == min(slots, last+1)
	for i := last; i > last-slots && i >= 0; i-- {
		pairs, _ := w.shape(i)
		whole = whole && found[i] == pairs
	}
	if whole {
		return last, nil
	}
	var parts []string
	for _, i := range slices.Backward(slices.Sorted(maps.Keys(found))) {
		pairs, _ := w.shape(i)
		parts = append(parts, fmt.Sprintf("%d of %d pairs of transaction %d", found[i], pairs, i))
	}
	return 0, fmt.Errorf("the last number is %q, and there are %s", number, strings.Join(parts, ", "))
}

// identify returns the transaction that wrote the pair.
func (w largeWork) identify(k, v []byte) (i int, err error) {
	var slot, pair int
	if _, err := fmt.Sscanf(string(k), "slot%d/%d", &slot, &pair); err == nil && len(v) >= 8 {
		i = int(binary.BigEndian.Uint64(v))
		pairs, n := w.shape(max(i, 0))
		if i >= 0 && i%slots == slot && pair < pairs && len(v) == n && bytes.Equal(v, appendValue(nil, i, pair, n)) {
			return i, nil
		}
	}
	return 0, fmt.Errorf("a pair that nobody wrote: %q with %d bytes, %.20q", k, len(v), v)
}

// verifyLarge is what a child does at "verify large" (URL, class, largest transaction): it opens a
// store, checks it and answers with the last transaction.
func (p *part) verifyLarge(words []string) (last string, err error) {
	class, w, err := parseLarge(words[1], words[2])
	if err != nil {
		return "", err
	}
	if p.db, err = kv.Open(ctx, words[0], kv.WithWeakest(class)); err != nil {
		return "", err
	}
	if err := p.db.Check(ctx); err != nil {
		return "", err
	}
	i, err := w.verify(p.db)
	return strconv.Itoa(i), err
}

// commitLarge is what a child does at "commit large" (class, largest transaction, first number): it
// commits, saying so before and after each commit, until it is killed.
func (p *part) commitLarge(words []string) error {
	class, w, err := parseLarge(words[0], words[1])
	if err != nil {
		return err
	}
	first, err := strconv.Atoi(words[2])
	for i := first; err == nil; i++ {
		if err = w.commit(p.db, class, i, func() { p.answer(committing+strconv.Itoa(i), nil) }); err == nil {
			p.answer(strconv.Itoa(i), nil)
		}
	}
	return err
}

const committing = "committing "

func parseLarge(class, largest string) (kv.Durability, largeWork, error) {
	d, err := kv.ParseDurability(class)
	n, nerr := strconv.Atoi(largest)
	return d, largeWork{n}, errors.Join(err, nerr)
}

func leavesNoTornTransaction(e *env) {
	e.needs(e.info.Caps.Persistent, "nothing outlives the process")
	kills, seed, tried := e.kills(), rand.Uint64(), false
	e.Logf("seed %d", seed)
	for _, class := range e.classes {
		k := &killer{env: e, class: class, rng: newRand(seed)}
		if !k.measure() {
			e.Logf("%s declares: %v transactions may be torn by a kill", e.Engine, class)
			continue
		}
		tried = true
		k.run(kills)
	}
	e.needs(tried, "transactions may be torn by a kill")
}

// killer kills children that commit largeWork with one class.
type killer struct {
	*env
	class   kv.Durability
	remote  bool
	promise kv.Promise
	work    largeWork
	rng     *rand.Rand

	store       int // number of the store in use
	acked, last int // in this store: acknowledged, and verified to be there
	begun       int // the latest whose commit has begun
	late        int // likewise, of all children before: a server may end it when its client is dead

	pace           [2]time.Duration // of a mebibyte: of preparing it, of committing it
	during, broken int              // kills during a commit; kills after which the store was not right
	present        int              // kills during a commit that was there afterwards
}

// measure finds out what the store promises, and the size of the transactions: 4 MiB for the
// largest, or less where the engine refuses that. It reports whether transactions are atomic.
func (k *killer) measure() bool {
	k.Helper()
	k.next()
	defer k.next()
	db, err := kv.Open(ctx, k.large(), kv.WithWeakest(k.class))
	k.must(err)
	k.promise, k.remote = db.Caps().Promise(k.class), db.Caps().Remote
	atomic := atomicAtKill(db.Caps(), k.class)
	for size := 4 * mebibyte; atomic && k.work.largest == 0; size /= 2 {
		w := largeWork{size}
		err := errors.Join(w.commit(db, k.class, 0, func() {}), w.commit(db, k.class, 1, func() {}))
		switch {
		case err == nil:
			k.work = w
		case kv.KindOf(err) != kv.TooLarge || size < 32<<10:
			k.Fatalf("%v: a transaction of %d bytes: %v", k.class, size, err)
		}
	}
	k.must(db.Close())
	return atomic
}

// large returns the URL of the store in use.
func (k *killer) large() string { return k.url(path.Join(k.folder(), "db")) }

func (k *killer) folder() string { return fmt.Sprintf("%v%d", k.class, k.store) }

// next has the killer go on with a new store.
func (k *killer) next() {
	k.must(os.RemoveAll(k.path(k.folder())))
	k.store++
	k.must(os.MkdirAll(k.path(k.folder()), 0o700))
	k.acked, k.last, k.begun, k.late = -1, -1, -1, -1
}

// run kills until so many kills came during a commit.
func (k *killer) run(kills int) {
	k.Helper()
	const (
		perStore = 50 // kills; some engines keep what was replaced, and read all of it when they open
		most     = 20 // times as many
	)
	n := 0
	for ; k.during < kills; n++ {
		if n == most*kills {
			k.Fatalf("%v: of %d kills %d came during a commit", k.class, n, k.during)
		}
		c := k.verified()
		if n > 0 && n%perStore == 0 {
			k.close(c)
			k.next()
			c = k.verified()
		}
		k.kill(c)
	}
	k.close(k.verified())
	k.Logf("%v: %d kills, %d during a commit of up to %d bytes, after %d of which it was there",
		k.class, n, k.during, k.work.largest, k.present)
	if k.broken > 0 {
		k.Errorf("%v: %d of %d kills left a store that no transaction left", k.class, k.broken, n)
	}
}

func (k *killer) close(c *child) {
	k.Helper()
	c.must("close")
	c.kill()
}

// verified returns a child that has opened the store and found it right. Where it is wrong that is
// counted, and the child has a new one.
func (k *killer) verified() *child {
	k.Helper()
	for {
		c := k.spawn()
		c.send("verify large", k.large(), k.class.String(), strconv.Itoa(k.work.largest))
		r, problem, ok := c.next()
		last, err := strconv.Atoi(r.Value)
		switch {
		case !ok:
		case r.Err != "":
			problem = r.Err
		case err != nil:
			k.Fatalf("the child answered %q", r.Value)
		case last < k.acked && k.promise.Class <= kv.Flushed:
			problem = fmt.Sprintf("transaction %d is the last", last)
		case last > k.begun && last > k.late:
			problem = fmt.Sprintf("transaction %d is there, whose commit had not begun", last)
		default:
			if k.acked < k.begun && last == k.begun {
				k.present++
			}
			k.last = last
			return c
		}
		c.kill()
		if k.acked == -1 && k.begun == -1 {
			k.Fatalf("%v: a new store: %s", k.class, problem)
		}
		if k.broken++; k.broken <= 3 {
			k.Errorf("%v: after a kill during transaction %d, acknowledged up to %d: %s",
				k.class, k.begun, k.acked, problem)
		}
		k.next()
	}
}

// kill has the child commit and kills it, most of the time during a commit.
func (k *killer) kill(c *child) {
	k.Helper()
	first := k.last + 1
	if k.remote {
		k.late = max(k.late, k.begun)
	}
	k.acked, k.begun = k.last, k.last
	at, phase := first+k.rng.IntN(3), min(1, k.rng.IntN(4)) // the kill comes when at is prepared, or committed
	c.send("commit large", k.class.String(), strconv.Itoa(k.work.largest), strconv.Itoa(first))
	for since := time.Now(); k.acked < at-1 || phase == 1 && k.begun < at; {
		r, what, ok := c.next()
		if !ok {
			k.Fatalf("the child, committing transaction %d, %s", k.acked+1, what)
		}
		now := time.Now()
		k.note(r, now.Sub(since))
		since = now
	}
	// Early moments are as likely as all others together: where a commit is synced, its writes are
	// the smaller part.
	late := k.rng.Float64() * k.rng.Float64()
	pace := float64(k.pace[phase]) / mebibyte
	time.Sleep(time.Duration(late * pace * float64(k.work.bytes(at)))) // nothing depends on it
	_ = c.cmd.Process.Kill()
	for r := range c.replies { // what was acknowledged before the kill counts, even if it was still in the pipe
		k.note(r, 0)
	}
	c.kill()
	if k.acked < k.begun {
		k.during++
	}
}

// note takes what the child says, and how long it did what it did before; 0 is unknown.
func (k *killer) note(r reply, took time.Duration) {
	k.Helper()
	phase, i := 0, k.begun+1
	if k.acked < k.begun {
		phase, i = 1, k.begun
	}
	want := [2]string{committing + strconv.Itoa(i), strconv.Itoa(i)}[phase]
	if r.Err != "" || r.Value != want {
		k.Fatalf("the child was to say %q: got %v", want, r)
	}
	if phase == 0 {
		k.begun = i
	} else {
		k.acked = i
	}
	if took > 0 && k.work.bytes(i) >= k.work.largest/8 { // small ones take as long as a sync, whatever their size
		pace := time.Duration(float64(took) * mebibyte / float64(k.work.bytes(i)))
		if k.pace[phase] > 0 {
			pace = (3*k.pace[phase] + pace) / 4
		}
		k.pace[phase] = pace
	}
}
