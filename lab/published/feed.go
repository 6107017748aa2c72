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
		work := "feed/read_random,read_sequential,read_iterate,append?messages=20k"
		if storage != "" {
			work = "feed/read_random,read_iterate,append?messages=5k"
		}
		return Part{Name: name, Engines: engines, Work: []string{work + params}, Forms: forms, Classes: classes,
			Storage: storage, Share: share}
	}
	const keys = "&variant=le-keys"
	return Publication{
		Name: "feed", System: "scuttlego",
		Summary: "Margaret's log, bbolt and Badger as the message log of Secure Scuttlebutt",
		Setup: "Published: Go 1.20, bbolt 1.3.7, Badger 4.0.1, Margaret 0.4.3, AMD Ryzen 7 on Linux, SSD and HDD; keys little-endian, one sync after all " +
			"appends, none of Margaret. Margaret's log is read and written by assay's own code; the HDD is a model. It is measured at 20,000 messages, at 5,000 on the HDD: " +
			"assay run --like-published 'feed?messages=100k' --budget 20m has as many as published. At the same promise keys are big-endian and " +
			"every append is synced.",
		Parts: []Part{
			part("published", keys, "", 60*time.Second, kv.Flushed),
			part("matched", "", "", 45*time.Second, kv.Synced),
			part("slow-published", keys, "hdd", 55*time.Second, kv.Synced),
			part("slow-matched", "", "hdd", 40*time.Second, kv.Synced),
		},
		claims: []claim{
			feedClaim("badger append_fast", "margaret",
				"here Margaret's log is written in few calls for all messages, the original's in four for each"),
			feedClaim("badger-zstd append_fast", "margaret",
				"as badger; compression comes later, when a table is written out"),
			feedClaim("badger-snappy append_fast", "margaret", "as badger"),
			feedClaim("bbolt append_fast", "margaret", "as badger; and little-endian keys scatter 5,000 messages over the whole tree, which in order fill a few pages at its end"),
			feedClaim("bbolt read_random_fast", "margaret", "bbolt reads its mapped file without a call to the system; Margaret's log takes calls for each message, the original's a codec too"),
			feedClaim("badger read_random_fast", "margaret",
				"Margaret's log is read by assay's own code, which returns the bytes; the original passed each message through its codec"),
			feedClaim("bbolt read_sequential_fast", "badger",
				"bbolt reads its mapped file, Badger allocates for each message; consecutive ones are neighbours only if keys are big-endian"),
			feedClaim("bbolt read_iterate_fast", "margaret",
				"the original's query passed each message through its codec; here a scan returns the bytes"),
			feedClaim("badger read_iterate_fast", "margaret",
				"as bbolt: the original's query was slow, the format is not"),
			feedClaim("badger-zstd append_slow", "bbolt",
				"bbolt writes scattered pages, which a disk with an arm pays for one by one; in order they are few"),
			feedClaim("badger append_slow", "bbolt", "as badger-zstd"),
			feedClaim("margaret append_slow", "bbolt",
				"Margaret was never synced; here every append is, three files in their order"),
			feedClaim("bbolt read_random_slow", "margaret", "a disk shows in a read only the first time; after that the log lies in the cache, which is what rounds measure here"),
			feedClaim("bbolt read_iterate_slow", "margaret",
				"as read_random_slow; and the original's query was slow on both disks"),
			feedClaim("badger-zstd size", "bbolt",
				"little-endian keys leave bbolt's pages half full; in order they are packed"),
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
