package published

import (
	"time"

	"github.com/assaydb/assay/kv"
)

// pebbleAsEbuse are the published options of Pebble, under their names of today.
const pebbleAsEbuse = "pebble=pebble:?MemTableSize=134217728&MemTableStopWritesThreshold=8&L0CompactionThreshold=4&" +
	"L0StopWritesThreshold=20&LBaseMaxBytes=536870912&BytesPerSync=1048576&CompactionConcurrencyRange=1%2C4"

// sqliteAsEbuse are the published pragmas of SQLite: 64 MB of cache, 256 MB mapped.
const sqliteAsEbuse = "sqlite=sqlite:?cache_size=-65536&mmap_size=268435456"

// events is ebuse's comparison of event stores.
func events() Publication {
	forms := map[string][]string{"pebble": {"kv"}, "sqlite": {"sql"}}
	published := func(operation, pebble, sqlite string) pair {
		return pair{part: "published", operation: operation, first: "pebble" + pebble, second: "sqlite/sql" + sqlite}
	}
	matched := func(operation, class string) pair {
		return pair{part: "matched", operation: operation, first: "pebble" + class, second: "sqlite/sql" + class}
	}
	return Publication{
		Name: "events", System: "ebuse",
		Summary: "Pebble instead of SQLite as an event store",
		Setup: "Published: Go 1.24, Pebble 1.1.5 with NoSync and large tables in memory, modernc.org/sqlite in WAL mode with NORMAL and " +
			"three indexes that Pebble did not keep, macOS on Apple silicon. At the same promise both sync and keep the same indexes: none.",
		Parts: []Part{
			{Name: "published", Engines: []string{pebbleAsEbuse, sqliteAsEbuse},
				Work: []string{"events/append1,append100,read100?variant=ebuse"}, Forms: forms,
				Share: 35 * time.Second},
			{Name: "matched", Engines: []string{"pebble", "sqlite"},
				Work: []string{"events/append1,append100,read100"}, Forms: forms, Classes: []kv.Durability{kv.Synced},
				Share: 35 * time.Second},
		},
		claims: []claim{
			{row: "pebble append1", published: published("append1", "@buffered", "@flushed"),
				matched: matched("append1", "@synced"),
				why:     "Pebble's NoSync returns before anything left the process and a kill -9 loses it, SQLite's NORMAL has written its log and three indexes"},
			{row: "pebble append100", published: published("append100", "@buffered", "@flushed"),
				matched: matched("append100", "@synced"),
				why:     "as append1, and three indexes are kept up for each of the 100 rows"},
			{row: "pebble read100", published: published("read100", "", ""), matched: matched("read100", ""),
				why: "a read has no promise. Settings are the published ones, decoding is ours: a binary envelope, where that program parses JSON for each event; SQLite steps through rows in translated C. docs/eventlog.md has that program itself"},
			{row: "pebble append1_sync", published: published("append1", "@synced", "@flushed"),
				matched: matched("append1", "@synced"),
				why:     "the opposite mismatch: Pebble syncs, SQLite does not; Go's sync on macOS empties the drive's cache, which takes longer than fdatasync on Linux"},
		},
	}
}
