//go:build !linux && !darwin && !windows

package result

func kernel() string { return "" }

func processor() string { return "" }

func memory() int64 { return 0 }

func fileSystem(string) string { return "" }

func device(string) string { return "" }
