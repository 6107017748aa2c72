//go:build !linux

package bench

func loadAverage() *float64 { return nil }

func processorTime() processors { return processors{} }
