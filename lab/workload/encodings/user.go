// Package encodings lays the record of a published comparison out in many ways: codecs in one pair,
// a pair for each field, a bucket for each record. The workload records measures them. A program
// that keeps records uses stores/record, which is the form binary here; what only the comparison
// needs is written for its one type, and stays here.
package encodings

import (
	"fmt"
	"hash/maphash"
	"math"
	"math/rand/v2"
)

// User is the record of the published comparison: 15 fields, 200 bytes.
type User struct {
	ID          int64   `record:"id" json:"id"`
	Username    string  `record:"username" json:"username"`
	Email       string  `record:"email" json:"email"`
	FirstName   string  `record:"first_name" json:"first_name"`
	LastName    string  `record:"last_name" json:"last_name"`
	Age         int32   `record:"age" json:"age"`
	Height      float32 `record:"height" json:"height"`
	Weight      float32 `record:"weight" json:"weight"`
	Balance     float64 `record:"balance" json:"balance"`
	Active      bool    `record:"is_active" json:"is_active"`
	CreatedAt   int64   `record:"created_at" json:"created_at"`
	UpdatedAt   int64   `record:"updated_at" json:"updated_at"`
	LoginCount  int32   `record:"login_count" json:"login_count"`
	Score       float64 `record:"score" json:"score"`
	Description string  `record:"description" json:"description"`
}

// NewUser returns the user with an id, the same for the same seed.
func NewUser(seed uint64, id int64) User {
	const year, now = 365 * 24 * 3600, 1_790_000_000
	r := rand.New(rand.NewPCG(seed, uint64(id)))
	return User{
		ID:          id,
		Username:    fmt.Sprintf("user_%d", id),
		Email:       fmt.Sprintf("user%d@example.com", id),
		FirstName:   fmt.Sprintf("First_%d", id),
		LastName:    fmt.Sprintf("Last_%d", id),
		Age:         18 + r.Int32N(60),
		Height:      float32(150 + r.IntN(50)),
		Weight:      float32(50 + r.IntN(100)),
		Balance:     r.Float64() * 10_000,
		Active:      r.IntN(2) == 1,
		CreatedAt:   now - r.Int64N(year),
		UpdatedAt:   now,
		LoginCount:  r.Int32N(1000),
		Score:       r.Float64() * 100,
		Description: fmt.Sprintf("Number %07d has a sentence of its own here, so that the record is as long as a real one.", id),
	}
}

// userHash is random for each process: hashes are compared with hashes of the same process alone.
var userHash = maphash.MakeSeed()

// Sum is a hash of all fields but the balance. It costs a small part of decoding the record.
func (u *User) Sum() uint64 {
	h := uint64(u.ID)
	for _, x := range [...]uint64{
		uint64(u.Age), uint64(math.Float32bits(u.Height)), uint64(math.Float32bits(u.Weight)), uint64(u.CreatedAt),
		uint64(u.UpdatedAt),
		uint64(u.LoginCount), math.Float64bits(u.Score),
		maphash.String(userHash, u.Username), maphash.String(userHash, u.Email), maphash.String(userHash, u.FirstName),
		maphash.String(userHash, u.LastName), maphash.String(userHash, u.Description),
	} {
		h = (h ^ x) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	if u.Active {
		h++
	}
	return h
}
