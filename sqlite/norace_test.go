//go:build cgo && !race

package sqlite_test

const raceEnabled = false
