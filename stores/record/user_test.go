package record

import (
	"fmt"
	"math/rand/v2"
)

// user is the record of the published comparison of encodings.
type user struct {
	ID          int64   `record:"id"`
	Username    string  `record:"username"`
	Email       string  `record:"email"`
	FirstName   string  `record:"first_name"`
	LastName    string  `record:"last_name"`
	Age         int32   `record:"age"`
	Height      float32 `record:"height"`
	Weight      float32 `record:"weight"`
	Balance     float64 `record:"balance"`
	Active      bool    `record:"active"`
	CreatedAt   int64   `record:"created_at"`
	UpdatedAt   int64   `record:"updated_at"`
	LoginCount  int32   `record:"login_count"`
	Score       float64 `record:"score"`
	Description string  `record:"description"`
}

func newUser(id int64) user {
	r := rand.New(rand.NewPCG(uint64(id), 1))
	return user{
		ID: id, Username: fmt.Sprintf("user_%d", id), Email: fmt.Sprintf("user%d@example.com", id),
		FirstName: fmt.Sprintf("First_%d", id), LastName: fmt.Sprintf("Last_%d", id),
		Age: 18 + r.Int32N(60), Height: float32(150 + r.IntN(50)), Weight: float32(50 + r.IntN(100)),
		Balance: r.Float64() * 10000,
		Active:  r.IntN(2) == 1, CreatedAt: 1_700_000_000 - r.Int64N(365*24*3600), UpdatedAt: 1_700_000_000,
		LoginCount: r.Int32N(1000), Score: r.Float64() * 100,
		Description: fmt.Sprintf("Record %d is described by one sentence, of about ninety characters, that holds its own id.", id),
	}
}
