package cli

type compareFlags struct{ json bool }

func (a *app) compareKept(args []string, f compareFlags) error { return nil }
