//go:build cgo && !race && !asan

package sqldriver_test

const instrumented = false
