package etcdkv

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/kv/overlay"
)

// Every handle has a key of its own, its mark, that ends with the handle's lease. Each commit puts
// the mark, and is done only if the mark is as the handle's last commit left it. So a commit whose
// answer was lost is found out (see resolve), and one that was held up on its way does nothing when
// it arrives after the handle has gone on. An Exclusive handle has the lock too, with the same
// lease: as long as its mark is there nobody else has a mark.

// open opens the store called c.Path by client.
func open(ctx context.Context, c driver.Config, o Options, client *clientv3.Client) (*store, error) {
	if strings.ContainsRune(c.Path, 0) {
		return nil, &driver.Error{Kind: driver.Invalid, Err: errors.New("a NUL in the name of the store"),
			Hint: "choose another name"}
	}
	s := &store{client: client, keys: keysOf(c.Path), mode: c.Mode, o: o}
	if err := s.register(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// register makes the store if it is not there, and takes the handle's place in it.
func (s *store) register(ctx context.Context) error {
	if err := s.find(ctx); err != nil {
		return err
	}
	lease, cancel := s.request(ctx)
	defer cancel()
	granted, err := atLeader(lease, s, func() (*clientv3.LeaseGrantResponse, error) {
		return s.client.Grant(lease, int64(s.o.TTL))
	})
	if err != nil {
		return classify(ctx, err)
	}
	session, err := concurrency.NewSession(s.client, concurrency.WithLease(granted.ID))
	if err != nil {
		return classify(ctx, err)
	}
	mark := s.keys.handle + rand.Text()
	free := []clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(s.keys.lock), "=", 0)}
	puts := []clientv3.Op{clientv3.OpPut(mark, "", clientv3.WithLease(granted.ID))}
	if s.mode == driver.Exclusive {
		free = append(free, clientv3.Compare(clientv3.CreateRevision(s.keys.handle).WithPrefix(), "=", 0))
		puts = append(puts, clientv3.OpPut(s.keys.lock, mark, clientv3.WithLease(granted.ID)))
	}
	request, cancel := s.request(ctx)
	defer cancel()
	response, err := s.txn(request, free, puts, nil)
	if err == nil && response.Succeeded {
		s.session, s.mark, s.last = session, mark, response.Header.Revision
		return nil
	}
	s.leave(session) // what it may have put ends with its lease at the latest
	if err != nil {
		return classify(ctx, err)
	}
	return &driver.Error{Kind: driver.Busy, Err: fmt.Errorf("another handle has the store open; mode %v", s.mode),
		Hint: fmt.Sprintf("close it; if its program has died its lock ends after its ttl, %d seconds by default", defaults().TTL)}
}

// find looks whether the store is there and of this layout. It makes one that is not there.
func (s *store) find(ctx context.Context) error {
	request, cancel := s.request(ctx)
	defer cancel()
	if s.mode == driver.ReadOnly {
		response, err := s.get(request, s.keys.head)
		if err != nil {
			return classify(ctx, err)
		}
		if len(response.Kvs) == 0 {
			return &driver.Error{Kind: driver.NoStore, Hint: "open it once to write"}
		}
		return known(response.Kvs[0].Value)
	}
	response, err := s.txn(request,
		[]clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(s.keys.head), "=", 0)},
		[]clientv3.Op{clientv3.OpPut(s.keys.head, layout)},
		[]clientv3.Op{clientv3.OpGet(s.keys.head)})
	if err != nil || response.Succeeded {
		return classify(ctx, err)
	}
	return known(response.Responses[0].GetResponseRange().Kvs[0].Value)
}

func known(version []byte) error {
	if string(version) == layout {
		return nil
	}
	return &driver.Error{Kind: driver.Invalid, Err: fmt.Errorf("its layout is %q, not %q", version, layout),
		Hint: "open it with the version of assay that made it"}
}

// commit makes the writes if what conditions say holds. An error is Aborted if it does not.
func (s *store) commit(ctx context.Context, conditions []clientv3.Cmp, w *overlay.Writes) error {
	s.serial++
	serial := strconv.FormatUint(s.serial, 10)
	steps, err := nest(append(stepsOf(w, s.keys.data), clientv3.OpPut(s.keys.head, layout)))
	if err != nil {
		return err
	}
	request, cancel := s.request(context.WithoutCancel(ctx)) // it has begun
	defer cancel()
	response, err := s.markWith(request, serial, conditions, steps)
	if err != nil {
		if e, refused := refusal(err); refused {
			return driver.NotDone(e)
		}
		return s.resolve(ctx, serial, err)
	}
	if response.Succeeded {
		s.last = response.Header.Revision
		return nil
	}
	marks := response.Responses[0].GetResponseRange().Kvs
	if len(marks) == 0 {
		return s.again(ctx)
	}
	s.last = marks[0].ModRevision // another one if a commit that was in doubt has come after all
	return &driver.Error{Kind: driver.Aborted, Hint: "another transaction has changed what this one read"}
}

// markWith puts a value at the mark, and makes steps with it, if the mark is as the last commit
// left it and conditions hold. Otherwise the response has the mark.
func (s *store) markWith(ctx context.Context, value string, conditions []clientv3.Cmp,
	steps []clientv3.Op) (*clientv3.TxnResponse, error) {
	return s.txn(ctx, append(conditions, clientv3.Compare(clientv3.ModRevision(s.mark), "=", s.last)),
		append(steps, clientv3.OpPut(s.mark, value, clientv3.WithLease(s.session.Lease()))),
		[]clientv3.Op{clientv3.OpGet(s.mark)})
}

// again takes a new place after the lease has ended, because the cluster was not reached for as
// long as that. What was read before may have changed since.
func (s *store) again(ctx context.Context) error {
	s.session.Orphan() // its lease has ended
	if err := s.register(ctx); err != nil {
		return driver.NotDone(err)
	}
	return &driver.Error{Kind: driver.Aborted, Hint: "the handle's lease had ended"}
}

// leave ends a lease before its time. Where no node is reached it ends by itself; Close of a
// session waits a minute for that.
func (s *store) leave(session *concurrency.Session) {
	session.Orphan()
	request, cancel := s.request(context.Background())
	defer cancel()
	_, _ = atLeader(request, s, func() (*clientv3.LeaseRevokeResponse, error) {
		return s.client.Revoke(request, session.Lease())
	})
}

// get sends a read.
func (s *store) get(ctx context.Context, key string, options ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	return atLeader(ctx, s, func() (*clientv3.GetResponse, error) { return s.client.Get(ctx, key, options...) })
}

// txn sends a transaction of etcd's.
func (s *store) txn(ctx context.Context, conditions []clientv3.Cmp,
	then, otherwise []clientv3.Op) (*clientv3.TxnResponse, error) {
	return atLeader(ctx, s, func() (*clientv3.TxnResponse, error) {
		return s.client.Txn(ctx).If(conditions...).Then(then...).Else(otherwise...).Commit()
	})
}

// atLeader sends a request, and sends it again where a node knew of no leader, which has done
// nothing: the next one is another node. A caller that began anew instead might meet the same node
// each time, because the client asks the nodes in turn: two reads and a commit always end at the
// third. The client asks those nodes that it has reached, which may be the parted one alone for a
// while: so it goes on until ctx, that of the request, ends. One node alone is asked once.
func atLeader[T any](ctx context.Context, s *store, send func() (T, error)) (response T, err error) {
	nodes := len(s.client.Endpoints())
	for sent := 1; ; sent++ {
		if response, err = send(); nodes == 1 || !errors.Is(err, rpctypes.ErrNoLeader) {
			return response, err
		}
		if sent%nodes == 0 {
			select {
			case <-ctx.Done():
			case <-time.After(noLeaderWait):
			}
		}
		if ctx.Err() != nil {
			return response, err
		}
	}
}

// noLeaderWait is between two attempts at nodes that know of no leader.
const noLeaderWait = 20 * time.Millisecond

// resolve finds out what has become of a commit whose answer was lost, because of lost. It puts the
// mark if the commit has not: then that does nothing any more, should it still arrive. It does not
// end with ctx, which may be why the answer was lost.
func (s *store) resolve(ctx context.Context, serial string, lost error) error {
	request, cancel := s.request(context.WithoutCancel(ctx))
	defer cancel()
	for {
		response, err := s.markWith(request, "", nil, nil)
		_, refused := refusal(err)
		switch {
		case errors.Is(err, rpctypes.ErrNoLeader) && request.Err() == nil:
			time.Sleep(noLeaderWait)
			continue
		case err != nil && !refused && request.Err() == nil:
			continue // the client waits between its attempts
		case err != nil:
			return &driver.Error{Kind: driver.InDoubt, Err: fmt.Errorf("%w; asked again: %w", lost, err),
				Hint: "see whether a majority of the nodes is up, then look whether the commit is there"}
		case response.Succeeded:
			s.last = response.Header.Revision
			return &driver.Error{Kind: driver.Aborted, Err: lost}
		}
		marks := response.Responses[0].GetResponseRange().Kvs
		switch {
		case len(marks) == 0: // the lease has ended since
			return &driver.Error{Kind: driver.InDoubt, Err: lost}
		case string(marks[0].Value) == serial:
			s.last = marks[0].ModRevision
			return nil
		case len(marks[0].Value) == 0: // an attempt of this loop whose answer was lost, too
			s.last = marks[0].ModRevision
			return &driver.Error{Kind: driver.Aborted, Err: lost}
		}
		return &driver.Error{Kind: driver.InDoubt, Err: lost}
	}
}
