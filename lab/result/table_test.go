package result

import (
	"fmt"
	"reflect"
	"testing"
)

func TestTablesKeepPromisesApart(t *testing.T) {
	cell := func(workload, operation, delivered string, intact bool, proof string) Cell {
		return Cell{Ranked: proof != "floor", Workload: workload, Operation: operation, Promise: Promise{Requested: "flushed", Delivered: delivered, Intact: intact, Proof: proof}}
	}
	var got []string
	for _, t := range Tables([]Cell{
		cell("hook", "get", "read", true, ""), cell("hook", "get", "read", false, ""),
		cell("hook", "put", "flushed", false, "proved"), cell("events", "append1", "synced", true, "proved"),
		cell("hook", "put", "synced", true, "proved"), cell("hook", "put", "synced", true, "unproved"),
		cell("hook", "put", "synced", true, "floor"), cell("hook", "put", "buffered", false, "floor"),
		cell("hook", "put", "flushed", true, "proved"), cell("hook", "delete", "synced", true, "proved"),
	}) {
		got = append(got, fmt.Sprint(t.Workload, " ", t.Promise.Label(), " ", t.Promise.Proof, t.Groups))
	}
	want := []string{
		"hook synced-intact proved[{put [4 6]} {delete [9]}]",
		"hook synced-intact unproved[{put [5]}]",
		"hook flushed-intact proved[{put [8]}]",
		"hook flushed proved[{put [2]}]",
		"hook buffered floor[{put [7]}]",
		"hook read [{get [0 1]}]",
		"events synced-intact proved[{append1 [3]}]",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}
