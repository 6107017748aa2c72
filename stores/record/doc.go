// Package record keeps typed records: a struct goes in, the same struct comes out, found by its id or by indexes.
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
// It works on every engine of package kv. Every write names its durability and is one transaction, indexes included.
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
// gives. DeleteWhere, and reading by an index, hold the ids that they found in memory. Records are
// flat: no nested structs, slices but bytes, or pointers. An index has one entry for each record;
// there are no foreign keys. A collection has one id field, and numbers that [Collection.Insert]
// gives out may come again once the newest record is deleted. A renamed field is a new field.
//
// If other programs write the same data, or people ask questions of it that the program does not
// know, use SQL. If values are opaque bytes, use package kv itself. For what happened, in order,
// use package eventlog; for work to be done, queue.
//
// # Put, Insert and Replace
//
// Put stores a record whatever was there; Insert refuses one that is there (Conflict), Replace one
// that is not (NotFound). An id that is 0 or "" is taken for forgotten: Put refuses it and Insert
// chooses the next number, unless [Options.ZeroID] is set. Conflict and NotFound are answers that
// change nothing; after any other error of a method that writes, its transaction commits nothing,
// even if the error is passed over.
//
// # Types
//
// A record is a struct. Its exported fields are stored, under their Go names or those given by the tag `record:"name"`;
// `record:"-"` leaves a field out. The field called ID, or tagged `record:"name,id"`, is the id: an integer or a string, by
// which records are ordered. Fields may be bool, int and uint of every size, float32, float64, string, []byte, time.Time
// and types made of these. Anything else is refused by [Open], with the field's name. Tags and methods for other
// encodings, such as `json:"..."` and MarshalJSON, are not used.
//
// What comes back is what went in, with these exceptions: a time is in UTC and has lost its
// monotonic part; empty bytes are nil. Strings of one record may share memory: keeping one keeps
// all. What a codec cannot hold to the bit is Invalid when it is put: to JSON, CBOR and Protobuf
// text that is not UTF-8, to JSON and CBOR times outside the years 0 to 9999, to JSON NaN and
// infinities, to Gob -0, to Gob and CBOR a float32 that is a signalling NaN.
//
// # When the type changes
//
// The header that is stored beside the records holds all fields that there ever were, and a
// fingerprint of the type. [Open] compares, and a type that differs is a Conflict that names the
// fields, unless [Options.Evolve] says what to do. With [Extend], [Keep] and [Drop] nothing is
// rewritten: old records are read with the fields that they have, the others come from
// [Options.Default] of the opening that added the field: the header keeps it, because entries of
// indexes are made of it. A new field may not be called like a stored one but for upper and lower
// case.
//
// In a store that is open in Exclusive mode there must be one Collection at a time over the same records. In Shared mode
// a process that finds that another one changed the type or the indexes gets a Conflict, and opens the collection again.
//
// # Codecs and layouts
//
// [Binary] in one pair for each record is the default: of all codecs it is the fastest to encode, to decode and to read one
// field of. Choose another [Codec] if other programs read the values, and a [Layout] with a pair for each field if records
// are large and updates touch single fields. Package bboltnested keeps each record in a bucket of its own, to show what
// that costs. `assay run records` compares them on any engine.
package record
