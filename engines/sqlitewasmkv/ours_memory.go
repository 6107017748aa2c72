package sqlitewasmkv

import (
	"github.com/ncruces/go-sqlite3"

	"github.com/assaydb/assay/engines/internal/sqlite"
	"github.com/assaydb/assay/kv/driver"
)

// maxRow is the size of a key or value for which there is always room in a connection's 256 MiB: as
// the argument of a statement, the one before it, as a row, and as the result of a read.
const maxRow = 32 << 20

// outOfMemory makes a result code of the panic of go-sqlite3 over a call for which the connection's
// memory is too small. Nothing of SQLite is running then: it has returned, or was not called yet.
// Use: defer c.outOfMemory(&rc).
func (c *conn) outOfMemory(rc *int32) {
	if p := recover(); p != nil {
		if err, ok := p.(error); !ok || err.Error() != sqlite3.NOMEM.Error() {
			panic(p)
		}
		c.last, *rc = sqlite3.ExtendedErrorCode(sqlite3.NOMEM), sqlite.NoMem
	}
}

func tooLarge(err error) error {
	return &driver.Error{Kind: driver.TooLarge, Err: err,
		Hint: "a connection has 256 MiB of memory: write smaller values, or use the engine sqlite"}
}
