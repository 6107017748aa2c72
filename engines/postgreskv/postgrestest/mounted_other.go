//go:build !linux

package postgrestest

import (
	"errors"
	"syscall"
)

// dieWithParent does nothing: only Linux can tell a process of its parent's death.
func dieWithParent(attr *syscall.SysProcAttr) *syscall.SysProcAttr { return attr }

// removeShared does nothing: the next server on the folder removes what one that was killed left.
func removeShared(string) error { return nil }

// Mounted is an error: only Linux mounts file systems that can lose power.
func (s *Server) Mounted() error { return errors.ErrUnsupported }
