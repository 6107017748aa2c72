package cli

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"text/tabwriter"
	"time"

	"github.com/assaydb/assay/kv"
)

// A file of package stores/state has the entry "m", which is of no bucket. The others lie under
// their bucket's name and their key; the value of each begins with a header: see stores/state.
const (
	stateMark     = "assay state 1"
	stateHeader   = 13 // bytes
	stateUnsummed = 9  // of them, which the sum behind them is of
)

// isState reports whether db is a file of package stores/state.
func isState(ctx context.Context, db *kv.DB) (bool, error) {
	mark, err := db.Get(ctx, []byte("m"))
	if errors.Is(err, kv.NotFound) {
		return false, nil
	}
	if err != nil || len(mark) < stateHeader {
		return false, err
	}
	return string(mark[stateHeader:]) == stateMark, nil
}

// stateEntry is an entry of a bucket.
type stateEntry struct {
	Bucket  string    `json:"bucket"`
	Written time.Time `json:"written"`
	pairShown
	Damaged bool `json:"damaged,omitempty"` // it does not match its sum

	key, value []byte
}

// eachEntry gives do the entries of db of which the keys begin with prefix, which is a bucket's or
// none. They are for the call alone.
func eachEntry(ctx context.Context, db *kv.DB, prefix []byte, do func(e *stateEntry) error) error {
	is, err := isState(ctx, db)
	if err == nil && !is {
		err = absentStore(db, "file of stores/state")
	}
	if err != nil {
		return err
	}
	sums := crc32.MakeTable(crc32.Castagnoli)
	return db.View(ctx, func(s *kv.Snapshot) error {
		return s.Each(kv.Prefix(prefix), func(k, v []byte) error {
			bucket, key, ok := kv.CutString(k)
			if !ok {
				return nil // of the file itself
			}
			e := stateEntry{Bucket: bucket, key: key}
			if len(v) < stateHeader {
				e.Damaged = true
				return do(&e)
			}
			e.Written = time.Unix(0, int64(binary.BigEndian.Uint64(v[1:]))).UTC()
			e.value = v[stateHeader:]
			sum := crc32.Update(crc32.Update(crc32.Checksum(k, sums), sums, v[:stateUnsummed]), sums, e.value)
			e.Damaged = sum != binary.BigEndian.Uint32(v[stateUnsummed:])
			return do(&e)
		})
	})
}

// bucketShown is what is told of a bucket.
type bucketShown struct {
	Name    string    `json:"bucket"`
	Entries int       `json:"entries"`
	Bytes   int64     `json:"bytes"` // of keys and values
	Oldest  time.Time `json:"oldest"`
	Newest  time.Time `json:"newest"`
	Damaged int       `json:"damaged"`
}

// buckets lists the buckets of a file of stores/state.
func (a *app) buckets(ctx context.Context, db *kv.DB, _ []string, f inspectFlags) error {
	list := []*bucketShown{}
	err := eachEntry(ctx, db, nil, func(e *stateEntry) error {
		if len(list) == 0 || list[len(list)-1].Name != e.Bucket {
			list = append(list, &bucketShown{Name: e.Bucket, Oldest: e.Written, Newest: e.Written})
		}
		b := list[len(list)-1]
		b.Entries++
		b.Bytes += int64(len(e.key) + len(e.value))
		if e.Damaged {
			b.Damaged++
			return nil
		}
		if e.Written.Before(b.Oldest) {
			b.Oldest = e.Written
		}
		if e.Written.After(b.Newest) {
			b.Newest = e.Written
		}
		return nil
	})
	if err != nil {
		return err
	}
	if f.asJSON {
		return writeJSON(a.stdout, map[string]any{"buckets": list})
	}
	t := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "bucket\tentries\tbytes\toldest\tnewest\tdamaged")
	for _, b := range list {
		fmt.Fprintf(t, "%q\t%d\t%d\t%s\t%s\t%d\n", b.Name, b.Entries, b.Bytes, b.Oldest.Format(time.RFC3339),
			b.Newest.Format(time.RFC3339), b.Damaged)
	}
	return t.Flush()
}

// stateEntries shows those of a bucket.
func (a *app) stateEntries(ctx context.Context, db *kv.DB, operands []string, f inspectFlags) error {
	prefix := kv.AppendString(nil, operands[0])
	if len(operands) > 1 {
		begin, err := parseKey(operands[1])
		if err != nil {
			return err
		}
		prefix = append(prefix, begin...)
	}
	limit, n := cmp.Or(f.limit, mostShown), 0
	enough := errors.New("enough")
	t := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	enc := json.NewEncoder(a.stdout)
	if !f.asJSON {
		fmt.Fprintln(t, "key\twritten\tvalue")
	}
	err := eachEntry(ctx, db, prefix, func(e *stateEntry) error {
		if n++; n > limit {
			return enough
		}
		if f.asJSON {
			e.pairShown = newPairShown(e.key, e.value)
			return enc.Encode(e)
		}
		mark := ""
		if e.Damaged {
			mark = "  DAMAGED"
		}
		_, err := fmt.Fprintf(t, "%q\t%s\t%s%s\n", e.key, e.Written.Format(time.RFC3339), short(string(e.value)), mark)
		return err
	})
	if err != nil && !errors.Is(err, enough) {
		return err
	}
	if errors.Is(err, enough) {
		a.mayBeMore(limit, limit)
	}
	return t.Flush()
}
