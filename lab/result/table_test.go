package result

import (
	"fmt"
	"reflect"
	"testing"
)

func TestTablesKeepPromisesApartAndMarkWhatIsUnproved(t *testing.T) {
	cell := func(workload, operation, delivered string, intact bool, proof string) Cell {
		name := "bbolt"
		if proof == Unproved {
			name = "mine"
		}
		return Cell{Engine: name, Ranked: proof != "floor", Workload: workload, Operation: operation,
			Promise: Promise{Requested: "flushed", Delivered: delivered, Intact: intact, Proof: proof}}
	}
	var got []string
	for _, t := range Tables([]Cell{
		cell("hook", "get", "read", true, ""), cell("hook", "get", "read", false, ""),
		cell("hook", "put", "flushed", false, "proved"), cell("events", "append1", "synced", true, "proved"),
		cell("hook", "put", "synced", true, "proved"), cell("hook", "put", "synced", true, "unproved"),
		cell("hook", "put", "synced", true, "disproved"), cell("records", "put", "synced", true, "unproved"),
		cell("hook", "put", "synced", true, "floor"), cell("hook", "put", "buffered", false, "floor"),
		cell("hook", "put", "flushed", true, "proved"), cell("hook", "delete", "synced", true, "proved"),
	}) {
		got = append(got, fmt.Sprint(t.Workload, " ", t.Promise.Label(), " ", t.Promise.Proof, t.Unproved, t.Groups))
	}
	want := []string{
		"hook synced-intact proved[mine] [{put [4 5 8]} {delete [11]}]",
		"hook synced-intact disproved[] [{put [6]}]",
		"hook flushed-intact proved[] [{put [10]}]",
		"hook flushed proved[] [{put [2]}]",
		"hook buffered floor[] [{put [9]}]",
		"hook read [] [{get [0 1]}]",
		"events synced-intact proved[] [{append1 [3]}]",
		"records synced-intact unproved[] [{put [7]}]",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}
