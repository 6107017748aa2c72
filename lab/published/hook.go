package published

import "time"

// hook is zenable's comparison of stores for a command-line tool.
func hook() Publication {
	const open = "pure Go SQLite opens a WAL, its index and its schema each time, bbolt one file"
	bbolt := func(operation, class, baseline, itsClass string) pair {
		return pair{part: "published", operation: operation, first: "bbolt" + class, second: baseline + itsClass}
	}
	rollback := func(operation, class string) pair {
		p := bbolt(operation, class, "sqlite-delete", class)
		p.what = "against SQLite's rollback journal, which leaves no companion file"
		return p
	}
	read := func(row, operation, why string) claim {
		return claim{row: row, published: bbolt(operation, "", "sqlite", ""), also: rollback(operation, ""), why: why}
	}
	write := func(row, operation, why string) claim {
		return claim{row: row, published: bbolt(operation, "@flushed", "sqlite", "@synced"),
			matched: bbolt(operation, "@synced", "sqlite", "@synced"),
			also:    rollback(operation, "@synced"), why: why}
	}
	scan := read("bbolt scan20", "scan20_shared",
		"the published scan takes less than its own open and close, so its handle stayed open; with an open each it is the third figure")
	scan.also = bbolt("scan20", "", "sqlite", "")
	scan.also.what = "with an open and a close each"
	concurrent := read("bbolt get_concurrent14", "get_shared_14",
		"the published time is below one open and close: 14 readers shared an open handle")
	concurrent.also = pair{}
	return Publication{
		Name: "hook", System: "zenable",
		Summary: "bbolt instead of SQLite for a command that opens its store, works a moment and closes it",
		Setup: "Published: an open and a close for each operation, bbolt without fdatasync, SQLite by modernc.org/sqlite in WAL mode; " +
			"machine, versions and SQLite's synchronous are not said, so it is FULL here, its default.",
		Parts: []Part{{Name: "published", Engines: []string{"bbolt", "sqlite", "sqlite-delete"},
			Forms: map[string][]string{"bbolt": {"kv"}, "sqlite": {"kv"}},
			Work:  []string{"hook/open_close,put,get,put_get,scan20_shared,scan20,get_shared_14"},
			Share: 50 * time.Second}},
		claims: []claim{
			read("bbolt open_close", "open_close", open),
			write("bbolt put", "put", "bbolt was spared its two syncs; SQLite makes two files, syncs its log, and copies and syncs again when the last handle closes"),
			read("bbolt get", "get", open),
			write("bbolt put_get", "put_get", "as put: one side did not sync"),
			scan, concurrent,
		},
	}
}
