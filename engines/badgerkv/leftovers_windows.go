package badgerkv

// removeLeftovers does nothing: Badger's lock cannot be held meanwhile here, and another process
// may be just making an empty file.
func removeLeftovers(string) error { return nil }
