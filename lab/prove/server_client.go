package prove

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"strconv"

	"github.com/assaydb/assay/kv"
)

// Cells is how many cells of a store the transactions of a history read and write.
const Cells = 8

// Transaction is one of a client of a server, as that saw it.
type Transaction struct {
	Client int    `json:"client"`
	N      uint64 `json:"n"`              // of the client's, from 1
	Call   int64  `json:"call_ns"`        // when it began, by the system's monotonic clock
	Return int64  `json:"return_ns"`      // when the client was told what became of it, 0 if it never was
	Told   Told   `json:"told,omitempty"` // what
	// Reads and Writes are values of cells, 0 where there is none. Nobody writes a value twice.
	Reads  map[int]uint64 `json:"reads,omitempty"`
	Writes map[int]uint64 `json:"writes,omitempty"`
}

// Told is what a client was told of a transaction. The zero value is nothing: it was killed before.
type Told string

// What a client is told.
const (
	Acknowledged Told = "acknowledged"
	Undone       Told = "undone"
	InDoubt      Told = "in doubt"
)

// Open reports whether nobody knows of a transaction whether it was done. What it read is not known
// either.
func (t Transaction) Open() bool { return t.Told != Acknowledged && t.Told != Undone }

// clientSpec says what a client does.
type clientSpec struct {
	URL    string
	Class  kv.Durability
	Client int
	Seed   uint64
}

// clientLine is what a client says: that it has opened the store, or could not; that a transaction
// begins, and what has become of it.
type clientLine struct {
	Ready bool         `json:",omitempty"`
	Error string       `json:",omitempty"`
	Hint  string       `json:",omitempty"`
	Began *Transaction `json:",omitempty"`
	Ended *Transaction `json:",omitempty"`
}

// Client is the whole life of a client process: it does transactions, one after the other, until in
// ends, or it is killed. It says of each that it begins before it does so.
func Client(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	text, err := lines.ReadBytes('\n')
	if err != nil {
		return err
	}
	var spec clientSpec
	if err := json.Unmarshal(text, &spec); err != nil {
		return err
	}
	say := json.NewEncoder(out).Encode // one system call for each line
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	over := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, lines) // the parent has no more to say
		close(over)
	}()
	db, err := kv.Open(ctx, spec.URL, kv.WithWeakest(spec.Class), kv.WithWait(lockWait))
	if err != nil {
		return say(clientLine{Error: err.Error(), Hint: kv.HintOf(err)})
	}
	if err := say(clientLine{Ready: true}); err != nil {
		return err
	}
	w := &worker{clientSpec: spec, db: db, rng: rand.New(rand.NewPCG(spec.Seed, uint64(spec.Client)))}
	for {
		select {
		case <-over:
			return db.Close()
		default:
		}
		t := w.plan()
		if err := say(clientLine{Began: &t}); err != nil {
			return err
		}
		failure := w.do(ctx, &t)
		line := clientLine{Ended: &t}
		if failure != nil {
			line.Error = failure.Error()
		}
		if err := say(line); err != nil {
			return err
		}
	}
}

// worker does a client's transactions.
type worker struct {
	clientSpec
	db  *kv.DB
	rng *rand.Rand
	n   uint64
}

// plan returns the next transaction: which cells it reads, and what it writes.
func (w *worker) plan() Transaction {
	w.n++
	t := Transaction{Client: w.Client, N: w.n, Call: clock(), Reads: map[int]uint64{}, Writes: map[int]uint64{}}
	for _, cell := range w.rng.Perm(Cells)[:w.rng.IntN(3)] {
		t.Reads[cell] = 0
	}
	for i, cell := range w.rng.Perm(Cells)[:w.rng.IntN(3)] {
		t.Writes[cell] = uint64(w.Client)<<40 | w.n<<2 | uint64(i)
	}
	return t
}

// do does a transaction, and notes what it read and what has become of it.
func (w *worker) do(ctx context.Context, t *Transaction) (err error) {
	if len(t.Writes) == 0 {
		err = w.db.View(ctx, func(s *kv.Snapshot) error { return readCells(s, t.Reads) })
	} else {
		err = w.db.Update(ctx, w.Class, func(tx *kv.Tx) error {
			count, err := numberAt(tx.Snapshot, countKey(t.Client))
			if err == nil {
				err = readCells(tx.Snapshot, t.Reads)
			}
			if err != nil {
				return err
			}
			for cell, v := range t.Writes {
				err = errors.Join(err, tx.Put(cellKey(cell), strconv.AppendUint(nil, v, 10)))
			}
			return errors.Join(err, tx.Put(recordKey(t.Client, t.N), recordOf(t.Writes)),
				tx.Put(countKey(t.Client), strconv.AppendUint(nil, count+1, 10)))
		})
	}
	t.Return = clock()
	switch {
	case err == nil:
		t.Told = Acknowledged
		return nil
	case errors.Is(err, kv.InDoubt):
		t.Told = InDoubt
		return nil
	case errors.Is(err, kv.Aborted): // others were in its way each time
		t.Told = Undone
		return nil
	}
	t.Told = Undone // the contract: what is not in doubt is not done
	return err
}

// readCells reads the cells that seen names.
func readCells(s *kv.Snapshot, seen map[int]uint64) (err error) {
	for cell := range maps.Clone(seen) {
		if seen[cell], err = numberAt(s, cellKey(cell)); err != nil {
			return err
		}
	}
	return nil
}

// numberAt returns the number at a key, 0 if there is none.
func numberAt(s *kv.Snapshot, key []byte) (uint64, error) {
	v, err := s.Get(key)
	if errors.Is(err, kv.NotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(string(v), 10, 64)
}

// A store has the cells, of each client how many transactions of its own that write are in it, and
// a record of each of those.
const (
	cellPrefix   = "cell/"
	countPrefix  = "count/"
	recordPrefix = "record/"
)

func cellKey(cell int) []byte { return fmt.Appendf(nil, "%s%d", cellPrefix, cell) }

func countKey(client int) []byte { return fmt.Appendf(nil, "%s%04d", countPrefix, client) }

func recordKey(client int, n uint64) []byte {
	return fmt.Appendf(nil, "%s%04d/%08d", recordPrefix, client, n)
}

// recordOf returns the value of a transaction's record. fmt sorts the cells.
func recordOf(writes map[int]uint64) []byte { return fmt.Append(nil, writes) }
