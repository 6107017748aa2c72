//go:build cgo && race

package sqldriver_test

const raceEnabled = true
