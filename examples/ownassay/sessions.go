package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/workload"
)

var params = []workload.Param{
	{Name: "users", Default: "1k", Usage: "users that have a session"},
	{Name: "cart", Default: "200", Usage: "bytes of a shopping cart"},
}

// sessions is a web shop between two deploys: each request reads the user's session, some change
// it.
var sessions = workload.Workload{
	Name:    "sessions",
	Summary: "a web shop: each request reads the user's session, some change it",
	Params:  params,
	Ops: []workload.Op{
		{Name: "request", Summary: "read a session; every fourth time put something in the cart, too", Commits: true,
			Core:  true,
			Cycle: every, New: newRequests},
	},
}

// every so many requests change the session.
const every = 4

// requests is the operation. It knows what each session must hold.
type requests struct {
	env      workload.Env
	cart     int
	versions []uint64 // of the sessions
	random   *rand.Rand
	users    []int // of the slice's requests
}

var _ workload.Job = (*requests)(nil)

func newRequests(env workload.Env) (workload.Runner, error) {
	users, err := env.Count(params, "users", 1, 1e6)
	if err != nil {
		return nil, err
	}
	cart, err := env.Count(params, "cart", 8, 1e6)
	if err != nil {
		return nil, err
	}
	r := &requests{env: env, cart: cart, versions: make([]uint64, users), random: rand.New(rand.NewPCG(env.Seed, 1))}
	return workload.OnKV(env, r), nil
}

func key(user int) []byte { return fmt.Appendf(nil, "session/%08d", user) }

// value returns a session in a version: no two are alike.
func (r *requests) value(version uint64) []byte {
	return binary.BigEndian.AppendUint64(make([]byte, r.cart-8, r.cart), version)
}

func (r *requests) Load(ctx context.Context, db *kv.DB) error {
	var b kv.Batch
	for user := range r.versions {
		b.Put(key(user), r.value(0))
	}
	return db.Write(ctx, r.env.Durability, &b)
}

// Prepare draws who makes the requests. A slice is whole cycles, so that a quarter of each changes
// sessions.
func (r *requests) Prepare(n int) error {
	r.users = r.users[:0]
	for range n {
		r.users = append(r.users, r.random.IntN(len(r.versions)))
	}
	return nil
}

func (r *requests) Do(ctx context.Context, db *kv.DB, _, i int) error {
	user := r.users[i]
	if i%every != 0 {
		return db.View(ctx, func(s *kv.Snapshot) error { return r.check(s, user) })
	}
	return db.Update(ctx, r.env.Durability, func(tx *kv.Tx) error {
		if err := r.check(tx.Snapshot, user); err != nil {
			return err
		}
		r.versions[user]++
		return tx.Put(key(user), r.value(r.versions[user]))
	})
}

// check compares a session with what was written last.
func (r *requests) check(s *kv.Snapshot, user int) error {
	got, err := s.Get(key(user))
	if err != nil {
		return err
	}
	if len(got) != r.cart || binary.BigEndian.Uint64(got[r.cart-8:]) != r.versions[user] {
		return fmt.Errorf("user %d has a session of %d bytes that is not version %d", user, len(got), r.versions[user])
	}
	return nil
}

func (r *requests) Verify(ctx context.Context, db *kv.DB) error {
	return db.View(ctx, func(s *kv.Snapshot) error {
		for _, user := range r.users {
			if err := r.check(s, user); err != nil {
				return err
			}
		}
		return nil
	})
}
