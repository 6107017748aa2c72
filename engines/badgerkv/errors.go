package badgerkv

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dgraph-io/badger/v4"

	"github.com/assaydb/assay/kv/driver"
)

// known tells the kind of an error of Badger by its text, as y.Wrap keeps no more of a cause.
var known = []struct {
	kind  driver.Kind
	hint  string
	texts []string
}{
	{driver.TooLarge, "split the transaction, or open the store with a larger MemTableSize",
		[]string{badger.ErrTxnTooBig.Error()}},
	{driver.Invalid, `choose keys that do not begin with "!badger!"`, []string{badger.ErrInvalidKey.Error()}},
	{driver.Closed, "", []string{badger.ErrDBClosed.Error()}},
	{driver.Conflict, "", []string{badger.ErrConflict.Error()}},
	{driver.Busy, "close the other program or handle first", []string{"Another process is using this Badger database"}},
	{driver.Full, "free some space, or use another folder",
		[]string{"no space left on device", "not enough space on the disk", "disk quota exceeded"}},
	{driver.Permission, "use a folder that you may write to",
		[]string{"permission denied", "Access is denied", "read-only file system"}},
	{driver.NoStore, "", []string{"for read-only open", "required for read-only db"}},
	{driver.NotWritable, "the store was not closed: open it once for writing, which recovers it",
		[]string{badger.ErrTruncateNeeded.Error()}},
	{driver.Corrupt, "restore a backup", []string{"checksum mismatch"}},
}

// classify turns an error of Badger into one of package driver.
func classify(err error) error {
	switch {
	case err == badger.ErrKeyNotFound:
		return driver.NotFound
	case err == nil, errors.As(err, new(*driver.Error)):
		return err
	}
	for _, k := range known {
		if slices.ContainsFunc(k.texts, func(t string) bool { return strings.Contains(err.Error(), t) }) {
			return &driver.Error{Kind: k.kind, Err: err, Hint: k.hint}
		}
	}
	return err
}

// classifyOpen is classify for Open, where what is left unexplained is one of the files' contents.
func classifyOpen(err error) error {
	if err = classify(err); driver.KindOf(err) != driver.Other {
		return err
	}
	return corrupt("%w", err)
}

func corrupt(format string, args ...any) error {
	return &driver.Error{Kind: driver.Corrupt, Err: fmt.Errorf(format, args...), Hint: "restore a backup"}
}

func panicked(p any) error { return corrupt("badger panics: %v", p) }
