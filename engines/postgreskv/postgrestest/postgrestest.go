// Package postgrestest runs servers of PostgreSQL for tests and proofs, each with a database of its
// own on this machine, reached through a socket in its folder.
package postgrestest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Variable names the environment variable with the dsn of a server that is there already.
const Variable = "ASSAY_POSTGRES_DSN"

// NotInstalled is the error where there is no PostgreSQL.
var NotInstalled = errors.New("there is no postgres in PATH or in /usr/lib/postgresql/*/bin")

// Server is a server with a database of its own.
type Server struct {
	dir        string // of the socket
	data       string
	bin        string
	attributes func() *syscall.SysProcAttr // of its processes
	cmd        *exec.Cmd                   // nil before it was launched
	ended      chan struct{}               // closed when all its processes have ended
}

// Start makes a database and starts a server, which ends with the test. Where PostgreSQL is not
// installed the test is skipped, and says so.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	s, err := New()
	if err == nil {
		t.Cleanup(s.Remove)
		err = errors.Join(s.Make(""), s.Launch(settings...))
	}
	Check(t, err)
	return s
}

// StartReplica starts a replica of another server, as Start does: what is committed there comes
// here.
func StartReplica(t testing.TB, of *Server) *Server {
	t.Helper()
	s, err := New()
	if err == nil {
		t.Cleanup(s.Remove)
		err = errors.Join(s.copy(of), s.Launch())
	}
	Check(t, err)
	return s
}

// ended are called when all tests have ended.
var ended []func()

// Main runs the tests of a package that uses Shared, and ends the process.
func Main(m *testing.M) {
	code := m.Run()
	for _, fn := range ended {
		fn()
	}
	os.Exit(code)
}

// Shared starts the server that the tests of a package share, and the processes that they start,
// and returns its dsn. It ends with Main. What connects to it says by its name which process it is:
// see Settle.
var Shared = sync.OnceValues(func() (dsn string, err error) {
	if err := os.Setenv("PGAPPNAME", processes()+strconv.Itoa(os.Getpid())); err != nil {
		return "", err
	}
	if dsn := os.Getenv(Variable); dsn != "" {
		return dsn, nil
	}
	s, err := New()
	if err != nil {
		return "", err
	}
	ended = append(ended, s.Remove)
	if err := errors.Join(s.Make(""), s.Launch("max_connections=500")); err != nil {
		return "", err
	}
	return s.DSN(), os.Setenv(Variable, s.DSN())
})

// processes is how the names of connections begin that are of processes of this machine.
func processes() string {
	host, _ := os.Hostname() // without a name, all such machines are one
	return fmt.Sprintf("assay-test-%x-", sha256.Sum256([]byte(host)))[:24]
}

// Settle waits until the server of Shared has ended the connections of processes that are gone. A
// server does not see at once that a client was killed: what that one has sent it commits, later.
func Settle(ctx context.Context) error {
	dsn, err := Shared()
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for {
		gone, err := ofTheDead(ctx, conn)
		if err != nil || gone == "" {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: the server has connections of %s, which is gone", ctx.Err(), gone)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// ofTheDead returns the name of a connection whose process is gone, "" if there is none.
func ofTheDead(ctx context.Context, conn *pgx.Conn) (name string, err error) {
	rows, err := conn.Query(ctx, "SELECT application_name FROM pg_stat_activity WHERE starts_with(application_name, $1)",
		processes())
	if err != nil {
		return "", err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	for _, name := range names {
		pid, perr := strconv.Atoi(strings.TrimPrefix(name, processes()))
		if perr == nil && syscall.Kill(pid, 0) == syscall.ESRCH {
			return name, err
		}
	}
	return "", err
}

// SharedPool returns connections to a schema of the server of Shared, which is for that name alone.
func SharedPool(ctx context.Context, name string) (*pgxpool.Pool, error) {
	dsn, err := Shared()
	if err != nil {
		return nil, err
	}
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	schema := fmt.Sprintf("s_%x", sha256.Sum256([]byte(name)))[:40]
	config.ConnConfig.RuntimeParams["search_path"] = schema
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	for range 2 { // PostgreSQL: two that make it at once meet
		if _, err = pool.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS "+schema); err == nil {
			return pool, nil
		}
	}
	pool.Close()
	return nil, err
}

// Check ends the test if err is an error, or skips it where that is NotInstalled.
func Check(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, NotInstalled) {
		t.Skipf("NOT TESTED: %v; install PostgreSQL (Debian: apt install postgresql), or set %s to a server", err, Variable)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// AtLeast returns the number in an environment variable, or usual if that is more or there is none.
func AtLeast(t testing.TB, variable string, usual int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s=%s: %v", variable, text, err)
	}
	return max(n, usual)
}

// New returns a server without a database. It has to be removed.
func New() (s *Server, err error) { return NewIn("/tmp") } // a socket's path is short

// NewIn is New with the server's own folder in parent, which the user must reach as whom it runs.
// The path of a socket has 107 bytes at most.
func NewIn(parent string) (s *Server, err error) {
	s = &Server{attributes: func() *syscall.SysProcAttr { return nil }}
	if s.bin, err = binaries(); err != nil {
		return nil, err
	}
	if s.dir, err = os.MkdirTemp(parent, "assay-pg"); err != nil {
		return nil, err
	}
	if os.Getuid() == 0 { // as whom it refuses to run
		var as *syscall.Credential
		if as, err = credential("postgres", "nobody"); err == nil {
			s.attributes = func() *syscall.SysProcAttr { return &syscall.SysProcAttr{Credential: as} }
			err = os.Chown(s.dir, int(as.Uid), int(as.Gid))
		}
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	return s, nil
}

// credential returns the first user who is known here.
func credential(names ...string) (*syscall.Credential, error) {
	for _, name := range names {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uerr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gerr := strconv.ParseUint(u.Gid, 10, 32)
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, errors.Join(uerr, gerr)
	}
	return nil, fmt.Errorf("none of the users %v is known here, and root may not run a server", names)
}

// Make makes a database in the folder data, or one of the server's own if that is empty.
func (s *Server) Make(data string) error {
	s.Use(data)
	return s.run("initdb", "-D", s.data, "-A", "trust", "-U", "assay", "-E", "UTF8", "--no-sync", "--no-instructions",
		"--locale=C", "--wal-segsize=1")
}

// copy makes the database of another server's, which it will follow.
func (s *Server) copy(of *Server) error {
	s.Use("")
	return s.run("pg_basebackup", "-D", s.data, "-h", of.dir, "-U", "assay", "--write-recovery-conf", "--checkpoint=fast",
		"--no-sync")
}

// run runs a program of PostgreSQL's to its end.
func (s *Server) run(name string, args ...string) error {
	if out, err := s.command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}

// Use lets the next Launch serve the database in the folder data.
func (s *Server) Use(data string) {
	if s.data = data; data == "" {
		s.data = filepath.Join(s.dir, "data")
	}
}

func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir, cmd.SysProcAttr = s.dir, dieWithParent(s.attributes())
	return cmd
}

// patience bounds waiting for a server; only a hang lasts as long.
const patience = 2 * time.Minute

// Launch starts the server, with settings like "fsync=off", and waits until it answers.
func (s *Server) Launch(settings ...string) error {
	// shared memory is in the server's folder: what is elsewhere outlives a kill
	args := []string{"-D", s.data, "-k", s.dir, "-c", "listen_addresses=", "-c", "dynamic_shared_memory_type=mmap"}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	for deadline := time.Now().Add(patience); ; {
		var output bytes.Buffer
		cmd, ended := s.command("postgres", args...), make(chan struct{})
		cmd.Stdout, cmd.Stderr = &output, &output
		if err := cmd.Start(); err != nil {
			return err
		}
		s.cmd, s.ended = cmd, ended
		go func() {
			_ = cmd.Wait()
			close(ended)
		}()
		err := s.await(deadline)
		if err == nil {
			return nil
		}
		if err := s.Kill(); err != nil {
			return err
		}
		// the last processes of a server that was killed hold its memory for a moment
		if text := output.String(); !strings.Contains(text, "shared memory block") || time.Now().After(deadline) {
			return fmt.Errorf("the server does not start: %w: %s", err, text)
		}
	}
}

// await waits until the server answers, or has ended.
func (s *Server) await(deadline time.Time) error {
	for {
		ctx, cancel := context.WithDeadline(context.Background(), deadline)
		conn, err := pgx.Connect(ctx, s.DSN())
		cancel()
		if err == nil {
			return conn.Close(context.Background())
		}
		select {
		case <-s.ended:
			return errors.Join(errors.New("it has ended"), err)
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return err
		}
	}
}

// DSN names the server.
func (s *Server) DSN() string { return "host=" + s.dir + " user=assay dbname=postgres" }

// Socket returns where the server listens.
func (s *Server) Socket() string { return filepath.Join(s.dir, ".s.PGSQL.5432") }

// Kill ends all processes of the server, as kill -9 does.
func (s *Server) Kill() error {
	pids := append([]int{s.cmd.Process.Pid}, children(s.cmd.Process.Pid)...)
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
			return err
		}
	}
	<-s.ended
	return removeShared(s.data)
}

// children returns the processes that a process has started.
func children(pid int) (pids []int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pid))
	if err != nil {
		return nil // they end when they see that the first of them is gone
	}
	for _, field := range strings.Fields(string(text)) {
		if pid, err := strconv.Atoi(field); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Stop ends the server; its clients are disconnected.
func (s *Server) Stop() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Signal(os.Interrupt)
	<-s.ended
}

// Remove stops the server and removes its folder.
func (s *Server) Remove() {
	s.Stop()
	_ = os.RemoveAll(s.dir)
}

// binaries returns the folder of the newest PostgreSQL.
func binaries() (string, error) {
	if path, err := exec.LookPath("postgres"); err == nil {
		path, err = filepath.EvalSymlinks(path) // beside what it leads to are the others
		return filepath.Dir(path), err
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil || len(found) == 0 {
		return "", NotInstalled
	}
	slices.Sort(found)
	return filepath.Dir(found[len(found)-1]), nil
}
