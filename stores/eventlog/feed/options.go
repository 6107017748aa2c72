package feed

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/assaydb/assay/kv"
)

// Compression is how messages are made small.
type Compression uint8

// The ways to compress. They cost most where it is said.
const (
	Plain Compression = iota // not: each message is stored as it is
	Zstd                     // in blocks, by Zstandard: appends and random reads
)

// String returns "plain" or "zstd".
func (c Compression) String() string {
	if c == Zstd {
		return "zstd"
	}
	return "plain"
}

// Options is how a feed is kept. A nil *Options is the zero Options.
type Options struct {
	// Compression is fixed by the first append; another one is then Invalid.
	Compression Compression

	// Block is how many bytes of messages are compressed together; 0 is DefaultBlock, at most
	// MaxBlock. It may be another one each time the feed is opened.
	Block int

	// Dictionary is what blocks are compressed with, made by Train; nil is none. It is fixed by the
	// first append and kept in the feed: afterwards nil is the one that is kept, and another one is
	// Invalid.
	Dictionary []byte
}

// The size of blocks, in bytes of messages.
const (
	DefaultBlock = 16 << 10
	MaxBlock     = 1 << 20
)

// complete returns o with its defaults filled in, or what is wrong with it.
func (o *Options) complete() (Options, error) {
	var c Options
	if o != nil {
		c = *o
	}
	if c.Block == 0 {
		c.Block = DefaultBlock
	}
	switch {
	case c.Compression > Zstd:
		return c, invalid(fmt.Errorf("option Compression %d", c.Compression), "use Plain or Zstd")
	case c.Block < 0 || c.Block > MaxBlock:
		return c, invalid(fmt.Errorf("option Block %d", c.Block),
			fmt.Sprintf("give a number of bytes up to %d, or 0 for the default", MaxBlock))
	case c.Dictionary != nil && c.Compression == Plain:
		return c, invalid(errors.New("a dictionary, and no compression to use it"),
			"set Compression to Zstd, or leave the dictionary out")
	}
	return c, nil
}

// Meta describes a feed as a whole. It is stored with the first messages.
type Meta struct {
	Format      int    `json:"format"`
	Compression string `json:"compression"`
	Dictionary  []byte `json:"dictionary,omitempty"`
}

// The versions of the layout. A feed has the second once it was trimmed.
const (
	format        = 1
	formatTrimmed = 2
)

// meta returns what a feed with these options stores.
func (o *Options) meta() Meta {
	return Meta{Format: format, Compression: o.Compression.String(), Dictionary: o.Dictionary}
}

// match takes the dictionary from what is stored, or tells why the options do not fit it.
func (o *Options) match(stored *Meta) error {
	switch {
	case stored.Format != format && stored.Format != formatTrimmed:
		return &kv.Error{Op: "open feed", Kind: kv.Unsupported, Hint: "use a newer program",
			Err: fmt.Errorf("format %d, this program knows %d", stored.Format, formatTrimmed)}
	case stored.Compression != o.Compression.String():
		return invalid(fmt.Errorf("the feed was begun with Options.Compression %s", stored.Compression),
			"open it with the same")
	case o.Dictionary != nil && !bytes.Equal(o.Dictionary, stored.Dictionary):
		return invalid(errors.New("the feed was begun with another dictionary, or none"),
			"leave Options.Dictionary out: the feed keeps its own")
	}
	o.Dictionary = stored.Dictionary
	return nil
}

func invalid(err error, hint string) error {
	return &kv.Error{Op: "open feed", Kind: kv.Invalid, Err: err, Hint: hint}
}

func corrupt(err error) error { return &kv.Error{Op: "read feed", Kind: kv.Corrupt, Err: err} }
