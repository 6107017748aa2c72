package main

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"

	"github.com/assaydb/assay/engines/etcdkv/etcdtest"
	"github.com/assaydb/assay/engines/postgreskv/postgrestest"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/prove"
)

// postgres runs PostgreSQL, a server at a time.
var postgres = prove.Servers{
	Address: "dsn",
	Start: func(dir string) (prove.Server, error) {
		s, err := newPostgres(dir)
		if err == nil {
			err = started(s, errors.Join(s.Make(""), s.Launch(0)))
		}
		return s, err
	},
	Disk: &prove.ServerDisk{
		Make: func(data, run string) error {
			s, err := newPostgres(run)
			if err != nil {
				return err
			}
			defer s.Remove()
			return errors.Join(s.Mounted(), s.Make(filepath.Join(data, folder)))
		},
		Record: func(data, run string) (prove.Server, error) {
			return launchMounted(data, run, busy...)
		},
		Upkeep: checkpoint,
		Recover: func(data, run string) (prove.Server, error) {
			// the number of its first process may be another's by now: not so after a power cut
			if err := os.RemoveAll(filepath.Join(data, folder, "postmaster.pid")); err != nil {
				return nil, err
			}
			return launchMounted(data, run, "fsync=off", "shared_buffers=1MB")
		},
	},
	Explain:    explain,
	ViewsApart: func(options url.Values) bool { return options.Get("views") != "serial" },
}

// folder is where a database lies on a disk that loses power.
const folder = "data"

// busy are settings of as much as one server may hold in its caches, so that it has to write in
// between; and of its log in small files, of which it uses many.
var busy = []string{"shared_buffers=1MB", "max_wal_size=2MB", "min_wal_size=2MB", "bgwriter_delay=10ms",
	"autovacuum_naptime=1s"}

// postgresServer is a server as the lab knows it.
type postgresServer struct {
	*postgrestest.Server
	settings []string
}

var _ prove.Server = postgresServer{}

func newPostgres(dir string, settings ...string) (postgresServer, error) {
	s, err := postgrestest.NewIn(dir)
	if errors.Is(err, postgrestest.NotInstalled) {
		err = &kv.Error{Op: "find PostgreSQL", Err: err, Hint: "install it (Debian: apt install postgresql)"}
	}
	return postgresServer{s, settings}, err
}

// started returns err, and removes a server that it is of.
func started(s postgresServer, err error) error {
	if err != nil {
		s.Stop()
	}
	return err
}

// launchMounted starts a server on a disk that loses power.
func launchMounted(data, run string, settings ...string) (prove.Server, error) {
	s, err := newPostgres(run, settings...)
	if err != nil {
		return nil, err
	}
	s.Use(filepath.Join(data, folder))
	return s, started(s, errors.Join(s.Mounted(), s.Launch(0)))
}

// Params names the server, for which a client waits while it is started again.
func (s postgresServer) Params() string { return "dsn=" + url.QueryEscape(s.DSN()) + "&timeout=120" }

func (s postgresServer) Nodes() int { return 1 }

func (s postgresServer) Kill(int) error { return s.Server.Kill() }

func (s postgresServer) Launch(int) error { return s.Server.Launch(s.settings...) }

func (s postgresServer) Stop() { s.Remove() }

// checkpoint lets the server write all that it has in its caches.
func checkpoint(ctx context.Context, s prove.Server) error {
	conn, err := pgx.Connect(ctx, s.(postgresServer).DSN())
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "CHECKPOINT")
	return errors.Join(err, conn.Close(ctx))
}

// etcd runs three nodes.
var etcd = prove.Servers{
	Address: "endpoints",
	Start: func(dir string) (prove.Server, error) {
		c, err := etcdtest.New(dir, 3, etcdtest.Options{})
		return etcdCluster{c}, err
	},
	Explain: explain,
	Untried: []string{"etcd: the power of its nodes' disks is not cut; nodes are killed and parted"},
}

// etcdCluster is a cluster as the lab knows it.
type etcdCluster struct{ *etcdtest.Cluster }

var _ prove.Cluster = etcdCluster{}

func (c etcdCluster) Nodes() int { return len(c.Endpoints()) }

func (c etcdCluster) Launch(node int) error {
	return errors.Join(c.Cluster.Launch(node), c.Wait(node))
}
