// Shortener makes short links and follows them. With -record it keeps what it does with its store
// in a file, for assay replay:
//
//	go run . -store bbolt:links.db -record day.assay -demo 2000
//	assay replay day.assay
package main

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"strings"
	"sync"
	"time"

	_ "github.com/assaydb/assay/engines/bboltkv"
	_ "github.com/assaydb/assay/engines/pebblekv"
	_ "github.com/assaydb/assay/engines/sqlitekv"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/observe/capture"
)

func main() {
	url := flag.String("store", "bbolt:links.db", "the store")
	address := flag.String("listen", "localhost:8080", "where to serve")
	file := flag.String("record", "", "record what is done with the store to this new file")
	demo := flag.Int("demo", 0, "do so many requests as visitors would, and end")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *url, *address, *file, *demo); err != nil {
		log.Fatal(err)
	}
}

// run serves the store until ctx ends, or the demo is over.
func run(ctx context.Context, url, address, file string, demo int) (err error) {
	db, err := kv.Open(ctx, url)
	if err != nil {
		return err
	}
	if file != "" {
		recorded, _, err := capture.Start(ctx, db, file, nil)
		if err != nil {
			return errors.Join(err, db.Close())
		}
		db = recorded
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	s := &shortener{db: db, class: db.Caps().Strongest()}
	if demo > 0 {
		return s.visit(demo)
	}
	server := &http.Server{Addr: address, Handler: s, ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// shortener keeps links below "link/", how often each was followed below "hits/", and a log of
// visits below "log/", in the order of time.
type shortener struct {
	db    *kv.DB
	class kv.Durability // of new links; a lost hit is no loss
	visits
}

// visits numbers the visits of this process.
type visits struct {
	mu sync.Mutex
	n  uint64
}

func (v *visits) next() uint64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.n++
	return v.n
}

var lastID = []byte("last-id")

// ServeHTTP answers POST / with a new short link for the body, GET /ID with where it leads,
// GET /?prefix=P with the links whose ids begin so, GET /recent with the last visits, and DELETE
// /log with an empty log.
func (s *shortener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var answer string
	var err error
	id := strings.TrimPrefix(r.URL.Path, "/")
	switch {
	case r.Method == http.MethodPost:
		answer, err = s.add(r.Context(), r.Header.Get("Link"))
	case r.Method == http.MethodDelete:
		err = s.db.Update(r.Context(), kv.Buffered, func(tx *kv.Tx) error {
			return tx.DeleteRange(kv.Prefix([]byte("log/")))
		})
	case id == "recent":
		answer, err = s.recent(r.Context(), 10)
	case id == "":
		answer, err = s.list(r.Context(), r.URL.Query().Get("prefix"), 20)
	default:
		if answer, err = s.follow(r.Context(), id); err == nil {
			http.Redirect(w, r, answer, http.StatusFound)
			return
		}
	}
	switch {
	case errors.Is(err, kv.NotFound):
		http.NotFound(w, r)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	default:
		fmt.Fprintln(w, answer)
	}
}

// add keeps a link under the next id.
func (s *shortener) add(ctx context.Context, link string) (id string, err error) {
	err = s.db.Update(ctx, s.class, func(tx *kv.Tx) error {
		last, err := tx.Get(lastID)
		if err != nil && !errors.Is(err, kv.NotFound) {
			return err
		}
		n := uint64(1)
		if len(last) == 8 {
			n = binary.BigEndian.Uint64(last) + 1
		}
		id = fmt.Sprintf("%05x", n*0x9e3779b1%(1<<20))
		return errors.Join(tx.Put(lastID, kv.AppendUint64(nil, n)), tx.Put([]byte("link/"+id), []byte(link)))
	})
	return id, err
}

// follow returns a link, and counts the visit.
func (s *shortener) follow(ctx context.Context, id string) (string, error) {
	link, err := s.db.Get(ctx, []byte("link/"+id))
	if err != nil {
		return "", err
	}
	err = s.db.Update(ctx, kv.Buffered, func(tx *kv.Tx) error {
		key := []byte("hits/" + id)
		hits, err := tx.Get(key)
		if err != nil && !errors.Is(err, kv.NotFound) {
			return err
		}
		n, _ := kv.LastUint64(hits)
		return tx.Put(key, kv.AppendUint64(nil, n+1))
	})
	if err == nil {
		err = s.db.Put(ctx, kv.Buffered, kv.AppendUint64([]byte("log/"), s.next()), []byte(id))
	}
	return string(link), err
}

// recent returns the ids of the last visits.
func (s *shortener) recent(ctx context.Context, n int) (answer string, err error) {
	err = s.db.View(ctx, func(v *kv.Snapshot) error {
		for _, id := range v.Namespace([]byte("log/")).Scan(kv.Range{Reverse: true}) {
			answer += string(id) + " "
			if n--; n == 0 {
				break
			}
		}
		return nil
	})
	return answer, err
}

// list returns links whose ids begin with prefix, with how often they were followed.
func (s *shortener) list(ctx context.Context, prefix string, n int) (answer string, err error) {
	err = s.db.View(ctx, func(v *kv.Snapshot) error {
		it := v.Iter(kv.Prefix([]byte("link/" + prefix)))
		defer it.Close()
		for ; n > 0 && it.Next(); n-- {
			id := strings.TrimPrefix(string(it.Key()), "link/")
			hits, err := v.Get([]byte("hits/" + id))
			if err != nil && !errors.Is(err, kv.NotFound) {
				return err
			}
			count, _ := kv.LastUint64(hits)
			answer += fmt.Sprintf("%s %s %d\n", id, it.Value(), count)
		}
		return it.Err()
	})
	return answer, err
}

// visit does requests as four visitors would, at the same time.
func (s *shortener) visit(requests int) error {
	const visitors = 4
	errs := make([]error, visitors)
	var all sync.WaitGroup
	for v := range visitors {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(v)))
			var ids []string
			for n := range requests / visitors {
				r := httptest.NewRequest(http.MethodGet, "/", nil)
				switch kind := random.IntN(100); {
				case kind < 10 || len(ids) == 0:
					r = httptest.NewRequest(http.MethodPost, "/", nil)
					r.Header.Set("Link", fmt.Sprintf("https://example.com/%d/%0*d", v, random.IntN(60), n))
				case kind < 80: // new links are followed most
					age := int(random.ExpFloat64() * 5)
					r.URL.Path = "/" + ids[max(len(ids)-1-age, 0)]
				case kind < 85:
					r.URL.Path = "/none"
				case kind < 95:
					r.URL.Path = "/recent"
				case kind == 99 && random.IntN(10) == 0:
					r.Method = http.MethodDelete
				default:
					r.URL.RawQuery = fmt.Sprintf("prefix=%x", random.IntN(16))
				}
				w := httptest.NewRecorder()
				s.ServeHTTP(w, r)
				if w.Code >= 500 {
					errs[v] = fmt.Errorf("%s %s: %s", r.Method, r.URL, w.Body)
					return
				}
				if r.Method == http.MethodPost {
					ids = append(ids, strings.TrimSpace(w.Body.String()))
				}
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
