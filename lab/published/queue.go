package published

import (
	"time"

	"github.com/assaydb/assay/kv"
)

// ownSQL is the nearest that a binary without SQLite in C has.
const ownSQL = "assay's own statements on pure Go SQLite"

// throughC are the published statements by package sqlite/sqldriver.
const throughC = "sqlite-c/published-sqldriver"

// queue is squeueHA's comparison of two ways to call SQLite.
func queue() Publication {
	operation := func(row, operation, why string) claim {
		through := func(first, class, what string) pair {
			return pair{part: "published", operation: operation, first: first + class,
				second: "sqlite/published" + class, what: what}
		}
		own := func(class string) *pair {
			p := through("sqlite/sql", class, ownSQL)
			return &p
		}
		c := claim{row: row, published: through(throughC, "@flushed", ""), matched: through(throughC, "@synced", ""),
			race: through(throughC, "@flushed", ""), also: through("sqlite/sql", "@flushed", ownSQL), why: why}
		c.race.part = "race"
		c.published.nearest, c.matched.nearest = own("@flushed"), own("@synced")
		return c
	}
	return Publication{
		Name: "queue", System: "squeueHA",
		Summary: "SQLite through C instead of in pure Go under a job queue",
		Setup: "Published: an own driver over SQLite 3.48 and modernc.org/sqlite, WAL mode, one writer, Intel i9-14900K on Linux, built with -race, which slows " +
			"Go and not C. Here both run the same statements through database/sql, the C side by sqlite/sqldriver, and nothing is built with -race, but for the part race: " +
			"there the same work is done by a binary that is, so that each figure shows what -race alone makes of it. " +
			"The length of the queue was not said: claim is measured at 20,000 jobs, the others on an empty queue.",
		Parts: []Part{{Name: "published", Engines: []string{"sqlite-c", "sqlite"},
			Work:  []string{"queue/claim?backlog=20k", "queue/publish,ack,cycle?backlog=0"},
			Forms: map[string][]string{"sqlite-c": {"published-sqldriver"}, "sqlite": {"published", "sql"}},
			Share: 55 * time.Second},
			{Name: "race", Engines: []string{"sqlite-c", "sqlite"}, Race: true,
				Work:    []string{"queue/claim?backlog=20k", "queue/publish,ack,cycle?backlog=0"},
				Forms:   map[string][]string{"sqlite-c": {"published-sqldriver"}, "sqlite": {"published"}},
				Classes: []kv.Durability{kv.Flushed}, Share: 30 * time.Second}},
		claims: []claim{
			operation("sqlite-cgo publish", "publish", "-race multiplies the cost of translated C and leaves C itself as it is; without it the two differ by the overhead of a call"),
			operation("sqlite-cgo claim", "claim", "the published claims take far longer than an update by index needs, which costs the same at any length of the queue"),
			operation("sqlite-cgo ack", "ack",
				"a delete by number is mostly overhead of the driver, where -race weighs most"),
			operation("sqlite-cgo cycle", "cycle", "the published headline, with -race; preparing each statement once, on one connection, spares work in either language: the last figure"),
		},
	}
}
