package recordtest

import (
	"fmt"
	"time"
)

// Item has a field of most kinds.
type Item struct {
	ID      int64     `record:"id"`
	Name    string    `record:"name"`
	Group   int32     `record:"group"`
	Balance float64   `record:"balance"`
	Ratio   float32   `record:"ratio"`
	Active  bool      `record:"active"`
	Count   uint16    `record:"count"`
	At      time.Time `record:"at"`
	Blob    []byte    `record:"blob"`
	Note    string    `record:"note"`
}

// Fewer is Item without some fields.
type Fewer struct {
	ID      int64   `record:"id"`
	Name    string  `record:"name"`
	Balance float64 `record:"balance"`
}

// More is Item with more fields, in another order.
type More struct {
	Added   string    `record:"added"`
	Level   uint8     `record:"level"`
	Note    string    `record:"note"`
	Blob    []byte    `record:"blob"`
	At      time.Time `record:"at"`
	Count   uint16    `record:"count"`
	Active  bool      `record:"active"`
	Ratio   float32   `record:"ratio"`
	Balance float64   `record:"balance"`
	Group   int32     `record:"group"`
	Name    string    `record:"name"`
	ID      int64     `record:"id"`
}

// Other is a type with a field that has another kind in Item.
type Other struct {
	ID      int64  `record:"id"`
	Balance string `record:"balance"`
}

// Alike is Fewer with a field whose name differs from one of Item in case alone.
type Alike struct {
	ID      int64   `record:"id"`
	Name    string  `record:"name"`
	Balance float64 `record:"balance"`
	Note    int64   `record:"Note"`
}

// Text has a string as its id.
type Text struct {
	Key   string `record:"key,id"`
	Value int    `record:"value"`
}

// item returns the record with an id in one of its versions.
func item(id int64, version int) Item {
	n := id*31 + int64(version)*17
	v := Item{
		ID: id, Name: fmt.Sprintf("name %d", id), Group: int32(n%5) - 2, Balance: float64(n) * 1.25,
		Ratio:  float32(n%100) / 3,
		Active: n%2 == 0, Count: uint16(n & 0xffff), At: time.Unix(1_700_000_000+n%1_000_000, n&0xffff).UTC(),
		Note: fmt.Sprintf("note %d of %d", version, id),
	}
	if n%3 != 0 {
		v.Blob = fmt.Appendf(nil, "\x00%d\xff", n)
	}
	return v
}

// more returns v as a More.
func more(v Item, added string, level uint8) More {
	return More{Added: added, Level: level, Note: v.Note, Blob: v.Blob, At: v.At, Count: v.Count, Active: v.Active,
		Ratio:   v.Ratio,
		Balance: v.Balance, Group: v.Group, Name: v.Name, ID: v.ID}
}
