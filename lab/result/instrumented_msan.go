//go:build msan

package result

func init() { instrumented = append(instrumented, "-msan") }
