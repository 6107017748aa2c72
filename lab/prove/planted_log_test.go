package prove

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/stores/eventlog/feed"
	"github.com/assaydb/assay/stores/eventlog/margaret"
)

// plantedLog is Margaret's log with one fault that a proof must find.
type plantedLog struct {
	margaret.Driver
	name string
	// append appends messages in place of the log.
	append func(ctx context.Context, b *plantedFeed, d driver.Durability, messages [][]byte) (uint64, error)
}

func registerPlantedLogs() {
	for _, p := range []plantedLog{
		{name: "forgetful-log", append: appendEverySeventhOnly},
		{name: "halving-log", append: appendInHalves},
		{name: "twisting-log", append: twistOne},
		{name: "unsynced-log", append: appendWithoutSync},
	} {
		driver.Register(p)
	}
}

func (p plantedLog) Info() driver.Info {
	info := p.Driver.Info()
	info.Name = p.name
	return info
}

func (p plantedLog) OpenFeed(ctx context.Context, c driver.Config) (*feed.Feed, driver.Store, error) {
	f, s, err := p.Driver.OpenFeed(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	return feed.NewFeed(&plantedFeed{log: f, plan: p}), s, nil
}

// plantedFeed is an open log with the fault.
type plantedFeed struct {
	log  *feed.Feed
	plan plantedLog

	mu      sync.Mutex
	commits int
	late    [][]byte
}

var _ feed.Backend = (*plantedFeed)(nil)

func (b *plantedFeed) Append(ctx context.Context, d driver.Durability, messages [][]byte) (uint64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.commits++
	return b.plan.append(ctx, b, d, messages)
}

func (b *plantedFeed) View(ctx context.Context, fn func(feed.Reader) error) error {
	return b.log.View(ctx, func(s *feed.Snapshot) error { return fn(snapshotReader{s}) })
}

func (b *plantedFeed) Close() error { return nil }

// snapshotReader reads a snapshot as a backend does.
type snapshotReader struct{ *feed.Snapshot }

func (r snapshotReader) Scan(from, to uint64, yield func(uint64, []byte) bool) error {
	for seq, m := range r.Snapshot.Scan(from, to) {
		if !yield(seq, m) {
			return nil
		}
	}
	return r.Err()
}

// appendEverySeventhOnly appends from memory every seventh time, and in between acknowledges what
// is not there.
func appendEverySeventhOnly(ctx context.Context, b *plantedFeed, d driver.Durability, messages [][]byte) (uint64,
	error) {
	n, err := b.log.Len(ctx)
	if err != nil {
		return 0, err
	}
	first := n + uint64(len(b.late))
	b.late = append(b.late, messages...)
	if b.commits%7 != 0 {
		return first, nil
	}
	late := b.late
	b.late = nil
	_, err = b.log.Append(ctx, d, late...)
	return first, err
}

// appendInHalves makes two appends of one.
func appendInHalves(ctx context.Context, b *plantedFeed, d driver.Durability, messages [][]byte) (uint64, error) {
	half := len(messages) / 2
	if half == 0 {
		return b.log.Append(ctx, d, messages...)
	}
	first, err := b.log.Append(ctx, d, messages[:half]...)
	if err != nil {
		return 0, err
	}
	time.Sleep(5 * time.Millisecond) // so that a kill finds the halves apart
	_, err = b.log.Append(ctx, d, messages[half:]...)
	return first, err
}

// twistOne changes one byte of a message, now and then.
func twistOne(ctx context.Context, b *plantedFeed, d driver.Durability, messages [][]byte) (uint64, error) {
	if last := bytes.Clone(messages[len(messages)-1]); b.commits%5 == 0 && len(last) > 0 {
		last[len(last)-1] ^= 1
		messages = append(messages[:len(messages)-1:len(messages)-1], last)
	}
	return b.log.Append(ctx, d, messages...)
}

// appendWithoutSync appends as Flushed, whatever was asked for.
func appendWithoutSync(ctx context.Context, b *plantedFeed, _ driver.Durability, messages [][]byte) (uint64, error) {
	return b.log.Append(ctx, driver.Flushed, messages...)
}
