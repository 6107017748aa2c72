// Package locks reads the kernel's list of the locks that processes have of files. On systems other
// than Linux there is none.
package locks

// Lock is a lock that is held, and not waited for.
type Lock struct {
	PID   int    // -1 if it is not a process's but an open file's (OFD)
	Write bool   // it keeps out everybody
	File  string // as ID names it
}
