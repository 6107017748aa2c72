//go:build cgo && (race || asan)

package sqlite_test

const instrumented = true
