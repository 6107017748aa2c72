package sqlite_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/gofrs/flock"

	"github.com/assaydb/assay/engines/internal/sqlite"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/powertest"
)

// failSync lets the nth sync of the log from now on fail. What it would have written is lost: the
// system takes it for clean, and no later sync writes it.
func failSync(disk *powertest.Disk, n uint64) {
	disk.Arm(powerfs.Fault{Op: powerfs.OnSync, Nth: n, Err: syscall.EIO, Match: "*-wal"})
}

// afterCut opens what is left of db if the power fails now.
func afterCut(t *testing.T, disk *powertest.Disk, engine string) *kv.DB {
	t.Helper()
	return open(t, engine, filepath.Join(disk.Cut(t), "db"), "")
}

func aFailedSyncOfACheckpointIsNotPassedOver(t *testing.T, engine string) {
	disk := powertest.NewDisk(t, nil)
	db := open(t, engine, filepath.Join(disk.Dir(), "db"), "?wal_autocheckpoint=10")
	failSync(disk, 1)
	var err error
	for i := 1; err == nil && disk.Failed() == 0; i++ {
		err = db.Put(t.Context(), kv.Flushed, []byte("a"), fmt.Append(nil, i))
	}
	wantKind(t, "the commit whose checkpoint failed", err, kv.InDoubt)
	if err := db.Put(t.Context(), kv.Synced, []byte("b"), nil); err == nil {
		if got := all(t, afterCut(t, disk, engine), kv.Range{}); !strings.HasSuffix(got, "b=") {
			t.Errorf("a synced commit is lost: got %q", got)
		}
	}
}

// A commit without space has a header in the log, and the first part of a page. The next one
// overwrites both. Where power fails amid that, its own end of the page may be there, and the first
// part as it was: if both have the same end, that is the commit for which there was no space.
func aCommitWithoutSpaceDoesNotComeBack(t *testing.T, engine string) {
	disk := powertest.NewDisk(t, nil)
	path := filepath.Join(disk.Dir(), "db")
	db := open(t, engine, path, "?page_size=8192")
	write := func(key, value string) error {
		return db.Put(t.Context(), kv.Synced, []byte(key), []byte(value))
	}
	want := ""
	for i := range 4 { // with which the second half of the page is full
		key, value := fmt.Sprint("a", i), strings.Repeat("0", 1100)
		if err := write(key, value); err != nil {
			t.Fatal(err)
		}
		want += key + "=" + value + " "
	}
	read := func(ending string) []byte { return content(t, path+ending) }
	at := len(read("-wal"))
	disk.Arm(powerfs.Fault{Op: powerfs.OnWrite, Nth: 2, Err: syscall.ENOSPC, Short: true, Match: "*-wal"})
	err := write("b", "1")
	if kv.KindOf(err) == kv.InDoubt { // go-sqlite3 tells of no space as of any failed write
		return
	}
	wantKind(t, "a commit without space", err, kv.Full)
	failed := read("-wal")
	if err := write("c", "2"); err != nil {
		t.Fatal(err)
	}
	cut := read("-wal")
	copy(cut[at:], failed[at:])
	if got := all(t, ofFiles(t, engine, read(""), cut), kv.Range{}); got+" " != want {
		t.Errorf("got %q behind %d bytes", got[min(len(got), len(want)):], len(want))
	}
	if got := all(t, afterCut(t, disk, engine), kv.Range{}); got != want+"c=2" {
		t.Errorf("later: got %d bytes, want %d", len(got), len(want)+3)
	}
}

// content reads a file by another process: this one would lose its locks of it.
func content(t *testing.T, path string) []byte {
	t.Helper()
	data, err := exec.Command("cat", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// ofFiles opens a store of a database and its log.
func ofFiles(t *testing.T, engine string, database, log []byte) *kv.DB {
	t.Helper()
	path := filepath.Join(t.TempDir(), "db")
	for ending, data := range map[string][]byte{"": database, "-wal": log} {
		if err := os.WriteFile(path+ending, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return open(t, engine, path, "")
}

// halfFull is a store of wide pages, filled from their ends on, whose log begins anew with each
// commit; and what is in it.
func halfFull(t *testing.T, engine string, values int) (disk *powertest.Disk, db *kv.DB, path, want string) {
	t.Helper()
	disk = powertest.NewDisk(t, nil)
	path = filepath.Join(disk.Dir(), "db")
	db = open(t, engine, path, "?page_size=8192&wal_autocheckpoint=1")
	for i := range values {
		key, value := fmt.Sprintf("a%02d", i), strings.Repeat("0", 1100)
		put(t, db, key, value)
		want += key + "=" + value + " "
	}
	return disk, db, path, strings.TrimSuffix(want, " ")
}

// findsNoSpace has the nth write to the log find space for half of it, and reports whether the
// commit of b is not done then: go-sqlite3 tells of no space as of any failed write.
func findsNoSpace(t *testing.T, disk *powertest.Disk, db *kv.DB, b *kv.Batch, nth uint64) bool {
	t.Helper()
	disk.Arm(powerfs.Fault{Op: powerfs.OnWrite, Nth: nth, Err: syscall.ENOSPC, Short: true, Match: "*-wal"})
	err := db.Write(t.Context(), kv.Synced, b)
	if kv.KindOf(err) == kv.InDoubt {
		return false
	}
	wantKind(t, "a commit without space", err, kv.Full)
	return true
}

// The last page of a commit that finds space for half of it may end with what stood there before:
// then all of the commit is in the log.
func aCommitWithoutSpaceIsGoneEvenWhereItsEndStoodThere(t *testing.T, engine string) {
	disk, db, path, want := halfFull(t, engine, 4)
	var b kv.Batch
	b.Put([]byte("b"), []byte("1"))
	if !findsNoSpace(t, disk, db, &b, 3) { // the log's head, the frame's, and the page
		return
	}
	if got := all(t, ofFiles(t, engine, content(t, path), content(t, path+"-wal")), kv.Range{}); got != want {
		t.Errorf("got %q behind %d bytes", got[min(len(got), len(want)):], len(want))
	}
}

// The next commit may have the same first page. Where power fails behind that page, what is left of
// the other one may follow.
func nothingOfACommitWithoutSpaceStandsBehindTheNextOne(t *testing.T, engine string) {
	disk, db, path, _ := halfFull(t, engine, 13)
	batch := func(value, key, other string) *kv.Batch {
		var b kv.Batch
		b.Put([]byte("a05"), []byte(strings.Repeat(value, 1100))) // in the first half of a page
		b.Put([]byte(key), []byte(strings.Repeat(other, 1100)))   // and of the next one
		return &b
	}
	if err := db.Write(t.Context(), kv.Synced, batch("1", "a10", "1")); err != nil {
		t.Fatal(err)
	}
	want, database := all(t, db, kv.Range{}), content(t, path)
	if !findsNoSpace(t, disk, db, batch("2", "a10", "2"), 5) { // the log's head, and two frames
		return
	}
	failed := content(t, path+"-wal")
	if err := db.Write(t.Context(), kv.Flushed, batch("2", "a11", "3")); err != nil {
		t.Fatal(err)
	}
	const firstPage = 32 + 24 + 8192
	torn := slices.Concat(content(t, path+"-wal")[:firstPage], failed[firstPage:])
	if got := all(t, ofFiles(t, engine, database, torn), kv.Range{}); got != want {
		t.Errorf("a commit that was not done is there, with %d bytes of its own", strings.Count(got, "2222")*4)
	}
}

// What cannot be read may be a commit, and is not taken for the end of the log.
func TestALogThatCannotBeReadIsNotCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	put(t, open(t, "sqlite", path, ""), "a", "1")
	log, err := os.OpenFile(path+"-wal", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	before := content(t, path+"-wal")
	if err := sqlite.ClearFrames(log, 0, nil); !errors.Is(err, syscall.EBADF) {
		t.Errorf("got %v", err)
	}
	if !bytes.Equal(content(t, path+"-wal"), before) {
		t.Error("something of it was cleared")
	}
}

func aFailedSyncLosesNothingThatOthersCommit(t *testing.T, engine string) {
	disk := powertest.NewDisk(t, nil)
	path := filepath.Join(disk.Dir(), "db")
	db := open(t, engine, path, "")
	put(t, db, "a", "0")
	put(t, db, "a", "1")
	failSync(disk, 1)
	wantKind(t, "a synced commit", db.Put(t.Context(), kv.Synced, []byte("a"), []byte("2")), kv.InDoubt)
	other := open(t, engine, path, "") // one that was open before would be told by its own sync
	if err := other.Put(t.Context(), kv.Synced, []byte("b"), []byte("3")); err != nil {
		t.Fatal(err)
	}
	if got := all(t, afterCut(t, disk, engine), kv.Range{}); got != "a=1 b=3" && got != "a=2 b=3" {
		t.Errorf("what another handle committed is lost: got %s", got)
	}
}

// What makes a store is synced by itself: lost with the first commit, it would be a hole before all
// that others commit, where nothing else is in the log.
func aFailedSyncOfTheFirstCommitLosesNothingElse(t *testing.T, engine string) {
	disk := powertest.NewDisk(t, nil)
	path := filepath.Join(disk.Dir(), "db")
	db := open(t, engine, path, "")
	disk.Arm(powerfs.Fault{Op: powerfs.OnSync, Nth: 1, Again: 1, Err: syscall.EIO, Match: "*-wal"}) // what mends it, too
	wantKind(t, "a synced commit", db.Put(t.Context(), kv.Synced, []byte("a"), []byte("1")), kv.InDoubt)
	other := open(t, engine, path, "")
	if err := other.Put(t.Context(), kv.Synced, []byte("b"), []byte("2")); err != nil {
		t.Fatal(err)
	}
	if got := all(t, afterCut(t, disk, engine), kv.Range{}); !strings.HasSuffix(got, "b=2") {
		t.Errorf("what another handle committed is lost: got %q", got)
	}
}

// A handle that was open when a sync failed is told of it by its own next one. One that is opened
// later is told by who could not mend the log, and has gone.
func aFailedSyncBesideOthersLosesNothingOfWhoComesLater(t *testing.T, engine string) {
	for _, mode := range []fs.FileMode{0o600, 0o700} { // a file that may be executed says nothing of its log
		failSyncBesideOthers(t, engine, mode)
	}
}

func failSyncBesideOthers(t *testing.T, engine string, mode fs.FileMode) {
	disk := powertest.NewDisk(t, nil)
	path := filepath.Join(disk.Dir(), "db")
	closeDB(t, open(t, engine, path, ""))
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	db, other := open(t, engine, path, ""), open(t, engine, path, "")
	put(t, other, "a", "1")
	if err := db.Put(t.Context(), kv.Flushed, []byte("b"), []byte("2")); err != nil {
		t.Fatal(err)
	}
	disk.Arm(powerfs.Fault{Op: powerfs.OnSync, Nth: 1, Again: 1, Err: syscall.EIO, Match: "*-wal"}) // what mends it, too
	wantKind(t, "a synced commit", db.Put(t.Context(), kv.Synced, []byte("c"), []byte("3")), kv.InDoubt)
	closeDB(t, db)
	late := open(t, engine, path, "")
	if err := late.Put(t.Context(), kv.Synced, []byte("d"), []byte("4")); err != nil {
		t.Fatal(err)
	}
	if got := all(t, afterCut(t, disk, engine), kv.Range{}); got != "a=1 b=2 d=4" && got != "a=1 b=2 c=3 d=4" {
		t.Errorf("what a later handle committed is lost: got %q", got)
	}
	if info, err := os.Stat(path + "-shm"); err != nil || info.Mode().Perm() != mode {
		t.Errorf("the log is mended, and still said not to be: %v, %v", info, err)
	}
	disk.Arm(powerfs.Fault{Op: powerfs.OnSync, Nth: 1, Again: 1, Err: syscall.EIO, Match: "*-wal"})
	if err := open(t, engine, path, "").Put(t.Context(), kv.Flushed, []byte("e"), []byte("5")); err != nil {
		t.Errorf("the log is mended, and was to be once more: %v", err)
	}
}

// mender is the lock of another process that is about to mend the log of the database at path.
func mender(t *testing.T, path string) *flock.Flock {
	t.Helper()
	lock := flock.New(path+"-wal", flock.SetFlag(os.O_RDONLY))
	if ok, err := lock.TryLock(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	return lock
}

// whoseMenderGoes is the engine's build, beside whose handle that process is gone once it has been
// met.
func whoseMenderGoes(t *testing.T, engine string, mender *flock.Flock) *sqlite.Library {
	t.Helper()
	d, _ := driver.Lookup(engine)
	build := *d.(*sqlite.Library)
	connect := build.Connect
	build.Connect = func(path string, flags int32, onSync driver.OnSync) (sqlite.Conn, error) {
		if err := mender.Unlock(); err != nil {
			return nil, err
		}
		return connect(path, flags, onSync)
	}
	return &build
}

// Of two processes that open a log which nobody closed, and of which a sync had failed, one is
// alone and is to mend it. It may meet a lock of the other one and go; that one is alone then.
func whoWasToMendALogMayGo(t *testing.T, engine string) {
	disk := powertest.NewDisk(t, nil)
	path := filepath.Join(disk.Dir(), "db")
	db := open(t, engine, path, "")
	if err := db.Put(t.Context(), kv.Flushed, []byte("a"), []byte("1")); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(disk.Dir(), "left") // as a process that dies leaves it
	for _, ending := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + ending)
		if err == nil {
			err = os.WriteFile(left+ending, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := driver.SyncTree(disk.Dir()); err != nil {
		t.Fatal(err)
	}
	log, err := os.OpenFile(left+"-wal", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(log)
	if err == nil {
		_, err = log.WriteAt(make([]byte, len(data)), 0)
	}
	if err == nil {
		err = log.Sync()
	}
	if err == nil {
		_, err = log.WriteAt(data, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	failSync(disk, 1)
	if err := log.Sync(); err == nil {
		t.Fatal("the sync did not fail")
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	build := whoseMenderGoes(t, engine, mender(t, left))
	second, err := kv.OpenDriver(t.Context(), build, driver.Config{Path: left, Mode: driver.Shared})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeDB(t, second) })
	if err := second.Put(t.Context(), kv.Synced, []byte("b"), []byte("2")); err != nil {
		t.Fatal(err)
	}
	after := open(t, engine, filepath.Join(disk.Cut(t), "left"), "")
	if got := all(t, after, kv.Range{}); got != "a=1 b=2" {
		t.Errorf("a synced commit is lost behind a hole of the log: got %q", got)
	}
}

// A log is removed when its last user closes it, and made anew by the next.
func theNameOfANewLogIsSyncedWithItsFirstCommit(t *testing.T, engine string) {
	disk := powertest.NewDisk(t, nil)
	disk.Rule = powerfs.Rule{Entries: powerfs.Strict, Survivors: powerfs.Nothing}
	path := filepath.Join(disk.Dir(), "db")
	db := open(t, engine, path, "")
	put(t, db, "a", "1")
	closeDB(t, db)
	db = open(t, engine, path, "")
	if err := db.Put(t.Context(), kv.Synced, []byte("b"), []byte("2")); err != nil {
		t.Fatal(err)
	}
	if got := all(t, afterCut(t, disk, engine), kv.Range{}); got != "a=1 b=2" {
		t.Errorf("a synced commit is lost with the name of its log: got %s", got)
	}
}

// A new connection asks whether the log is in doubt, as it is beside another handle until it is
// mended. The race detector sees whether the two agree on that.
func readersComeWhileTheLogIsMended(t *testing.T, engine string) {
	path := filepath.Join(t.TempDir(), "db")
	put(t, open(t, engine, path, ""), "a", "1")
	db := open(t, engine, path, "")
	var readers sync.WaitGroup
	mended := make(chan struct{})
	readers.Go(func() {
		for i := range 200 { // each has a connection of its own
			s, err := db.Snapshot(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			if v, err := s.Get([]byte("a")); string(v) != "1" || err != nil {
				t.Errorf("reader %d got %q, %v", i, v, err)
			}
			select {
			case <-mended:
				return
			default:
			}
		}
	})
	if err := db.Compact(t.Context()); err != nil {
		t.Error(err)
	}
	close(mended)
	readers.Wait()
}

func aFailedSyncOfCompactLosesNothing(t *testing.T, engine string) {
	disk := powertest.NewDisk(t, nil)
	db := open(t, engine, filepath.Join(disk.Dir(), "db"), "")
	put(t, db, "a", "1")
	failSync(disk, 1)
	failSync(disk, 2) // the repair's
	if err := db.Compact(t.Context()); err == nil || disk.Failed() != 2 {
		t.Fatalf("compact: got %v, %d syncs failed", err, disk.Failed())
	}
	// The log is mended before this commit. Its own file was open when the repair failed: it is
	// told.
	err := db.Put(t.Context(), kv.Synced, []byte("b"), []byte("2"))
	if err != nil {
		wantKind(t, "the next commit", err, kv.InDoubt)
	}
	if got := all(t, afterCut(t, disk, engine), kv.Range{}); got != "a=1 b=2" && (err == nil || got != "a=1") {
		t.Errorf("a synced commit is lost: got %s", got)
	}
}

// twoLeaves makes a store on the disk whose keys a and z lie on different pages of the database,
// not in the log.
func twoLeaves(t *testing.T, disk *powertest.Disk, engine string) (path string) {
	t.Helper()
	path = filepath.Join(disk.Dir(), "db")
	db := open(t, engine, path, "")
	var b kv.Batch
	for i := range 2000 {
		b.Put(fmt.Appendf(nil, "m%d", i), []byte("a value of some bytes"))
	}
	b.Put([]byte("a"), []byte("0"))
	b.Put([]byte("z"), []byte("0"))
	if err := db.Write(t.Context(), kv.Synced, &b); err != nil {
		t.Fatal(err)
	}
	closeDB(t, db)
	return path
}

// hole leaves a log in which synced changes of one page are followed by unsynced ones of two, of
// which a sync takes the place on the disk away, as does the sync that is to mend that. arm lets
// them fail.
func hole(t *testing.T, db *kv.DB, arm func()) {
	t.Helper()
	holeBehind(t, db, "a", arm)
}

// holeBehind is hole with a synced commit of key before it.
func holeBehind(t *testing.T, db *kv.DB, key string, arm func()) {
	t.Helper()
	if err := db.Put(t.Context(), kv.Synced, []byte(key), []byte("1")); err != nil {
		t.Fatal(err)
	}
	for i := 2; i < 6; i++ {
		var b kv.Batch
		b.Put([]byte("a"), fmt.Append(nil, i))
		b.Put([]byte("z"), fmt.Append(nil, i))
		if err := db.Write(t.Context(), kv.Flushed, &b); err != nil {
			t.Fatal(err)
		}
	}
	arm()
	wantKind(t, "a synced commit", db.Put(t.Context(), kv.Synced, []byte("b"), []byte("1")), kv.InDoubt)
}

// wantWhole opens what is left if the power fails now: it holds what one of the commits left.
func wantWhole(t *testing.T, what string, disk *powertest.Disk, engine string) {
	t.Helper()
	left := afterCut(t, disk, engine)
	if a, z := get(t, left, "a"), get(t, left, "z"); a != z && a+z != "10" && a+z != "01" {
		t.Errorf("%s: a is %s and z is %s, which no commit wrote", what, a, z)
	}
	if err := left.Check(t.Context()); err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// diesVar names the store in which a process of the test is to die.
const diesVar = "ASSAY_SQLITE_DIES"

func aLogThatNobodyClosedIsWrittenOnceMore(t *testing.T, engine string) {
	if url, ok := os.LookupEnv(diesVar); ok {
		db, err := kv.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		hole(t, db, func() {
			fmt.Println("ready")
			_, _ = os.Stdin.Read(make([]byte, 1)) // the parent has gone: it ends all the same
		})
		p, _ := os.FindProcess(os.Getpid())
		_ = p.Kill()
		select {}
	}
	disk := powertest.NewDisk(t, nil)
	path := twoLeaves(t, disk, engine)
	cmd := exec.Command(os.Args[0], "-test.run=^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$")
	cmd.Env = append(os.Environ(), diesVar+"="+engine+":"+path)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	failSync(disk, 1)
	failSync(disk, 2)
	if _, err := in.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	said, _ := io.ReadAll(out)
	if err := cmd.Wait(); cmd.ProcessState.Exited() || disk.Failed() != 2 {
		t.Fatalf("%v, %d syncs failed: %s", err, disk.Failed(), said)
	}
	db := open(t, engine, path, "?wal_autocheckpoint=1")
	wantWhole(t, "opened", disk, engine)
	put(t, db, "c", "1") // and a checkpoint
	wantWhole(t, "after a checkpoint", disk, engine)
	if got := get(t, db, "z"); got != "5" {
		t.Errorf("z is %s: what the kill left is lost", got)
	}
}

// To change the journal SQLite copies the log. Who was to mend that has gone by then, and the power
// fails amid the copying.
func aLogInDoubtIsMendedBeforeAnotherJournalTakesItsPlace(t *testing.T, engine string) {
	disk := powertest.NewDisk(t, nil)
	path := twoLeaves(t, disk, engine)
	db := open(t, engine, path, "")
	holeBehind(t, db, "z", func() {
		failSync(disk, 1)
		failSync(disk, 2)
		failSync(disk, 3)
	})
	closeDB(t, db)
	build := whoseMenderGoes(t, engine, mender(t, path))
	disk.Arm(powerfs.Fault{Op: powerfs.OnWrite, Nth: 2, Err: syscall.EIO, Match: "db"})
	c := driver.Config{Path: path, Mode: driver.Shared, Params: map[string]string{"journal_mode": "DELETE"}}
	if db, err := kv.OpenDriver(t.Context(), build, c); err == nil {
		t.Fatal("it opens though the log cannot be copied", db.Close())
	}
	for seed := range uint64(20) {
		disk.Rule, disk.Seed = powerfs.Rule{Survivors: powerfs.Pages}, seed
		wantWhole(t, "amid the copying", disk, engine)
	}
}

// Beside another process that is about to mend the log one cannot open, and that connection may be
// the last one, at whose end SQLite copies the log.
func aLogThatCannotBeMendedStaysForTheNext(t *testing.T, engine string) {
	disk := powertest.NewDisk(t, nil)
	path := twoLeaves(t, disk, engine)
	db := open(t, engine, path, "")
	hole(t, db, func() {
		failSync(disk, 1)
		failSync(disk, 2)
		failSync(disk, 3)
	})
	closeDB(t, db)
	if n := disk.Failed(); n != 3 {
		t.Errorf("%d syncs failed, want 3: the log is to be mended when it is closed", n)
	}
	wantWhole(t, "closed", disk, engine)
	mends := mender(t, path)
	_, err := kv.Open(t.Context(), engine+":"+path, kv.WithWait(0))
	wantKind(t, "open while another process mends the log", err, kv.Busy)
	if got := names(t, disk.Dir()); got != "db db-shm db-wal" {
		t.Errorf("who could not open has left: %s", got)
	}
	if err := mends.Unlock(); err != nil {
		t.Fatal(err)
	}
	db = open(t, engine, path, "?wal_autocheckpoint=1")
	put(t, db, "c", "1") // and a checkpoint
	wantWhole(t, "after a checkpoint", disk, engine)
	closeDB(t, db)
	if got := names(t, disk.Dir()); got != "db" {
		t.Errorf("left behind: %s", got)
	}
}

func aLogOfOthersIsWrittenOnceMoreBeforeACheckpoint(t *testing.T, engine string) {
	disk := powertest.NewDisk(t, nil)
	path := twoLeaves(t, disk, engine)
	hole(t, open(t, engine, path, ""), func() {
		failSync(disk, 1)
		failSync(disk, 2)
	})
	other := open(t, engine, path, "?wal_autocheckpoint=1") // one that was open before would be told
	put(t, other, "c", "1")                                 // and a checkpoint
	wantWhole(t, "after a checkpoint", disk, engine)
}

// A checkpoint that a reader holds back syncs nothing, and the next one begins behind it. If the
// sync of that one fails, the pages of both may be lost.
func aFailedSyncOfACheckpointLosesNothingOfTheOneBefore(t *testing.T, engine string) {
	disk := powertest.NewDisk(t, nil)
	path := twoLeaves(t, disk, engine)
	db := open(t, engine, path, "?wal_autocheckpoint=4")
	write := func(key, value string) error {
		return db.Put(t.Context(), kv.Flushed, []byte(key), []byte(value))
	}
	err := write("a", "1")
	if err == nil {
		err = db.View(t.Context(), func(*kv.Snapshot) error {
			var err error
			for i := 1; i < 6 && err == nil; i++ { // the log is copied up to what is viewed
				err = write("z", fmt.Sprint(i))
			}
			return err
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	disk.Arm(powerfs.Fault{Op: powerfs.OnSync, Nth: 1, Err: syscall.EIO, Match: "db"})
	wantKind(t, "the commit whose checkpoint failed", write("z", "6"), kv.InDoubt)
	if n := disk.Failed(); n != 1 {
		t.Errorf("%d syncs failed, want 1", n)
	}
	other := open(t, engine, path, "?wal_autocheckpoint=4") // one that was open before would be told
	for i := 7; i < 12; i++ {                               // it is copied to its end, and begun anew
		put(t, other, "z", fmt.Sprint(i))
	}
	left := afterCut(t, disk, engine)
	if a, z := get(t, left, "a"), get(t, left, "z"); a != "1" || z != "11" {
		t.Errorf("a is %s, want 1; z is %s, want 11", a, z)
	}
}

func aLogEndsWhereTheFramesOfItsRoundDo(t *testing.T, engine string) {
	path := filepath.Join(t.TempDir(), "db")
	db := open(t, engine, path, "?wal_autocheckpoint=10&page_size=512")
	put(t, db, "a", strings.Repeat("x", 100<<10)) // the next commit begins anew at the front
	put(t, db, "b", "1")
	f, err := os.Open(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	const header, frame = 32, 24 + 512
	end := sqlite.EndOfLog(f)
	if frames := (end - header) / frame; (end-header)%frame != 0 || frames < 1 || frames > 20 || end >= info.Size() {
		t.Errorf("the log of one small commit ends at %d of %d", end, info.Size())
	}
	if got := sqlite.EndOfLog(strings.NewReader("")); got != 0 {
		t.Errorf("an empty log ends at %d", got)
	}
}

// BenchmarkALogIsWrittenOnceMore is what it costs to open a store that nobody closed, by the pages
// in its log.
func BenchmarkALogIsWrittenOnceMore(b *testing.B) {
	for _, pages := range []int{10, 1000} {
		b.Run(fmt.Sprint(pages, " pages"), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "db")
			db, err := kv.Open(b.Context(), "sqlite:"+path+"?wal_autocheckpoint=100000")
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			if err := db.Put(b.Context(), kv.Flushed, []byte("a"), make([]byte, pages<<12)); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if err := sqlite.Rewrite(path+"-wal", nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
