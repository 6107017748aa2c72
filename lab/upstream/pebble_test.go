package upstream

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

var pebbleGoesOn = fault{module: "github.com/cockroachdb/pebble/v2", defence: "engines/pebblekv",
	sentence: "an Open that fails behind its flush leaves the compaction running that this has begun: without the " +
		"lock it writes to a manifest that the next Open has read, and it ends the process by a panic"}

// TestPebbleEndsTheProcessBehindAnOpenThatFailed lets the last sync of the folder fail in an Open
// that has flushed a log, so that there are enough tables for a compaction.
func TestPebbleEndsTheProcessBehindAnOpenThatFailed(t *testing.T) {
	for _, role := range []string{openPebble, failToOpenPebble} {
		dir := filepath.Join(t.TempDir(), "pebble")
		if err := makePebble(t, dir, vfs.Default).Close(); err != nil {
			t.Fatal(err)
		}
		said, died := runPebble(t, role, dir)
		if role == failToOpenPebble {
			pebbleGoesOn.report(t, died, said)
		} else if died {
			t.Fatalf("without a failure: %s", said)
		}
	}
}

// TestPebbleWritesWithoutTheLockBehindAnOpenThatFailed has the compaction of such an Open end when
// the store is open once more. A table that was ingested is in the log too, so that Open flushes
// twice, and the compaction runs beside the second flush.
func TestPebbleWritesWithoutTheLockBehindAnOpenThatFailed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pebble")
	ingestPebble(t, dir)
	said, died := runPebble(t, openPebbleAgain, dir)
	_, names, _ := strings.Cut(said, currentManifest)
	var name string
	var read, size int64
	if _, err := fmt.Sscan(names, &name, &read); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	if info, err := os.Stat(filepath.Join(dir, name)); err == nil {
		size = info.Size()
	}
	value, err := readPebble(dir)
	pebbleGoesOn.report(t, died && size > read,
		fmt.Sprintf("%s\nThe manifest has %d bytes then. Open and Get return %q, %v", said, size, value, err))
}

// What a child does with a store.
const (
	openPebble       = childRole + "-opens-pebble"       // open and close it
	failToOpenPebble = childRole + "-fail-pebble"        // open it, which fails, and live on
	openPebbleAgain  = childRole + "-opens-pebble-again" // the same, and open it again
)

// runPebble returns what a child said, and whether it died of it.
func runPebble(t *testing.T, role, dir string) (said string, died bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0], role, dir)
	var out, trouble bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &trouble
	if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != crashed {
		t.Fatalf("the child: %v\n%s%s", err, out.String(), trouble.String())
	}
	lines := regexp.MustCompile(`(?m)^(\t?panic: |fatal error: |github.com/cockroachdb/pebble/v2\.).*`).
		FindAllString(trouble.String(), 8)
	return out.String() + strings.Join(lines, "\n"), cmd.ProcessState.ExitCode() == crashed
}

// crashed is the status of a Go program that ends by a panic.
const crashed = 2

// makePebble makes a store of four tables that overlap, which a flush more will have merged, and
// commits a pair that stays in the log.
func makePebble(t *testing.T, dir string, fs vfs.FS) *pebble.DB {
	t.Helper()
	db, err := pebble.Open(dir, &pebble.Options{FS: fs, DisableAutomaticCompactions: true, Logger: silent{}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		for _, k := range []string{"a", "key", "z"} {
			if err := db.Set([]byte(k), fmt.Append(nil, i), pebble.Sync); err != nil {
				t.Fatal(err)
			}
		}
		if i == 4 {
			break
		}
		if err := db.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

// ingestPebble makes what a process leaves that is killed once a store of makePebble has ingested a
// table, before anything of it is flushed.
func ingestPebble(t *testing.T, dir string) {
	t.Helper()
	full, held := atomic.Bool{}, make(chan struct{})
	slow := errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && op.Kind == errorfs.OpCreate && strings.HasSuffix(op.Path, ".sst") {
			<-held
		}
		return nil
	})
	first := dir + "-first"
	db := makePebble(t, first, errorfs.Wrap(vfs.Default, slow))
	full.Store(true)
	table := filepath.Join(t.TempDir(), "table")
	f, err := vfs.Default.Create(table, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	w := sstable.NewWriter(objstorageprovider.NewFileWritable(f), sstable.WriterOptions{TableFormat: db.TableFormat()})
	err = errors.Join(w.Set([]byte("b"), []byte("ingested")), w.Set([]byte("key"), []byte("ingested")), w.Close())
	if err == nil {
		err = db.Ingest(t.Context(), []string{table})
	}
	if err == nil {
		err = os.CopyFS(dir, os.DirFS(first))
	}
	close(held)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// readPebble opens the store, as any program does, and reads a pair.
func readPebble(dir string) (string, error) {
	db, err := pebble.Open(dir, &pebble.Options{Logger: silent{}})
	if err != nil {
		return "", err
	}
	v, closer, err := db.Get([]byte("key"))
	if err != nil {
		return "", errors.Join(err, db.Close())
	}
	value := string(v)
	return value, errors.Join(closer.Close(), db.Close())
}

// pebbleChild is the whole life of a child.
func pebbleChild(role, dir string) error {
	if role == openPebble {
		_, err := readPebble(dir)
		return err
	}
	d := &pebbleDisk{dir: dir, holds: role == openPebbleAgain, merged: make(chan struct{}), goOn: make(chan struct{})}
	_, err := pebble.Open(dir, &pebble.Options{FS: errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(d.call)),
		EventListener: &pebble.EventListener{
			FlushBegin:      func(i pebble.FlushInfo) { d.ingests.Store(i.Ingest) },
			CompactionBegin: func(pebble.CompactionInfo) { d.merges.Store(true) },
			ManifestCreated: func(i pebble.ManifestCreateInfo) { d.manifest = i.Path },
		}, Logger: silent{}})
	fmt.Printf("Open returns %v.\n", err)
	if !errors.Is(err, syscall.EIO) {
		return errors.New("want an I/O error")
	}
	if d.holds {
		if err := d.openAgain(); err != nil {
			return err
		}
	}
	time.Sleep(time.Minute) // the process ends before
	return nil
}

// currentManifest is what a child says before name and size of the manifest that it has read.
const currentManifest = "Opened again, from"

// openAgain opens the store while the compaction of the Open before is held, and has that go on.
func (d *pebbleDisk) openAgain() error {
	db, err := pebble.Open(d.dir, &pebble.Options{DisableAutomaticCompactions: true, Logger: silent{}})
	if err != nil {
		return err
	}
	info, err := os.Stat(d.manifest)
	if err != nil {
		return err
	}
	fmt.Println(currentManifest, filepath.Base(d.manifest), info.Size())
	err = db.Set([]byte("key"), []byte("acknowledged"), pebble.Sync)
	close(d.goOn)
	return err
}

// pebbleDisk fails the sync of the folder behind the renaming of OPTIONS, the last that an Open
// does. It may hold two calls up: the second flush until a compaction has written its table, and
// that compaction, before it tells the manifest, until goOn is closed.
type pebbleDisk struct {
	dir, manifest             string
	holds                     bool
	merges, ingests, optioned atomic.Bool
	merged, goOn              chan struct{}
}

func (d *pebbleDisk) call(op errorfs.Op) error {
	name := filepath.Base(op.Path)
	switch {
	case op.Kind == errorfs.OpRename && strings.HasPrefix(name, "temporary"):
		d.optioned.Store(true)
	case op.Kind == errorfs.OpFileSync && op.Path == d.dir && d.optioned.CompareAndSwap(true, false):
		return &os.PathError{Op: "sync", Path: op.Path, Err: syscall.EIO}
	case d.holds && op.Kind == errorfs.OpFileSync && strings.HasPrefix(name, "MANIFEST") && d.ingests.Load():
		<-d.merged
	case d.holds && op.Kind == errorfs.OpGetDiskUsage && d.merges.CompareAndSwap(true, false):
		close(d.merged)
		<-d.goOn
	}
	return nil
}

// silent is a Logger that says nothing but what is fatal.
type silent struct{}

func (silent) Infof(string, ...any)  {}
func (silent) Errorf(string, ...any) {}

func (silent) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
