//go:build !linux

package powerfs

import "errors"

func workOn(string, []string) error { return errors.New("there are no mounts on this system") }
