package badgerkv

import (
	"errors"
	"fmt"
	"strings"

	"github.com/dgraph-io/badger/v4"

	"github.com/assaydb/assay/kv/driver"
)

// texts tell the kind of an error that Badger wraps: y.Wrap keeps the text of the cause alone.
var texts = []struct {
	text string
	kind driver.Kind
	hint string
}{
	{"Another process is using this Badger database", driver.Busy, "close the other program or handle first"},
	{"no space left on device", driver.Full, "free some space, or use another folder"},
	{"not enough space on the disk", driver.Full, "free some space, or use another folder"},
	{"disk quota exceeded", driver.Full, "free some space, or use another folder"},
	{"permission denied", driver.Permission, "use a folder that you may write to"},
	{"Access is denied", driver.Permission, "use a folder that you may write to"},
	{"read-only file system", driver.Permission, "use a folder that you may write to"},
	{"checksum mismatch", driver.Corrupt, "restore a backup"},
	{"Log truncate required", driver.NotWritable, "the store was not closed: open it once for writing, which recovers it"},
}

// classify turns an error of Badger into one of package driver.
func classify(err error) error {
	known := func(kind driver.Kind, hint string) error { return &driver.Error{Kind: kind, Err: err, Hint: hint} }
	switch {
	case err == nil:
		return nil
	case err == badger.ErrKeyNotFound:
		return driver.NotFound
	case errors.As(err, new(*driver.Error)):
		return err
	case errors.Is(err, badger.ErrTxnTooBig):
		return known(driver.TooLarge, "split the transaction, or open the store with a larger MemTableSize")
	case errors.Is(err, badger.ErrInvalidKey):
		return known(driver.Invalid, `choose keys that do not begin with "!badger!"`)
	case errors.Is(err, badger.ErrDBClosed), errors.Is(err, badger.ErrBlockedWrites):
		return known(driver.Closed, "")
	case errors.Is(err, badger.ErrConflict):
		return known(driver.Conflict, "")
	}
	for _, t := range texts {
		if strings.Contains(err.Error(), t.text) {
			return known(t.kind, t.hint)
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
