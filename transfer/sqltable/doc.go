// Package sqltable makes the rows of SQLite tables, whoever made these, the pairs of a store, so
// that package transfer moves them from and to any engine:
//
//	import _ "github.com/assaydb/assay/transfer/sqltable"
//
//	transfer.Copy(ctx, "sqltable:old.db?tables=notes(id):body", "bbolt:notes.db", nil)
//	transfer.Copy(ctx, "bbolt:notes.db", "sqltable:new.db?tables=notes(id/int):body/text", nil)
//
// It is for moving and looking, not for working: it prepares and syncs every commit, and knows
// SQLite through modernc.org/sqlite and database/sql. Package sqlitekv keeps a store in one table
// of keys and values, much faster.
//
// # Which rows
//
// The parameter tables names one table or several, with spaces in between; [URL] writes it:
//
//	TABLE                      the whole table: the key is its primary key, or its rowid; the value is all other columns
//	TABLE(KEY):VALUE           a pair is two columns; other columns are left out
//	TABLE(KEY,KEY):A,B,C       a key of two columns, a value of three
//	TABLE(KEY):{VALUE}         a value of one column that is written as those of several are
//	PREFIX=TABLE(KEY):VALUE    the keys begin with PREFIX
//
// Without the parameter there are all tables of the file, each with its name and a slash as the
// prefix. In names and prefixes a percent sign and two hexadecimal digits stand for a byte.
//
// In a new file the tables are made, with the columns that are named and a type after a slash: int,
// text, blob, real. Without one, keys and single values are blobs, and one of several columns takes
// anything. In a file that is there nothing is made.
//
// # Keys
//
// A key of one column is the text or the blob itself; an integer is 8 bytes, most significant
// first, with the sign bit turned over, so that keys sort as the numbers do. In a key of several
// columns each text or blob but the last ends as [kv.AppendString] has it. All keys of a column are
// of one kind. NULL, a real number, and two rows of one key are Invalid.
//
// # Values
//
// A value of one named column is the text or the blob itself; a number or NULL there is Invalid. A
// value of several columns, or of all, is a JSON object with the columns in order. It keeps what
// SQL can tell apart:
//
//	NULL      null
//	integer   17
//	real      17.0, {"real":"+Inf"}
//	text      "ann"; {"text":"/w=="}, in base64, if it is not UTF-8
//	blob      {"blob":"AAE="}, in base64
//
// What is put must be written so, and must come back from the table as it was: a column with a
// type may make a number of a text, or a text of a number. Otherwise it is refused. Indexes,
// triggers and constraints are not pairs, and are not moved.
package sqltable
