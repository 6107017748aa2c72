package workload

import (
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/assaydb/assay/stores/eventlog/feed"
)

// feedParams is what can be varied in feed.
var feedParams = []Param{
	{Name: "messages", Default: "10k", Usage: "messages in the feed that is read; published: 100k, and 1M for size"},
	{Name: "block", Default: strconv.Itoa(feed.DefaultBlock), Usage: "bytes of messages in a block, form zstd"},
	{Name: "dictionary", Default: "none", Usage: "what blocks are compressed with, form zstd: none, or trained"},
	{Name: "variant", Default: "none", Usage: "le-keys: little-endian sequences as keys, as published, where there are keys"},
}

// feeds is a published comparison of Margaret's log with bbolt and Badger as feeds of Secure
// Scuttlebutt. There Margaret was never synced, the others once after all appends, and the keys
// were little-endian, which scatters them over the tree.
var feeds = Workload{
	Name:    "feed",
	Summary: "an append-only message log: append many, read by number, iterate, size",
	Params:  feedParams,
	Forms: []Form{
		throughKV,
		{zstdForm, "through package kv, messages in blocks compressed with zstd"},
		{margaretForm, "files of Margaret's log format offset2"},
	},
	Ops: []Op{
		feedOp(Op{Name: "append", Summary: "append 5,000 messages in one transaction"}, feedTask{appends: 5000}),
		feedOp(Op{Name: "append_1000", Summary: "append 1,000 messages in one transaction"}, feedTask{appends: 1000}),
		feedOp(Op{Name: "append_100", Summary: "append 100 messages in one transaction"}, feedTask{appends: 100}),
		feedOp(Op{Name: "append_1", Summary: "append one message"}, feedTask{appends: 1}),
		feedOp(Op{Name: "read_random", Summary: "read 5,000 messages anywhere in the feed, in one read transaction"},
			feedTask{reads: 5000, read: (*feedRunner).random}),
		feedOp(Op{Name: "read_sequential", Summary: "read 5,000 consecutive messages one by one, in one read transaction"},
			feedTask{reads: 5000, read: (*feedRunner).sequential}),
		feedOp(Op{Name: "read_iterate", Summary: "iterate over 5,000 messages from anywhere in the feed"},
			feedTask{reads: 5000, read: (*feedRunner).iterate}),
		feedOp(Op{Name: "size", Summary: "iterate over 1,000 messages from anywhere in the feed", Sized: true},
			feedTask{reads: 1000, read: (*feedRunner).iterate}),
	},
}

// feedTask says what an operation does. It appends or reads.
type feedTask struct {
	appends int // messages that an iteration appends, in one append
	reads   int // messages that an iteration reads
	read    readFeed
}

// feedOp completes an operation with what it does.
func feedOp(op Op, task feedTask) Op {
	op.Commits = task.appends > 0
	op.Items = task.appends + task.reads
	op.Forms = feedForms
	op.New = func(env Env) (Runner, error) { return newFeedRunner(env, task, op.Name) }
	return op
}

// The forms of a feed beside kv.
const (
	zstdForm     = "zstd"     // through kv, compressed in blocks
	margaretForm = "margaret" // the log format offset2, which is its own engine
)

// feedForms are kv, plain and in compressed blocks, on every engine; and Margaret's files, which
// have no other form.
func feedForms(engine, _ string) []string {
	if engine == margaretForm {
		return []string{margaretForm}
	}
	return []string{"kv", zstdForm}
}

// feedMessages makes the messages of a seed: what Secure Scuttlebutt's look like, of which 172
// bytes are random.
type feedMessages struct{ seed uint64 }

// append appends the message with an index to dst. It has 393 to 399 bytes below index 100,000,
// nearly always 397 or more.
func (f feedMessages) append(dst []byte, index int) []byte {
	h := scramble(scramble(f.seed^uint64(index)*golden) + golden)
	var random [40]byte
	dst = append(dst, "{\n\t\"previous\": \"%"...)
	h, dst = f.random(h, dst, random[:32])
	dst = append(dst, ".sha256\",\n\t\"author\": \"@"...)
	h, dst = f.random(h, dst, random[:32])
	dst = append(dst, ".ed25519\",\n\t\"sequence\": "...)
	dst = strconv.AppendInt(dst, int64(index), 10)
	dst = append(dst, ",\n\t\"timestamp\": "...)
	dst = strconv.AppendUint(dst, scramble(scramble(h)+golden), 10)
	dst = append(dst, ",\n\t\"hash\": \"sha256\",\n\t\"content\": {\n\t\t\"type\": \"post\",\n\t\t\"text\": \""...)
	var text [104]byte
	_, dst = f.random(h, dst, text[:100])
	return append(dst, "\"\n\t}\n}"...)
}

// random appends bytes that follow from h, in base64. p is memory for them.
func (feedMessages) random(h uint64, dst, p []byte) (uint64, []byte) {
	n := len(p)
	p = slices.Grow(p, 8)[:(n+7)/8*8]
	for i := 0; i < n; i += 8 {
		h += golden
		binary.LittleEndian.PutUint64(p[i:], scramble(scramble(h)))
	}
	return h, base64.StdEncoding.AppendEncode(dst, p[:n])
}
