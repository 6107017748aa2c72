// Package record keeps typed records: a struct goes in, the same struct comes out, found by its id
// or by indexes.
//
//	type User struct {
//		ID      int64   `record:"id"`
//		Email   string  `record:"email"`
//		Balance float64 `record:"balance"`
//	}
//
//	import _ "github.com/assaydb/assay/engines/bboltkv" // the engine that the URL names
//
//	db, err := kv.Open(ctx, "bbolt:app.db")
//	defer db.Close()
//	users, err := record.Open[User](ctx, db, &record.Options{
//		Indexes: []record.Index{{Name: "email", Fields: []string{"email"}, Unique: true}},
//	})
//
//	err = users.Put(ctx, kv.Synced, &User{ID: 7, Email: "ada@example.com"})
//	ada, err := users.Get(ctx, record.Int(7))
//	found, err := users.Find(ctx, "email", "ada@example.com")
//	for user, err := range users.All(ctx, record.Span{From: record.Int(100), Limit: 20}) { ... }
//
//	balance, err := record.FieldOf[float64](users, "balance")
//	err = balance.Set(ctx, kv.Synced, record.Int(7), 12.5) // one field, and the indexes that have it
//	total, err := record.Sum(ctx, balance, record.Span{})  // without decoding the rest
//
//	page, next, err := users.Page(ctx, record.Query{Index: "email", Limit: 50})
//
// It works on every engine of package kv. Every write names its durability and is one transaction,
// indexes included.
//
// # When to use it, and what you give up
//
// Use it where a program keeps structs of its own in a store of its own, finds them by id or by a
// few indexes that it names, and wants to change them together with other keys, queues and logs of
// that store: [Collection.In] joins the program's transaction. Reading a record costs what reading
// a value costs; one field of a large one costs less.
//
// What a database with a query language has is not here: joins, grouping, an order that no index
// has, and a planner. A [Query] names its index; its conditions read every record that the index
// gives. DeleteWhere holds the ids that it found in memory. There are no foreign keys, and a
// collection has one id field. docs/design.md says how that stands beside bstore, badgerhold and
// storm.
//
// If other programs write the same data, or people ask questions of it that the program does not
// know, use SQL. If values are opaque bytes, use package kv itself. For what happened, in order,
// use package eventlog; for work to be done, queue.
//
// # Put, Insert and Replace
//
// Put stores a record whatever was there; Insert refuses one that is there (Conflict, a [Duplicate]
// that names it), Replace one that is not (NotFound). An id that is 0 or "" is taken for forgotten:
// Put refuses it and Insert chooses a number that no record has and that it never chose before,
// unless [Options.ZeroID] is set. Conflict and NotFound are answers that change nothing; after any
// other error of a method that writes, its transaction commits nothing, even if the error is passed
// over.
//
// # Types
//
// A record is a struct. Its exported fields are stored, under their Go names or those given by the
// tag `record:"name"`; `record:"-"` leaves a field out. The field called ID, or tagged
// `record:"name,id"`, is the id: an integer or a string, by which records are ordered. Fields may
// be bool, int and uint of every size, float32, float64, string, []byte, time.Time, types made of
// these, and structs, slices, arrays, pointers and maps of all of them (map keys are numbers, bools
// or strings). Anything else is refused by [Open], with the field's name, and so is a type that is
// part of itself. Tags and methods for other encodings, such as `json:"..."` and MarshalJSON, are
// not used.
//
// The fields of a struct within the record are fields of their own, called address.city; those of
// an embedded one have no name before theirs. They can be indexed, read and set alone as others.
//
// What comes back is what went in, nil as nil and empty as empty, with these exceptions: a time is
// in UTC and has lost its monotonic part, and what two pointers shared is there twice. Strings of
// one record may share memory: keeping one keeps all. What a codec cannot hold to the bit is
// Invalid when it is put, and the error names the field by its path, as lines[3].note: [Binary]
// holds everything, to [JSON] text that is not UTF-8, NaN, infinities, times outside the years 0 to
// 9999, and a pointer to a nil pointer, slice or map are too much.
//
// # Hot fields
//
// A field that changes often may be tagged `record:"views,hot"`. It then lies in a pair of its own,
// apart from the record and beside the same field of the others, and [Field.Set] writes that pair
// alone; reading a record puts it together. In all else it is like any other field: indexes have
// it, conditions read it, and the tag may come and go without rewriting anything. It pays where
// records are large, or where the field is added up; small records are read more slowly for it. The
// benchmark HotBesideWhole does both in turns and prints the ratio.
//
// # Indexes
//
// [Options.Indexes] names them. A field that is a slice has an entry for each element. Entries are
// made of what is stored alone, in the transaction that changes the record; [Collection.Check]
// compares all of them with the records. [Query] reads by an index, both ways, with conditions,
// offset and limit; [Collection.Page] goes on where the page before ended.
//
// # When the type changes
//
// The header that is stored beside the records holds all fields that there ever were, and a
// fingerprint of the type. [Open] compares, and a type that differs is a Conflict that names the
// fields, unless [Options.Evolve] says what to do, or the field is tagged `record:"new,was=old"`,
// which renames it. With [Extend], [Keep] and [Drop] nothing is rewritten: old records are read
// with the fields that they have, the others come from [Options.Default] of the opening that added
// the field: the header keeps it, because entries of indexes are made of it. A field that is added
// to a struct within a slice, a map or behind a pointer is zero in what was stored before. A new
// field may not be called like a stored one but for upper and lower case. In the objects of JSON a
// renamed field keeps its first name: other programs read them.
//
// A Collection through which nobody knows of a change of the type or the indexes that was made
// through another one, in this process or in another one, gets a Conflict when it writes, and is
// opened again.
//
// # Codecs
//
// [Binary] is the default: the smallest, and the fastest to encode, to decode and to read one field
// of. Choose [JSON] if other programs read the values. `assay run records` compares these and
// others, and layouts with a pair or a bucket for each field, on any engine.
package record
