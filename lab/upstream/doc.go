// Package upstream shows faults of the engines themselves, on a disk that fails or loses power. No
// code of kv is in between. It has tests alone, and docs/upstream.md tells of each what the
// engine's authors would want to know.
//
// A test passes as long as its fault is there: a driver in engines has a defence against it. It
// fails once the fault is gone, and then says which defence is needed no more.
package upstream
