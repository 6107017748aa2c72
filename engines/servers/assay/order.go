package main

import (
	"fmt"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/assaydb/assay/lab/prove"
)

// serial is a store of cells, one transaction after the other: what a history is compared with.
var serial = porcupine.Model{
	Init: func() any { return [prove.Cells]uint64{} },
	Step: func(state, input, _ any) (bool, any) {
		now, t := state.([prove.Cells]uint64), input.(prove.Transaction)
		if !t.Open() {
			for cell, value := range t.Reads {
				if now[cell] != value {
					return false, state
				}
			}
		}
		for cell, value := range t.Writes {
			now[cell] = value
		}
		return true, now
	},
	DescribeOperation: func(input, _ any) string { return fmt.Sprintf("%+v", input) },
}

// explain is prove.Servers.Explain by porcupine.
func explain(all []prove.Transaction) (explained, checked bool) {
	var history []porcupine.Operation
	for _, t := range all {
		history = append(history,
			porcupine.Operation{ClientId: max(t.Client, 0), Input: t, Call: t.Call, Return: t.Return})
	}
	result := porcupine.CheckOperationsTimeout(serial, history, 2*time.Minute)
	return result == porcupine.Ok, result != porcupine.Unknown
}
