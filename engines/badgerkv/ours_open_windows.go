package badgerkv

import "github.com/dgraph-io/badger/v4"

// removeLeftovers does nothing: Badger's lock cannot be held meanwhile here, and another process
// may be just making an empty file.
func removeLeftovers(badger.Options) error { return nil }
