package record

import (
	"fmt"
	"strings"
)

// Layout is how a record lies in the store.
type Layout uint8

// The layouts over kv. Package bboltnested has another one, a bucket for each record.
const (
	SingleKey    Layout = iota // one pair for each record, its value made by the codec
	MultiKV                    // one pair for each field, the key ending with the field's name
	MultiNumbers               // one pair for each field, the key ending with the field's number, a byte or two
)

var layoutNames = [...]string{"single", "multikv", "multikv-numbers"}

// String returns the layout's name: "single", "multikv" or "multikv-numbers".
func (l Layout) String() string {
	if int(l) < len(layoutNames) {
		return layoutNames[l]
	}
	return fmt.Sprintf("Layout(%d)", uint8(l))
}

// ParseLayout returns the layout called name. Any other name is Invalid.
func ParseLayout(name string) (Layout, error) {
	for i, n := range layoutNames {
		if n == name {
			return Layout(i), nil
		}
	}
	return 0, invalid("parse layout", fmt.Errorf("unknown layout %q", name), "use one of "+strings.Join(layoutNames[:], ", "))
}

// Options is how a collection is kept. A nil *Options is the zero Options, with which every default is the safest and
// the smallest.
type Options struct {
	// Name sets the collection apart from others in the same store. The collection without a name uses the keys that
	// begin with 'h', 'i' and 'r', those with names the keys that begin with 'c'.
	Name string

	Codec  Codec     // how fields become bytes; the layouts of many pairs know Binary alone
	Layout Layout    // how a record lies in the store
	Evolve Evolution // what to do if the collection was written with another type

	// Indexes are kept in the same transaction as the records. One that is new is built when the collection is opened.
	// An index stays, and is kept, until DropIndex: opening without it changes nothing.
	Indexes []Index

	// ZeroID makes 0 and "" ids like others. Without it a record that has one is taken for one
	// whose id was forgotten: Put refuses it, and Insert gives it the next number.
	ZeroID bool

	// Default is where fields come from that a record does not have because they were added later:
	// a *T, or nil for zero values. The default of a field is stored when it is added, and holds
	// however the collection is opened from then on: to ask for another one later is a Conflict, to
	// leave it out or zero changes nothing.
	Default any
}

// Index finds records by the values of fields.
type Index struct {
	Name   string   // unique in the collection; letters, digits and underscores
	Fields []string // their stored names, the most significant first
	Unique bool     // no two records may have the same values, empty ones included
}
