package postgreskv_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/assaydb/assay/engines/postgreskv"
	"github.com/assaydb/assay/kv/driver"
)

// TestMain ends the server that a test has started.
func TestMain(m *testing.M) {
	driver.Register(placed{})
	code := m.Run()
	if s, err := server(); err == nil && started {
		s.stop()
	}
	os.Exit(code)
}

// dsn names the variable with a server that is there already, for the processes of the suite, too.
const dsnVariable = "ASSAY_POSTGRES_DSN"

// started tells that a server was asked for.
var started bool

// dsn returns where a server is, which it starts. Where PostgreSQL is not installed the test is
// skipped, and says so.
func dsn(t testing.TB) string {
	t.Helper()
	if text := os.Getenv(dsnVariable); text != "" {
		return text
	}
	started = true
	s, err := server()
	if errors.Is(err, errNotInstalled) {
		t.Skipf("NOT TESTED: %v; install PostgreSQL (Debian: apt install postgresql), or set %s to a server", err,
			dsnVariable)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s.dsn
}

// postgres is a server of the tests alone.
type postgres struct {
	dir, dsn string
	cmd      *exec.Cmd
	output   bytes.Buffer
}

var errNotInstalled = errors.New("there is no postgres in PATH or in /usr/lib/postgresql/*/bin")

var server = sync.OnceValues(start)

// start makes a database and starts a server, by a user other than root: it refuses to run as root.
func start() (*postgres, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	s := &postgres{}
	if s.dir, err = os.MkdirTemp("/tmp", "assay-pg"); err != nil { // a socket's path is short
		return nil, err
	}
	attributes, name := &syscall.SysProcAttr{}, strconv.Itoa(os.Getuid())
	if u, uerr := user.Current(); uerr == nil {
		name = u.Username
	}
	if os.Getuid() == 0 {
		if name, err = s.giveTo(attributes, "postgres", "nobody"); err != nil {
			return nil, errors.Join(err, os.RemoveAll(s.dir))
		}
	}
	data := filepath.Join(s.dir, "data")
	initdb := exec.Command(filepath.Join(bin, "initdb"), "-D", data, "-A", "trust", "-U", "assay", "-E", "UTF8", "--no-sync",
		"--no-instructions", "--locale=C")
	initdb.SysProcAttr, initdb.Dir = attributes, s.dir
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("initdb as %s: %w: %s", name, err, out), os.RemoveAll(s.dir))
	}
	s.cmd = exec.Command(filepath.Join(bin, "postgres"), "-D", data, "-k", s.dir, "-c", "listen_addresses=")
	s.cmd.SysProcAttr, s.cmd.Dir = attributes, s.dir
	s.cmd.Stdout, s.cmd.Stderr = &s.output, &s.output
	s.dsn = "host=" + s.dir + " user=assay dbname=postgres"
	if err := s.cmd.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	return s, s.await()
}

// giveTo makes the folder, and what is started, that of the first user who is known here.
func (s *postgres) giveTo(a *syscall.SysProcAttr, names ...string) (string, error) {
	for _, name := range names {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uerr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gerr := strconv.ParseUint(u.Gid, 10, 32)
		a.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		return name, errors.Join(uerr, gerr, os.Chown(s.dir, int(uid), int(gid)))
	}
	return "", fmt.Errorf("none of the users %v is known here, and root may not run a server", names)
}

// await waits until the server answers.
func (s *postgres) await() (err error) {
	for range 600 {
		var conn *pgx.Conn
		if conn, err = pgx.Connect(context.Background(), s.dsn); err == nil {
			return conn.Close(context.Background())
		}
		time.Sleep(100 * time.Millisecond)
	}
	return errors.Join(fmt.Errorf("the server does not answer: %w: %s", err, s.output.String()))
}

func (s *postgres) stop() {
	_ = s.cmd.Process.Signal(os.Interrupt) // a fast shutdown
	_ = s.cmd.Wait()
	_ = os.RemoveAll(s.dir)
}

// binaries returns the folder of the newest PostgreSQL.
func binaries() (string, error) {
	if path, err := exec.LookPath("postgres"); err == nil {
		return filepath.Dir(path), nil
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil || len(found) == 0 {
		return "", errNotInstalled
	}
	slices.Sort(found)
	return filepath.Dir(found[len(found)-1]), nil
}

// placed is the engine with a table for each path: the suite tells stores apart by their paths.
type placed struct{ postgreskv.Driver }

// Info is that of the engine, under another name.
func (p placed) Info() driver.Info {
	info := p.Driver.Info()
	info.Name = "postgres-placed"
	return info
}

// Open opens the table of the path.
func (p placed) Open(ctx context.Context, c driver.Config) (driver.Store, error) {
	if c.Params == nil {
		c.Params = map[string]string{}
	}
	c.Params["table"] = fmt.Sprintf("kv_%x", sha256.Sum256([]byte(c.Path)))[:40]
	return p.Driver.Open(ctx, c)
}

// params returns the parameters of a URL for the server.
func params(t testing.TB) string { return "dsn=" + url.QueryEscape(dsn(t)) }
