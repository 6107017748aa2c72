package observe_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/observe"
)

func TestFiguresAreServedBesideTheStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	db, o := open(t, "bbolt:"+path, nil)
	put(t, db, "k", "v")
	stop, err := o.Listen("")
	if err != nil {
		t.Fatal(err)
	}
	socket := observe.SocketOf(path)
	if info, err := os.Stat(socket); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v", info, err)
	}
	f, err := observe.Fetch(t.Context(), socket)
	if err != nil || counts(f) != counts(o.Figures()) || f.PID != os.Getpid() || f.Store.Path != db.Path() {
		t.Errorf("got %s, %v", counts(f), err)
	}
	if _, err := o.Listen(""); kv.KindOf(err) != kv.Busy {
		t.Errorf("a second one: %v", err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if _, err := observe.Fetch(t.Context(), socket); kv.KindOf(err) != kv.NoStore {
		t.Errorf("after the end: %v", err)
	}
}

func TestASocketOfADeadProgramIsReplacedAndNothingElse(t *testing.T) {
	_, o := mem(t, nil)
	if _, err := o.Listen(""); kv.KindOf(err) != kv.Invalid {
		t.Errorf("a store in memory: %v", err)
	}
	dir := t.TempDir()
	dead := filepath.Join(dir, "dead")
	l, err := net.Listen("unix", dead)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	stop, err := o.Listen(dead)
	if err != nil {
		t.Fatal(err)
	}
	if f, err := observe.Fetch(t.Context(), dead); err != nil || f.Engine != "mem" {
		t.Errorf("got %+v, %v", f, err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("data"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Listen(file); kv.KindOf(err) != kv.Busy {
		t.Errorf("a file: %v", err)
	}
	if data, err := os.ReadFile(file); string(data) != "data" {
		t.Errorf("the file now holds %q, %v", data, err)
	}
}

func TestTheHandlerOnlyReads(t *testing.T) {
	_, o := mem(t, nil)
	server := httptest.NewServer(o)
	defer server.Close()
	if f, err := observe.Fetch(t.Context(), server.URL); err != nil || f.Engine != "mem" {
		t.Errorf("got %+v, %v", f, err)
	}
	r, err := http.Post(server.URL, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("a POST: %s", r.Status)
	}
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_,
			_ = w.Write([]byte(`{"a": 1}`))
	}))
	defer other.Close()
	if _, err := observe.Fetch(t.Context(), other.URL); kv.KindOf(err) != kv.Invalid {
		t.Errorf("another server: %v", err)
	}
}

func TestOutsideTellsSizeChangesAndLocks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	db, _ := open(t, "bbolt:"+path, nil)
	before, holders, mark, err := observe.Outside(path)
	if err != nil || before.Size.Files != 1 || before.Size.Apparent == 0 {
		t.Errorf("got %+v, %v", before, err)
	}
	if runtime.GOOS == "linux" {
		mine := func(h observe.Holder) bool {
			return h.PID == os.Getpid() && h.Write && h.File == path && h.Program != ""
		}
		if !slices.ContainsFunc(holders, mine) {
			t.Errorf("the lock of this process is not told: %+v", holders)
		}
	}
	if _, _, same, _ := observe.Outside(path); same != mark {
		t.Error("a file that nobody wrote to has changed")
	}
	for range 100 {
		put(t, db, "k", "v")
	}
	if _, _, now, _ := observe.Outside(path); now == mark {
		t.Error("a file that was written to has not changed")
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, holders, _, err := observe.Outside(path); len(holders) != 0 || err != nil {
		t.Errorf("after the end: %+v, %v", holders, err)
	}
	if s, _, _, err := observe.Outside(path + "-none"); !s.Missing || err != nil {
		t.Errorf("of nothing: %+v, %v", s, err)
	}
}
