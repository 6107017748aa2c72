package duckdbkv

import "sync"

// claims are the files that this process has open. DuckDB's own lock, of the kind that belongs to a process, does not
// keep the same process out.
var claims = struct {
	sync.Mutex
	paths map[string]bool
}{paths: map[string]bool{}}

func claim(path string) bool {
	claims.Lock()
	defer claims.Unlock()
	if claims.paths[path] {
		return false
	}
	claims.paths[path] = true
	return true
}

func unclaim(path string) {
	claims.Lock()
	defer claims.Unlock()
	delete(claims.paths, path)
}
