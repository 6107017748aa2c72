package recordtest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/assaydb/assay/stores/record"
)

// Rich is a record made of other values, some of which change often.
type Rich struct {
	ID int64 `record:"id"`
	Stamps
	Home   Address          `record:"home"`
	Tags   []string         `record:"tags"`
	Lines  []Line           `record:"lines"`
	Scores map[string]int64 `record:"scores"`
	Parts  map[int16]*Line  `record:"parts"`
	Best   *Address         `record:"best"`
	Rank   *int32           `record:"rank"`
	Hash   [4]byte          `record:"hash"`
	Blob   []byte           `record:"blob"`
	Code   string           `record:"code"`
	Visits int64            `record:"visits,hot"`
	Seen   []int32          `record:"seen,hot"`
}

// Stamps is embedded in Rich.
type Stamps struct {
	Created time.Time `record:"created"`
	Changed time.Time `record:"changed,hot"`
}

// Address is a struct within Rich, and behind a pointer.
type Address struct {
	Street string `record:"street"`
	Zip    *int32 `record:"zip"`
}

// Line is an element of a slice and of a map.
type Line struct {
	SKU   string   `record:"sku"`
	Count int32    `record:"count"`
	Price *float64 `record:"price"`
	Notes []string `record:"notes"`
}

// Richer is Rich as a later program has it: fields are added, dropped and renamed, also within
// others; what was hot is not, and the other way round.
type Richer struct {
	ID int64 `record:"id"`
	Stamps
	Address NewAddress         `record:"address,was=home"`
	Tags    []string           `record:"tags,hot"`
	Lines   []NewLine          `record:"lines"`
	Scores  map[string]int64   `record:"scores"`
	Parts   map[int16]*NewLine `record:"parts"`
	Rank    *int32             `record:"rank"`
	Hash    [4]byte            `record:"hash"`
	Blob    []byte             `record:"blob,hot"`
	Code    string             `record:"code"`
	Hits    int64              `record:"hits,was=visits"`
	Seen    []int32            `record:"seen"`
	Extra   []string           `record:"extra"`
}

// NewAddress is Address with a field renamed, and one more.
type NewAddress struct {
	Road string `record:"road,was=street"`
	Zip  *int32 `record:"zip"`
	City string `record:"city"`
}

// NewLine is Line with a field less, one renamed, and one more.
type NewLine struct {
	Amount int32    `record:"amount,was=count"`
	Unit   string   `record:"unit"`
	SKU    string   `record:"sku"`
	Notes  []string `record:"notes"`
}

// richIndexes are over slices, pointers, hot fields, and unique.
var richIndexes = []record.Index{
	{Name: "by_tag", Fields: []string{"tags"}},
	{Name: "by_seen", Fields: []string{"seen", "visits"}},
	{Name: "by_rank", Fields: []string{"rank"}},
	{Name: "by_code", Fields: []string{"code"}, Unique: true},
	{Name: "by_visits", Fields: []string{"visits"}},
	{Name: "by_street", Fields: []string{"home.street", "tags"}},
}

// some returns one of: nil, none, or up to 3 of what each returns.
func some[E any](r *rand.Rand, each func() E) []E {
	n := r.IntN(5) - 1
	if n < 0 {
		return nil
	}
	list := make([]E, 0, n)
	for range n {
		list = append(list, each())
	}
	return list
}

// maybe returns nil, or a pointer to v.
func maybe[E any](r *rand.Rand, v E) *E {
	if r.IntN(3) == 0 {
		return nil
	}
	return &v
}

func text(r *rand.Rand) string {
	return []string{"", "a", "a\x00", "b", "bb", "c<&>", "é", fmt.Sprint("long ", r.Uint64(), string(make([]byte,
		r.IntN(200))))}[r.IntN(8)]
}

func line(r *rand.Rand) Line {
	return Line{SKU: text(r), Count: r.Int32(), Price: maybe(r, r.NormFloat64()), Notes: some(r,
		func() string { return text(r) })}
}

// rich returns a random record with an id.
func rich(r *rand.Rand, id int64) Rich {
	at := func() time.Time { return time.Unix(r.Int64N(1<<33), r.Int64N(1e9)).UTC() }
	v := Rich{
		ID: id, Stamps: Stamps{at(), at()}, Home: Address{text(r), maybe(r, r.Int32())},
		Tags: some(r, func() string { return string(rune('a' + r.IntN(4))) }), Lines: some(r,
			func() Line { return line(r) }),
		Best: maybe(r, Address{text(r), maybe(r, r.Int32())}), Rank: maybe(r, r.Int32N(5)-2),
		Blob: some(r, func() byte { return byte(r.Uint32()) }), Code: fmt.Sprint("code ", r.IntN(60)),
		Visits: r.Int64N(10) - 5, Seen: some(r, func() int32 { return r.Int32N(6) - 3 }),
	}
	for i := range v.Hash {
		v.Hash[i] = byte(r.Uint32())
	}
	for i, n := 0, r.IntN(5); i < n; i++ {
		if i == 0 {
			v.Scores, v.Parts = map[string]int64{}, map[int16]*Line{}
			continue
		}
		v.Scores[text(r)] = r.Int64()
		v.Parts[int16(r.IntN(9)-4)] = maybe(r, line(r))
	}
	return v
}

// richer returns what a Richer reads of v.
func richer(v Rich) Richer {
	var lines []NewLine
	if v.Lines != nil {
		lines = []NewLine{}
	}
	newLine := func(l Line) NewLine { return NewLine{Amount: l.Count, SKU: l.SKU, Notes: l.Notes} }
	for _, l := range v.Lines {
		lines = append(lines, newLine(l))
	}
	var parts map[int16]*NewLine
	if v.Parts != nil {
		parts = map[int16]*NewLine{}
	}
	for k, l := range v.Parts {
		parts[k] = nil
		if l != nil {
			n := newLine(*l)
			parts[k] = &n
		}
	}
	return Richer{ID: v.ID, Stamps: v.Stamps, Address: NewAddress{Road: v.Home.Street, Zip: v.Home.Zip}, Tags: v.Tags,
		Lines:  lines,
		Scores: v.Scores, Parts: parts, Rank: v.Rank, Hash: v.Hash, Blob: v.Blob, Code: v.Code, Hits: v.Visits,
		Seen: v.Seen}
}
