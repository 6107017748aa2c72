//go:build asan

package result

func init() { instrumented = append(instrumented, "-asan") }
