package postgreskv

import (
	"fmt"
	"runtime"
	"testing"
)

// What the dsn says of the pool holds, also if it is what pgx would take without that.
func TestThePoolIsAsLargeAsTheDSNSays(t *testing.T) {
	usual := max(4, runtime.NumCPU())
	for _, c := range []struct {
		dsn  string
		want int
	}{
		{"host=/tmp", mostConnections},
		{fmt.Sprintf("host=/tmp pool_max_conns=%d", usual), usual},
		{"postgres://app@db.example.com/app?pool_max_conns=7", 7},
	} {
		o := defaults()
		o.dsn = c.dsn
		config, err := poolConfig(&o)
		if err != nil {
			t.Fatal(err)
		}
		if int(config.MaxConns) != c.want {
			t.Errorf("%s: %d connections, want %d", c.dsn, config.MaxConns, c.want)
		}
	}
}
