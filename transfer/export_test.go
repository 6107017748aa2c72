package transfer

// Full is when a transaction of a copy ends.
var Full = full

// MarkOf is markOf.
func MarkOf(path string) (string, error) { return markOf(path) }
