package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// network carries what nodes say to each other. A node's name is its host for the others, and what
// it sends goes through a proxy of its own, so that who speaks to whom is known. Clients do not go
// through it.
type network struct {
	proxies []net.Listener // none if the nodes are Direct
	lock    sync.Mutex
	nodes   []node
	apart   []int         // nodes that the others do not reach, nor they those
	changed chan struct{} // closed when apart changes
}

// newNetwork makes a network of n nodes, 0 if they are Direct.
func newNetwork(n int) (*network, error) {
	w := &network{changed: make(chan struct{})}
	for from := range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, errors.Join(err, w.close())
		}
		w.proxies = append(w.proxies, l)
		proxy := &httputil.ReverseProxy{Rewrite: w.rewrite, FlushInterval: -1,
			ErrorLog: log.New(io.Discard, "", 0)} // nodes are killed, and what they say ends
		carry := func(rw http.ResponseWriter, r *http.Request) { w.carry(proxy, from, rw, r) }
		go func() { _ = http.Serve(l, http.HandlerFunc(carry)) }() // until the listener is closed
	}
	return w, nil
}

// environment makes node i speak through its proxy, if it has one.
func (w *network) environment(i int) string {
	if len(w.proxies) == 0 {
		return "HTTP_PROXY="
	}
	return "HTTP_PROXY=http://" + w.proxies[i].Addr().String()
}

// hostOf is how the other nodes call node i. A proxy is not asked for addresses of the loopback
// interface, so that it has to be a name.
func hostOf(i int) string { return fmt.Sprintf("node%d.invalid", i) }

// carry hands a request of node from on, as long as the two nodes reach each other. What they say
// is held back while they do not, and what they were saying ends.
func (w *network) carry(proxy http.Handler, from int, rw http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	for {
		apart, changed := w.between(from, r.URL.Hostname())
		if !apart {
			go func() {
				for !apart {
					select {
					case <-changed:
						apart, changed = w.between(from, r.URL.Hostname())
					case <-ctx.Done():
						return
					}
				}
				cancel()
			}()
			proxy.ServeHTTP(rw, r.WithContext(ctx))
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// between reports whether a node and the one of that host do not reach each other, and returns what
// is closed when that may have changed.
func (w *network) between(from int, host string) (apart bool, changed chan struct{}) {
	w.lock.Lock()
	defer w.lock.Unlock()
	for _, i := range w.apart {
		apart = apart || i == from || hostOf(i) == host
	}
	return apart, w.changed
}

// know says where the nodes listen, before the first one speaks.
func (w *network) know(nodes []node) {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.nodes = nodes
}

// rewrite sends a request to where its host listens.
func (w *network) rewrite(r *httputil.ProxyRequest) {
	w.lock.Lock()
	defer w.lock.Unlock()
	i := slices.IndexFunc(w.nodes, func(n node) bool { return strings.HasPrefix(r.In.URL.Hostname(), n.Name+".") })
	r.SetURL(&url.URL{Scheme: "http", Host: w.nodes[i].Listen})
}

// set says which nodes the others do not reach.
func (w *network) set(apart ...int) {
	if len(w.proxies) == 0 {
		panic("etcdtest: Direct nodes cannot be parted")
	}
	w.lock.Lock()
	defer w.lock.Unlock()
	w.apart = apart
	close(w.changed)
	w.changed = make(chan struct{})
}

func (w *network) close() (err error) {
	for _, l := range w.proxies {
		err = errors.Join(err, l.Close())
	}
	return err
}
