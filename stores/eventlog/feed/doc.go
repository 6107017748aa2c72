// Package feed is an append-only list of messages: raw bytes, numbered without gaps, written many
// at a time and read by number. It is the event log of package eventlog without its envelope, for
// programs whose messages carry everything themselves: a replicated feed, a write-ahead log, an
// archive.
//
//	db, err := kv.Open(ctx, "bbolt:feed.db")
//	f, err := feed.Open(ctx, db, &feed.Options{Compression: feed.Zstd})
//	first, err := f.Append(ctx, kv.Synced, messages...) // all of them or none
//
//	err = f.View(ctx, func(s *feed.Snapshot) error {
//		message, err := s.Append(buf[:0], first) // by number
//		for seq, message := range s.Scan(first, s.Len()) { ... } // one after the other
//		return nil
//	})
//
//	err = f.Follow(ctx, next, func(seq uint64, message []byte) error { ... }) // and those to come
//	err = f.Trim(ctx, kv.Synced, first) // nobody needs what is before
//
// A message and the data that it is about are one transaction by [Feed.In].
//
// [Open] keeps a feed in any engine of package kv, package margaret in the files of the log format
// "offset2". Each gives a [*Feed] with the same promises, which package feedtest holds as tests.
//
// # Order
//
// The first message has the sequence 0, every further one the next number. There are no gaps. What
// was appended with a class weaker than the crash that followed may be lost, from the end; its
// numbers are then given to other messages. A program whose readers must not see a number twice
// uses package eventlog, which reserves them.
//
// # Blocks
//
// With [Zstd] the messages are compressed together, some kilobytes at a time: single messages are
// too short to be compressed. An append stores its messages as they are, until those not yet in a
// block make up a block of Options.Block bytes. The append that completes a block stores it and
// deletes the single messages in its own transaction. So an append is durable with the class that
// it was made with, in a block or not, nothing is kept back, and no block is written twice. Small
// appends therefore write each message twice, large ones once.
//
// A message in a block is read by reading and decompressing the whole of it. A [Snapshot] keeps the
// last block, so that reading on from there costs a copy. Smaller blocks make random reads cheaper
// and compress worse; a dictionary made by [Train] makes up for most of that. It is kept in the
// feed: whoever opens it needs no dictionary.
//
// # Several processes
//
// Where the store allows it, several processes may append to and read one feed. In a store that is
// open in Exclusive mode there must be one Feed at a time over the same keys: it keeps the end of
// the feed in memory. In a store of a server there may be several.
package feed
