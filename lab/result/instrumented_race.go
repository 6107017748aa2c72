//go:build race

package result

func init() { instrumented = append(instrumented, "-race") }
