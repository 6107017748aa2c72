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
// # Types
//
// A record is a struct. Its exported fields are stored, under their Go names or those given by the tag `record:"name"`;
// `record:"-"` leaves a field out. The field called ID, or tagged `record:"name,id"`, is the id: an integer or a string, by
// which records are ordered. Fields may be bool, int and uint of every size, float32, float64, string, []byte, time.Time
// and types made of these. Anything else is refused by [Open], with the field's name. Tags and methods for other
// encodings, such as `json:"..."` and MarshalJSON, are not used.
//
// What comes back is what went in, with these exceptions: a time is in UTC and has lost its monotonic part; empty bytes
// are nil. Strings of one record may share memory: keeping one keeps all. JSON, CBOR and Protobuf are text in UTF-8,
// and JSON has no NaN: a value that they cannot hold is Invalid when it is put.
//
// # When the type changes
//
// The header that is stored beside the records holds all fields that there ever were, and a fingerprint of the type.
// [Open] compares, and a type that differs is a Conflict that names the fields, unless [Options.Evolve] says what to do.
// With [Extend], [Keep] and [Drop] nothing is rewritten: old records are read with the fields that they have, the others
// come from [Options.Default].
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
