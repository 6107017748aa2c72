package kv

import "github.com/assaydb/assay/kv/driver"

// Tx is a read-write transaction. It sees its own writes. One that [DB.Update] gave to a function
// lives as long as that function; one that [DB.Begin] returned lives until Commit or Rollback. It
// is used by one goroutine at a time.
//
// A function that only reads takes a *Snapshot, and is given tx.Snapshot within a transaction.
type Tx struct {
	*Snapshot
	*writing
}

// writing is what a Tx shares with its namespaces.
type writing struct {
	w    driver.Txn
	d    Durability
	held bool // by the program, from Begin on

	pairs, bytes int // written, where a tracer is told

	after []func()    // of OnCommit
	local map[any]any // of Local
}

// Durability returns the class that tx is committed with.
func (tx *Tx) Durability() Durability { return tx.d }

// Put sets key to value. It keeps neither.
func (tx *Tx) Put(key, value []byte) error {
	return tx.write("put", &driver.Op{Key: key, Value: value})
}

// Delete removes key. That it is absent is no error.
func (tx *Tx) Delete(key []byte) error {
	return tx.write("delete", &driver.Op{Key: key, Delete: true})
}

func (tx *Tx) write(name string, op *driver.Op) (err error) {
	if tx.plain() {
		return tx.writeNow(name, op)
	}
	var sp span // not by call: it would be allocated
	sp.begin(tx.ctx, tx.db.tracer, Event{Op: name})
	tx.enter()
	defer tx.done(&sp, &err)
	sp.pair(op.Key, op.Value)
	if err = tx.writeNow(name, op); err == nil {
		tx.pairs, tx.bytes = tx.pairs+1, tx.bytes+sp.event.Bytes
	}
	return err
}

// writeNow makes one write, within enter.
func (tx *Tx) writeNow(name string, op *driver.Op) error {
	err := tx.writable()
	if err == nil {
		err = checkPair(&tx.db.caps, op.Key, op.Value)
	}
	if err == nil {
		op.Key = tx.full(op.Key)
		err = op.Run(tx.w)
	}
	return tx.db.wrap(name, err)
}

// deleteChunk is how many keys DeleteRange holds at once where it deletes one by one.
const deleteChunk = 1024

// DeleteRange removes all keys of r. Engines that can do so at once do; on others it costs a scan
// and a Delete for each.
func (tx *Tx) DeleteRange(r Range) error {
	r.Reverse = false
	once := false
	err := tx.call("delete range", func(*span) error {
		err := tx.writable()
		if d, ok := tx.w.(driver.RangeDeleter); ok && err == nil {
			once, err = true, tx.deleteAtOnce(d, r)
		}
		return tx.db.wrap("delete range", err)
	})
	if err != nil || once {
		return err
	}
	for {
		var b Batch
		for k := range tx.Keys(r) {
			if b.Delete(k); b.Len() == deleteChunk {
				break
			}
		}
		err := tx.Err()
		if err == nil {
			err = b.Run(tx)
		}
		if err != nil || b.Len() < deleteChunk {
			return err
		}
		r.Start = After(b.ops[deleteChunk-1].Key)
	}
}

func (tx *Tx) deleteAtOnce(d driver.RangeDeleter, r Range) error {
	if r.empty() {
		return nil
	}
	it := Iterator{s: tx.Snapshot}
	it.setRange(&r)
	return d.DeleteRange(it.r.Start, it.r.End)
}

// Namespace returns a view of tx that holds only the keys beginning with prefix, shown without it.
// It is part of the same transaction.
func (tx *Tx) Namespace(prefix []byte) *Tx {
	return &Tx{Snapshot: tx.Snapshot.Namespace(prefix), writing: tx.writing}
}

// OnCommit has fn called once tx is committed, for what must not happen before, or if it is rolled
// back: waking others, say. fn runs before the next writer's turn and must not call the store.
// Where the commit is in doubt it is not called.
func (tx *Tx) OnCommit(fn func()) {
	tx.enter()
	defer tx.leave()
	if tx.r != nil {
		tx.after = append(tx.after, fn)
	}
}

// Local returns the value that tx keeps under key; first makes it when it is asked for the first
// time in the transaction, of whichever namespace. It is for what is built on transactions and has
// something to remember until they end.
func (tx *Tx) Local(key any, first func() any) any {
	tx.enter()
	defer tx.leave()
	value, ok := tx.local[key]
	if ok || tx.r == nil {
		return value
	}
	if tx.local == nil {
		tx.local = map[any]any{}
	}
	value = first()
	tx.local[key] = value
	return value
}

// Fail has tx end with err, whatever else happens in it: nothing of it is committed, and Update or
// Commit returns err. It is for what cannot leave its work half done, in a function that does not
// decide how tx ends.
func (tx *Tx) Fail(err error) { tx.fail(err) }

// Join returns tx as a transaction of db, which may be another namespace of the same store than the
// one that tx was begun on: with the keys of db. A tx of another store is Invalid.
func (db *DB) Join(tx *Tx) (*Tx, error) {
	if tx.db.core != db.core {
		return nil, db.wrap("join", refusal(Invalid, "give a transaction of this store: of db.Update or db.Begin",
			"it is a transaction of %s %s", tx.db.engine, tx.db.path))
	}
	tx.enter()
	defer tx.leave()
	if tx.r == nil {
		return nil, tx.refuse("join")
	}
	tx.lent = true
	return &Tx{Snapshot: &Snapshot{view: tx.view, db: db}, writing: tx.writing}, nil
}

// Commit commits a transaction that [DB.Begin] returned: see [DB.Update] for what its errors mean.
// It ends tx in any case. Update commits its own.
func (tx *Tx) Commit() (err error) { return tx.finish("commit") }

// Rollback ends a transaction that [DB.Begin] returned without committing it. After Commit or
// Rollback it does nothing, so that it can be deferred.
func (tx *Tx) Rollback() error { return tx.finish("rollback") }

func (tx *Tx) finish(op string) error {
	if !tx.held {
		return tx.db.wrap(op, refusal(Invalid, "return nil to commit, an error to roll back",
			"Update ends its transaction itself"))
	}
	tx.enter()
	defer tx.leave()
	if tx.r == nil {
		if op == "rollback" {
			return nil
		}
		return tx.refuse(op)
	}
	return tx.db.let(tx, op == "commit")
}

// writable refuses writes after the end, and during a scan: what an engine's cursor does when the
// tree under it changes differs from engine to engine (bbolt's may skip a key).
func (tx *Tx) writable() error {
	switch {
	case tx.r == nil:
		return errEnded()
	case tx.open != nil:
		return refusal(Invalid, "collect the keys first, write after the loop; close iterators",
			"a scan of this transaction is running")
	}
	return tx.keepNone()
}
