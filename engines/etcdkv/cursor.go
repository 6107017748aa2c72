package etcdkv

import (
	"slices"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/assaydb/assay/kv/driver"
)

// The number of pairs that a request asks for is doubled while an answer is small and halved when
// it is large.
const (
	firstPage  = 32
	longPage   = 4096
	smallBytes = 64 << 10
	largeBytes = 512 << 10
)

// cursor reads a range in pages. In reverse order the server reads the whole rest of the range for
// each page, and sends the page.
type cursor struct {
	reader  *reader
	ahead   driver.Ahead
	options []clientv3.OpOption
	start   string // of the range, in the cluster
	stop    string
	from    string // of what was not read yet, inclusive
	end     string // exclusive
	reverse bool
	page    int64
	done    bool
}

var (
	_ driver.Chunker = (*cursor)(nil)
	_ driver.Seeker  = (*cursor)(nil)
)

func newCursor(r *reader, rg driver.Range) *cursor {
	data := r.store.keys.data
	c := &cursor{reader: r, start: data + string(rg.Start), stop: clientv3.GetPrefixRangeEnd(data),
		reverse: rg.Reverse, page: firstPage}
	if rg.End != nil {
		c.stop = data + string(rg.End)
	}
	c.from, c.end = c.start, c.stop
	if rg.Reverse {
		c.options = append(c.options, clientv3.WithSort(clientv3.SortByKey, clientv3.SortDescend))
	}
	if rg.KeysOnly {
		c.options = append(c.options, clientv3.WithKeysOnly())
	}
	return c
}

func (c *cursor) Next() (key, value []byte, err error) { return c.ahead.Next(c.Chunk) }

func (c *cursor) Chunk() ([]driver.Pair, error) {
	if c.done || c.from >= c.end {
		return nil, nil
	}
	response, err := c.reader.get(c.from, append(slices.Clip(c.options),
		clientv3.WithRange(c.end), clientv3.WithLimit(c.page))...)
	if err != nil {
		return nil, err
	}
	if c.done = !response.More; len(response.Kvs) == 0 {
		return nil, nil
	}
	pairs, size, skip := make([]driver.Pair, len(response.Kvs)), 0, len(c.reader.store.keys.data)
	for i, pair := range response.Kvs {
		pairs[i] = driver.Pair{Key: pair.Key[skip:], Value: pair.Value}
		size += len(pair.Key) + len(pair.Value)
	}
	switch {
	case size > largeBytes:
		c.page = max(c.page/2, 1)
	case size < smallBytes:
		c.page = min(2*c.page, longPage)
	}
	last := string(response.Kvs[len(response.Kvs)-1].Key)
	if c.reverse {
		c.end = last
	} else {
		c.from = last + "\x00"
	}
	return pairs, nil
}

func (c *cursor) Seek(key []byte) error {
	c.ahead, c.done, c.from, c.end = nil, false, c.start, c.stop
	at := c.reader.store.keys.data + string(key)
	if c.reverse {
		c.end = min(at+"\x00", c.stop)
	} else {
		c.from = at
	}
	return nil
}

func (c *cursor) Close() error { return nil }
