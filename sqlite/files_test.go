//go:build cgo

package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/powertest"
	"github.com/assaydb/assay/sqlite"
	"github.com/assaydb/assay/sqlite/internal/govfs"
)

func TestABlobIsAFile(t *testing.T) {
	c := open(t, ":memory:", nil)
	exec(t, c, "CREATE TABLE t (id INTEGER PRIMARY KEY, b); INSERT INTO t VALUES (1, zeroblob(100000)), (2, x'0102'), (3, 7)")
	b, err := c.OpenBlob(t.Context(), "main", "t", "b", 1, sqlite.WriteBlob)
	check(t, err)
	want := bytes.Repeat([]byte("0123456789"), 10_000)
	n, err := io.Copy(io.NewOffsetWriter(b, 0), bytes.NewReader(want))
	if n != int64(len(want)) || err != nil {
		t.Fatal(n, err)
	}
	got, err := io.ReadAll(io.NewSectionReader(b, 0, b.Size()))
	if !bytes.Equal(got, want) || err != nil {
		t.Error(len(got), err)
	}
	_, err = b.WriteAt([]byte("xy"), 99_999)
	wantKind(t, err, kv.TooLarge)
	if n, err := b.ReadAt(make([]byte, 10), 99_995); n != 5 || err != io.EOF {
		t.Error(n, err)
	}
	check(t, b.Reopen(2))
	if b.Size() != 2 {
		t.Error(b.Size())
	}
	exec(t, c, "UPDATE t SET b = x'03' WHERE id = 2")
	if _, err := b.ReadAt(make([]byte, 1), 0); err == nil || sqlite.CodeOf(err) != 4 {
		t.Error(err)
	}
	_ = b.Close()
	wantKind(t, b.Close(), kv.Closed)
	_, err = c.OpenBlob(t.Context(), "main", "t", "b", 3, sqlite.ReadBlob)
	wantKind(t, err, kv.Invalid) // an integer
}

func TestABlobEndsWithItsConnection(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	c := open(t, path, nil)
	exec(t, c, "CREATE TABLE t (b); INSERT INTO t VALUES (x'010203')")
	b, err := c.OpenBlob(t.Context(), "main", "t", "b", 1, sqlite.WriteBlob)
	check(t, err)
	_, err = b.WriteAt([]byte{9}, 0)
	check(t, err)
	check(t, c.Close())
	_, err = b.ReadAt(make([]byte, 1), 0)
	wantKind(t, err, kv.Closed)
	wantKind(t, b.Close(), kv.Closed)
	other := open(t, path, &sqlite.Options{Wait: -1}) // a blob that were left would hold its lock
	exec(t, other, "BEGIN EXCLUSIVE")
	if got := text(t, other, "SELECT hex(b) FROM t"); got != "090203" {
		t.Error(got)
	}
}

func TestABackupIsTakenWhileOthersWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	c := open(t, path, &sqlite.Options{Journal: "wal", Sync: sqlite.SyncOff})
	exec(t, c, `CREATE TABLE t (a); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 20000)
		INSERT INTO t SELECT 'row ' || i FROM n`)
	writer := open(t, path, &sqlite.Options{Sync: sqlite.SyncOff})
	to := open(t, filepath.Join(t.TempDir(), "b.db"), nil)
	steps := 0
	check(t, c.Backup(t.Context(), to, 10, func(left, total int) {
		if steps++; steps < 5 {
			exec(t, writer, "INSERT INTO t VALUES ('meanwhile')")
		}
	}))
	if got := text(t, to, "SELECT count(*), sum(a = 'meanwhile') FROM t; "); got != "20004|4" || steps < 10 {
		t.Error(got, steps)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := c.Backup(ctx, to, 1, func(int, int) { cancel() })
	wantKind(t, err, kv.Canceled)
	if got := text(t, to, "SELECT count(*) FROM t"); got != "20004" {
		t.Error(got)
	}
	wantKind(t, c.Backup(t.Context(), c, 1, nil), kv.Invalid)
}

// TestNumbersBeyondCAreTheLargest has numbers that would be 0 in C: a backup of no pages at a time
// does not end, a log of 0 pages is not checkpointed.
func TestNumbersBeyondCAreTheLargest(t *testing.T) {
	const beyond = 1 << 32
	c := open(t, filepath.Join(t.TempDir(), "a.db"), &sqlite.Options{Journal: "wal", Checkpoint: beyond})
	exec(t, c, "CREATE TABLE t (a); INSERT INTO t VALUES (x'01')")
	if got := text(t, c, "PRAGMA wal_autocheckpoint"); got != "2147483647" {
		t.Error("checkpoints are made after", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	steps := 0
	check(t, c.Backup(ctx, open(t, ":memory:", nil), beyond, func(int, int) {
		if steps++; steps > 10 {
			cancel()
		}
	}))
	_, err := c.OpenBlob(t.Context(), "main", "t", "a", 1, beyond)
	wantKind(t, err, kv.Invalid)
}

// TestABackupIsOfAnotherFile copies a database onto itself by another connection, and by another
// name of its file.
func TestABackupIsOfAnotherFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	link := filepath.Join(t.TempDir(), "link.db")
	c := open(t, path, &sqlite.Options{Wait: -1})
	exec(t, c, "CREATE TABLE t (a); INSERT INTO t VALUES (1)")
	check(t, os.Symlink(path, link))
	wantKind(t, c.BackupTo(t.Context(), path), kv.Invalid)
	wantKind(t, c.BackupTo(t.Context(), link), kv.Invalid)
	wantKind(t, c.Backup(t.Context(), open(t, path, nil), 1, nil), kv.Invalid)
	check(t, open(t, ":memory:", nil).Backup(t.Context(), open(t, ":memory:", nil), 1, nil))
	if got := text(t, c, "SELECT a FROM t"); got != "1" {
		t.Error(got)
	}
}

// TestABackupDoesNotReplaceWhatNobodyWrites has a policy say so, of a database that is open.
func TestABackupDoesNotReplaceWhatNobodyWrites(t *testing.T) {
	to := open(t, withPolicy(t, func(p *sqlite.Policy) { p.ReadOnly = true }), nil)
	from := open(t, ":memory:", nil)
	exec(t, from, "CREATE TABLE other (a)")
	wantKind(t, from.Backup(t.Context(), to, -1, nil), kv.Permission)
	if got := text(t, to, "SELECT group_concat(name) FROM (SELECT name FROM pragma_table_list WHERE name IN ('users', 'other'))"); got != "users" {
		t.Error(got)
	}
}

func TestColumnsAreTold(t *testing.T) {
	c := open(t, ":memory:", nil)
	exec(t, c, "CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, name VARCHAR(20) NOT NULL COLLATE NOCASE); CREATE TABLE u (a)")
	got, err := c.ColumnsOf(t.Context(), "main", "t")
	want := []sqlite.Column{{Name: "id", Type: "INTEGER", Collation: "BINARY", PrimaryKey: true, AutoIncrement: true},
		{Name: "name", Type: "VARCHAR(20)", Collation: "NOCASE", NotNull: true}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v %v", got, err)
	}
	tables, err := c.Tables(t.Context(), "main")
	if err != nil || !reflect.DeepEqual(tables, []string{"t", "u"}) {
		t.Error(tables, err)
	}
	_, err = c.Column("", "t", "none")
	wantKind(t, err, kv.NotFound)
	exec(t, c, "CREATE TABLE made (a INTEGER, twice INTEGER AS (a * 2) STORED, half AS (a / 2), z)")
	got, err = c.ColumnsOf(t.Context(), "main", "made")
	if names := fmt.Sprint(got); err != nil || names != "[a INTEGER twice INTEGER half  z ]" {
		t.Errorf("%s %v", names, err)
	}
	exec(t, c, "DROP TABLE made")

	s := prepare(t, c, "SELECT * FROM u")
	check(t, s.Run(t.Context()))
	exec(t, c, "ALTER TABLE u ADD COLUMN b TEXT; INSERT INTO u VALUES (1, 'new')")
	if next(t, s); s.Text(1) != "new" || !reflect.DeepEqual(s.Columns(), []string{"a", "b"}) || s.Declared(1) != "TEXT" {
		t.Error(s.Columns(), s.Text(1))
	}
}

func TestFiguresGrowWithWork(t *testing.T) {
	c := open(t, filepath.Join(t.TempDir(), "a.db"), nil)
	exec(t, c, "CREATE TABLE t (a); INSERT INTO t VALUES (1), (2), (3)")
	s := prepare(t, c, "SELECT a FROM t ORDER BY a DESC")
	check(t, s.Run(t.Context()))
	of, err := s.Status()
	if err != nil || of.Runs != 1 || of.FullScanSteps != 2 || of.Sorts != 1 || of.Steps == 0 || of.Memory == 0 {
		t.Errorf("%+v %v", of, err)
	}
	st, err := c.Status()
	if err != nil || st.CacheWrites == 0 || st.CacheHits == 0 || st.CacheMemory == 0 ||
		st.SchemaMemory == 0 || st.StmtMemory == 0 {
		t.Errorf("%+v %v", st, err)
	}
	if now, most := sqlite.Memory(); now <= 0 || most < now {
		t.Error(now, most)
	}
	wantKind(t, sqlite.CountMemory(), kv.Invalid)
}

func TestCheckpointsAreTold(t *testing.T) {
	c := open(t, filepath.Join(t.TempDir(), "a.db"), &sqlite.Options{Journal: "wal", Checkpoint: -1})
	exec(t, c, "CREATE TABLE t (a); INSERT INTO t VALUES (1)")
	log, copied, err := c.Checkpoint(t.Context(), sqlite.CheckpointFull)
	if log <= 0 || copied != log || err != nil {
		t.Error(log, copied, err)
	}
	log, _, err = c.Checkpoint(t.Context(), sqlite.TruncateLog)
	if log != 0 || err != nil {
		t.Error(log, err)
	}
}

// TestADiskThatIsFullIsAnError has a real file system of which so many bytes are left.
func TestADiskThatIsFullIsAnError(t *testing.T) {
	disk := powertest.NewDisk(t, &powertest.DiskOptions{Space: 400 << 10})
	c := open(t, filepath.Join(disk.Dir(), "a.db"), &sqlite.Options{Journal: "wal"})
	exec(t, c, "CREATE TABLE t (a)")
	var err error
	kept := 0
	for ; kept < 1000 && err == nil; kept++ {
		err = c.Exec(t.Context(), "INSERT INTO t VALUES (zeroblob(4000))")
	}
	if !errors.Is(err, kv.Full) {
		t.Fatal(err)
	}
	if got := text(t, c, "SELECT count(*) FROM t"); got != fmt.Sprint(kept-1) || c.InTx() {
		t.Error(got, kept, c.InTx())
	}
	if !strings.Contains(err.Error(), "full") {
		t.Error(err)
	}
}

// TestAFileSystemMayCallGo names one by Options and in a URI, of what is attached too, and has it
// be the default.
func TestAFileSystemMayCallGo(t *testing.T) {
	dir := t.TempDir()
	check(t, open(t, ":memory:", nil).Close())
	check(t, govfs.Register())
	called := func(what string, fn func()) {
		before := govfs.Calls.Load()
		if fn(); govfs.Calls.Load() == before {
			t.Errorf("%s: Go is not called", what)
		}
	}
	attach := open(t, ":memory:", nil)
	s := prepare(t, attach, " /* by an argument */ ATTACH ?1 AS other")
	s.BindText(1, "file:"+filepath.Join(dir, "attached.db?vfs=go"))
	called("ATTACH", func() { check(t, s.Run(t.Context())) })
	called("what is attached", func() { exec(t, attach, "CREATE TABLE other.t (a); INSERT INTO t VALUES (1)") })
	into := open(t, ":memory:", nil)
	exec(t, into, "CREATE TABLE t (a)")
	s = prepare(t, into, "VACUUM INTO ?1")
	s.BindText(1, "file:"+filepath.Join(dir, "into.db?vfs=go"))
	called("VACUUM INTO", func() { check(t, s.Run(t.Context())) })
	check(t, govfs.AsDefault(func() {
		called("the default", func() {
			c := open(t, filepath.Join(dir, "default.db"), nil)
			exec(t, c, "CREATE TABLE t (a); INSERT INTO t VALUES (1)")
			check(t, c.Close())
		})
	}))
	for path, o := range map[string]*sqlite.Options{
		filepath.Join(dir, "a.db"):                  {VFS: "go"},
		"file:" + filepath.Join(dir, "b.db?vfs=go"): nil,
	} {
		before := govfs.Calls.Load()
		c := open(t, path, o)
		exec(t, c, "CREATE TABLE t (a); INSERT INTO t VALUES (1)")
		if got := text(t, c, "SELECT a FROM t"); got != "1" || govfs.Calls.Load() == before {
			t.Errorf("%s: %s, %d calls", path, got, govfs.Calls.Load()-before)
		}
	}
}
