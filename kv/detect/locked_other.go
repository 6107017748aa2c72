//go:build !linux

package detect

func locked(string) (bool, error) { return false, nil }
