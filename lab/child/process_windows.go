package child

import "os/exec"

// CanStop tells that children cannot be stopped here while another one runs; the run says so in a
// warning.
const CanStop = false

func isolate(*exec.Cmd) {}

func separate(*exec.Cmd) {}

func suspend(*exec.Cmd) error { return nil }

func resume(*exec.Cmd) error { return nil }

func killTree(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
