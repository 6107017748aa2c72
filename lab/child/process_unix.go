//go:build unix

package child

import (
	"os/exec"
	"syscall"
)

// CanStop tells that children can be stopped while another one runs.
const CanStop = true

// isolate gives the child a process group of its own, so that Ctrl-C at the terminal reaches the
// parent alone. A child that runs notices the death of the parent by the end of its input. One that
// is stopped belongs to a group that is orphaned then, and is sent SIGHUP and SIGCONT by the
// kernel, unless it was just about to stop: see dieWithParent.
func isolate(cmd *exec.Cmd) {
	separate(cmd)
	dieWithParent(cmd.SysProcAttr)
}

// separate gives the child a process group of its own.
func separate(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// suspend stops the process until resume.
func suspend(cmd *exec.Cmd) error { return syscall.Kill(cmd.Process.Pid, syscall.SIGSTOP) }

func resume(cmd *exec.Cmd) error { return syscall.Kill(cmd.Process.Pid, syscall.SIGCONT) }

// killTree kills the process group: the child and the processes that a workload started.
func killTree(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
