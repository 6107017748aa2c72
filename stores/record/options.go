package record

// Options is how a collection is kept. A nil *Options is the zero Options, with which every default
// is the safest and the smallest.
type Options struct {
	// Name sets the collection apart from others in the same store. The collection without a name
	// uses the keys that begin with 'f', 'h', 'i', 'r' and 's', those with names the keys that
	// begin with 'c'.
	Name string

	Codec  Codec     // how fields become bytes
	Evolve Evolution // what to do if the collection was written with another type

	// Indexes are kept in the same transaction as the records. One that is new is built when the
	// collection is opened. An index stays, and is kept, until DropIndex or DropIndexes: opening
	// without it changes nothing.
	Indexes []Index

	// DropIndexes names indexes that are removed when the collection is opened, if they are there:
	// those with fields that the type no longer has, above all.
	DropIndexes []string

	// ZeroID makes 0 and "" ids like others. Without it a record that has one is taken for one
	// whose id was forgotten: Put refuses it, and Insert gives it the next number.
	ZeroID bool

	// Default is where fields come from that a record does not have because they were added later:
	// a *T, or nil for zero values. The default of a field is stored when it is added, and holds
	// however the collection is opened from then on: to ask for another one later is a Conflict, to
	// leave it out or zero changes nothing.
	Default any
}

// Index finds records by the values of fields. A field that is a slice has an entry for each of its
// different elements, so that a record is found by any of them, and not at all if there are none;
// an index may have one such field. A field that is a pointer is ordered by what it points to, nil
// before everything.
type Index struct {
	Name   string   // unique in the collection; letters, digits and underscores
	Fields []string // their stored names, the most significant first
	Unique bool     // no two records may have the same values, empty ones included
}
