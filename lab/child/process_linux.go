package child

import "syscall"

// dieWithParent has the kernel kill the child, stopped or not, when the thread that started it
// ends. The Go runtime keeps its threads until the process ends, but for those that a goroutine
// locked and did not unlock; no parent has such.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
