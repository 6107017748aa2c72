package observe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/assaydb/assay/kv"
)

// ServeHTTP answers with all figures as JSON. They hold names of files, of functions and errors,
// and no keys or values.
func (o *Observer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "figures are only read", http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(o.Figures()) // an error is the reader's, who went away
}

// SocketOf returns where assay watch looks for a program that has the store at path open.
func SocketOf(path string) string { return path + ".observe" }

// Listen serves figures on a Unix socket, which only this user can open, until the returned
// function is called. An empty path is [SocketOf] the store, which Watch must have been called
// with; a store in memory has none. What a killed program left at path is replaced; a socket on
// which somebody answers is Busy.
func (o *Observer) Listen(path string) (stop func() error, err error) {
	if path == "" {
		_, store := o.sampler.name()
		if store == "" {
			return nil, &kv.Error{Op: "listen", Kind: kv.Invalid, Err: errors.New("no path"),
				Hint: "name a socket; only a store on disk that is open has one by default"}
		}
		path = SocketOf(store)
	}
	if err := removeStale(path); err != nil {
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, &kv.Error{Op: "listen", Path: path, Kind: kv.KindOf(err), Err: err,
			Hint: "name a shorter path, in a folder of this user"}
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	server := &http.Server{Handler: o, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	return func() error {
		err := server.Close()
		if served := <-done; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
		return err
	}, nil
}

// removeStale removes a socket that nobody listens to.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return nil // Listen says what is wrong
	}
	busy := &kv.Error{Op: "listen", Path: path, Kind: kv.Busy, Hint: "name another socket"}
	if info.Mode().Type() != os.ModeSocket {
		busy.Err = errors.New("it is no socket")
		return busy
	}
	if c, err := net.Dial("unix", path); err == nil {
		busy.Err = errors.New("somebody listens there")
		return errors.Join(busy, c.Close())
	}
	return os.Remove(path)
}

// mostJSON bounds what Fetch reads.
const mostJSON = 64 << 20

// patience is how long Fetch waits for a program that is there and does not answer.
var patience = 10 * time.Second

// Fetch asks a running program for its figures. The target is the URL of an Observer, "http://…",
// or a socket of Listen. Where nobody listens the error is NoStore; where somebody does who gives
// no answer for ten seconds, as a program that is stopped, it is Busy.
func Fetch(ctx context.Context, target string) (Figures, error) {
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	f, err := fetch(within, target)
	switch {
	case err == nil:
		return f, nil
	case ctx.Err() != nil:
		return f, ctx.Err()
	case within.Err() != nil:
		return f, &kv.Error{Op: "watch", Path: target, Kind: kv.Busy, Err: fmt.Errorf("no answer within %v", patience),
			Hint: "the program is there and stopped or stuck: look at it with ps, or kill -QUIT for what it does"}
	}
	return f, err
}

func fetch(ctx context.Context, target string) (f Figures, err error) {
	client, url := http.DefaultClient, target
	if !strings.HasPrefix(target, "http://") && !strings.HasPrefix(target, "https://") {
		transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", target)
		}}
		defer transport.CloseIdleConnections()
		client, url = &http.Client{Transport: transport}, "http://store/"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return f, fetchError(target, kv.Invalid, err)
	}
	response, err := client.Do(request)
	if err != nil {
		return f, fetchError(target, kv.NoStore, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return f, fetchError(target, kv.Invalid, fmt.Errorf("it answers %s", response.Status))
	}
	err = json.NewDecoder(io.LimitReader(response.Body, mostJSON)).Decode(&f)
	switch {
	case err != nil:
		return f, fetchError(target, kv.Invalid, fmt.Errorf("no figures: %w", err))
	case f.Ops == nil && f.PID == 0:
		return f, fetchError(target, kv.Invalid, errors.New("no figures"))
	}
	return f, nil
}

func fetchError(target string, kind kv.Kind, err error) error {
	return &kv.Error{Op: "watch", Path: target, Kind: kind, Err: err,
		Hint: "the program must serve an observe.Observer there, by Listen, or as an http.Handler at a path of the URL"}
}
