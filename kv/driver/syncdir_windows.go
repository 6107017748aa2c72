package driver

// SyncDir does nothing: Windows cannot sync a folder; NTFS journals its entries.
func SyncDir(string) error { return nil }
