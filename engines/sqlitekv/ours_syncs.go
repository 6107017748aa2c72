package sqlitekv

import (
	"sync"
	"unsafe"

	"modernc.org/libc"
	"modernc.org/libc/sys/types"
	lib "modernc.org/sqlite/lib"

	"github.com/assaydb/assay/engines/internal/sqlite"
	"github.com/assaydb/assay/kv/driver"
)

// The file system "assay" is SQLite's own, whose syncs are told of. It is made when a connection
// asks for it. It opens files as SQLite does and gives them another table of methods, so that
// nothing but a sync is a call more.
var (
	asking sync.Map // driver.OnSync by *libc.TLS: each connection has one of its own
	below  uintptr  // sqlite3_vfs*, SQLite's own
	mu     sync.Mutex
	tables = map[uintptr]uintptr{} // *methods, by the table that each is a copy of
)

// methods is a table of methods, and the sync of the table that it is a copy of.
type methods struct {
	lib.Tsqlite3_io_methods
	sync uintptr
}

// vfs returns the name of the file system for who asks; 0 is SQLite's own.
func (c *conn) vfs(onSync driver.OnSync) uintptr {
	if onSync == nil {
		return 0
	}
	asking.Store(c.tls, onSync)
	return told()
}

var told = sync.OnceValue(func() uintptr {
	tls := libc.NewTLS()
	defer tls.Close()
	below = lib.Xsqlite3_vfs_find(tls, 0)
	own, p := allocated[lib.Tsqlite3_vfs](tls)
	*own = *at[lib.Tsqlite3_vfs](below)
	own.FzName, _ = libc.CString("assay") // it fails where there is no memory
	own.FpNext, own.FxOpen = 0, address(openFile)
	lib.Xsqlite3_vfs_register(tls, p, 0)
	return own.FzName
})

func openFile(tls *libc.TLS, _, name, file uintptr, flags int32, out uintptr) int32 {
	open := function[func(_ *libc.TLS, _, _, _ uintptr, _ int32, _ uintptr) int32](at[lib.Tsqlite3_vfs](below).FxOpen)
	rc := open(tls, below, name, file, flags, out)
	f := at[lib.Tsqlite3_file](file)
	if f.FpMethods == 0 {
		return rc
	}
	mu.Lock()
	defer mu.Unlock()
	if tables[f.FpMethods] == 0 {
		own, p := allocated[methods](tls)
		own.Tsqlite3_io_methods = *at[lib.Tsqlite3_io_methods](f.FpMethods)
		own.sync, own.FxSync = own.FxSync, address(syncFile)
		tables[f.FpMethods] = p
	}
	f.FpMethods = tables[f.FpMethods]
	return rc
}

func syncFile(tls *libc.TLS, file uintptr, flags int32) (rc int32) {
	own := at[methods](at[lib.Tsqlite3_file](file).FpMethods)
	sync := function[func(_ *libc.TLS, _ uintptr, _ int32) int32](own.sync)
	onSync, _ := asking.Load(tls)
	_ = onSync.(driver.OnSync).Time(func() error { // SQLite gets the code
		if rc = sync(tls, file, flags); rc == sqlite.OK {
			return nil
		}
		return sqlite.NewError(rc, libc.GoString(lib.Xsqlite3_errstr(tls, rc)), nil)
	})
	return rc
}

// at is what lies at an address of C.
func at[T any](p uintptr) *T { return (*T)(unsafe.Pointer(unsafe.SliceData(libc.GoBytes(p, 1)))) }

// allocated is memory of C for a T, which stays.
func allocated[T any](tls *libc.TLS) (*T, uintptr) {
	p := libc.Xmalloc(tls, types.Size_t(unsafe.Sizeof(*new(T))))
	return at[T](p), p
}

// address is that of a function of Go for C, and function the one at an address: see CheckpointAt.
func address[F any](f F) uintptr { return *(*uintptr)(unsafe.Pointer(&f)) }

func function[F any](p uintptr) F { return *(*F)(unsafe.Pointer(&p)) }
