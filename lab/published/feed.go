package published

import (
	"strings"
	"time"

	"github.com/assaydb/assay/kv"
)

// feed is scuttlego's comparison of message logs.
func feed() Publication {
	engines := []string{"bbolt", "badger-none", "badger-zstd", "badger", "margaret"}
	forms := map[string][]string{"bbolt": {"kv"}, "badger": {"kv"}, "margaret": {"margaret"}}
	part := func(name, params, storage string, share time.Duration, classes ...kv.Durability) Part {
		work := "feed/append,read_random,read_sequential,read_iterate?messages=100k"
		if storage != "" {
			work = "feed/append,read_random,read_iterate?messages=20k"
		}
		return Part{Name: name, Engines: engines, Work: []string{work + params}, Forms: forms, Classes: classes, Storage: storage, Share: share}
	}
	const keys = "&variant=le-keys"
	return Publication{
		Name: "feed", System: "scuttlego",
		Summary: "Margaret's log, bbolt and Badger as the message log of Secure Scuttlebutt",
		Setup: "Published: Go 1.20, bbolt 1.3.7, Badger 4.0.1, Margaret 0.4.3, AMD Ryzen 7 on Linux, SSD and HDD; keys little-endian, one sync after all " +
			"appends, none of Margaret. Margaret's log is read and written by assay's own code; the HDD is a model. At the same promise keys are " +
			"big-endian and every append is synced.",
		Parts: []Part{
			part("published", keys, "", 90*time.Second, kv.Flushed),
			part("matched", "", "", 75*time.Second, kv.Synced),
			part("slow-published", keys, "hdd", 35*time.Second, kv.Synced),
			part("slow-matched", "", "hdd", 25*time.Second, kv.Synced),
		},
		claims: []claim{
			feedClaim("badger append_fast", "margaret", "Badger puts all in one table in memory and a mapped log; here Margaret's log is written in few calls, the original's in several for each message"),
			feedClaim("badger-zstd append_fast", "margaret", "as badger: compression comes later, when a table is written out"),
			feedClaim("badger-snappy append_fast", "margaret", "as badger"),
			feedClaim("bbolt append_fast", "margaret", "little-endian keys scatter 5,000 messages over the whole tree; in order they fill a few pages at its end"),
			feedClaim("bbolt read_random_fast", "margaret", "bbolt reads its mapped file without a call to the system, Margaret's format takes several for each message"),
			feedClaim("badger read_random_fast", "margaret", "Badger looks through its tables; how many there are, and what its cache holds, is new since 4.0.1"),
			feedClaim("bbolt read_sequential_fast", "badger", "consecutive messages are neighbours in a tree only if keys are big-endian"),
			feedClaim("bbolt read_iterate_fast", "margaret", "the original's query took each message through its decoder and back, here a scan reads the file in large pieces"),
			feedClaim("badger read_iterate_fast", "margaret", "as bbolt: the original's query was slow, the format is not"),
			feedClaim("badger-zstd append_slow", "bbolt", "bbolt writes scattered pages, which a disk with an arm pays for one by one; in order they are few"),
			feedClaim("badger append_slow", "bbolt", "as badger-zstd"),
			feedClaim("margaret append_slow", "bbolt", "Margaret was never synced; here every append is, three files in their order"),
			feedClaim("bbolt read_random_slow", "margaret", "a disk shows in a read only if the log is not in memory; here it was just written and lies in the cache"),
			feedClaim("bbolt read_iterate_slow", "margaret", "as read_random_slow; and the original's query was slow on both disks"),
			feedClaim("badger-zstd size", "bbolt", "little-endian keys leave bbolt's pages half full; in order they are packed"),
			feedClaim("badger-snappy size", "bbolt", "as badger-zstd"),
			feedClaim("margaret size", "bbolt", "Margaret's log is the messages and 16 bytes for each; bbolt's pages are half full with little-endian keys, packed with others"),
			feedClaim("badger size", "bbolt", "as badger-zstd; this is without compression"),
		},
	}
}

// feedEngines are the published names of engines, by ours where they differ.
var feedEngines = map[string]string{"badger": "badger-none", "badger-snappy": "badger", "margaret": "margaret/margaret"}

func feedClaim(row, baseline, why string) claim {
	name := func(s string) string {
		if own, ok := feedEngines[s]; ok {
			return own
		}
		return s
	}
	engine, operation, _ := strings.Cut(row, " ")
	operation, slow := strings.CutSuffix(operation, "_slow")
	operation = strings.TrimSuffix(operation, "_fast")
	p := pair{part: "published", operation: operation, first: name(engine), second: name(baseline)}
	if operation == "size" {
		p.operation, p.size = "read_iterate", true
	}
	m := p
	m.part = "matched"
	if slow {
		p.part, m.part = "slow-published", "slow-matched"
	}
	return claim{row: row, published: p, matched: m, why: why}
}
