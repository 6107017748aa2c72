package cli

import (
	"context"
	"fmt"
	"io"
	"math/bits"
	"strings"
	"text/tabwriter"

	"github.com/assaydb/assay/kv"
)

// sizeShown is a class of sizes, and how many keys and values are of it.
type sizeShown struct {
	From   int   `json:"from"` // bytes, inclusive
	To     int   `json:"to"`   // bytes, inclusive
	Keys   int64 `json:"keys"`
	Values int64 `json:"values"`
}

// sizesShown is what the verb sizes tells.
type sizesShown struct {
	Pairs      int64       `json:"pairs"`
	KeyBytes   int64       `json:"key_bytes"`
	ValueBytes int64       `json:"value_bytes"`
	LongestKey int         `json:"longest_key"`
	Longest    int         `json:"longest_value"`
	Sizes      []sizeShown `json:"sizes"`
}

// add counts a pair. Class 0 is the size 0, class n the sizes of n bits.
func (s *sizesShown) add(key, value int) {
	s.Pairs++
	s.KeyBytes += int64(key)
	s.ValueBytes += int64(value)
	s.LongestKey, s.Longest = max(s.LongestKey, key), max(s.Longest, value)
	for n := len(s.Sizes); n <= max(bits.Len(uint(key)), bits.Len(uint(value))); n++ {
		s.Sizes = append(s.Sizes, sizeShown{From: 1 << n >> 1, To: 1<<n - 1})
	}
	s.Sizes[bits.Len(uint(key))].Keys++
	s.Sizes[bits.Len(uint(value))].Values++
}

// sizes shows histograms of the sizes of keys and values.
func (a *app) sizes(ctx context.Context, db *kv.DB, operands []string, f inspectFlags) error {
	r, err := f.keyRange(operands)
	if err != nil {
		return err
	}
	s := sizesShown{Sizes: []sizeShown{}}
	err = db.View(ctx, func(snapshot *kv.Snapshot) error {
		return snapshot.Each(r, func(k, v []byte) error {
			s.add(len(k), len(v))
			return nil
		})
	})
	if err != nil {
		return err
	}
	if f.asJSON {
		return writeJSON(a.stdout, s)
	}
	return printSizes(a.stdout, s)
}

func printSizes(w io.Writer, s sizesShown) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "bytes\tkeys\t\tvalues\t")
	var most int64
	for _, c := range s.Sizes {
		most = max(most, c.Keys, c.Values)
	}
	const width = 20
	bar := func(n int64) string {
		return strings.Repeat("#", int((n*width+most-1)/most)) // at least one for any
	}
	for _, c := range s.Sizes {
		if c.Keys == 0 && c.Values == 0 {
			continue
		}
		size := fmt.Sprintf("%d to %d", c.From, c.To)
		if c.From == c.To {
			size = fmt.Sprint(c.From)
		}
		fmt.Fprintf(t, "%s\t%d\t%s\t%d\t%s\n", size, c.Keys, bar(c.Keys), c.Values, bar(c.Values))
	}
	fmt.Fprintf(t, "in all\t%d\tlongest %d\t%d\tlongest %d\n", s.KeyBytes, s.LongestKey, s.ValueBytes, s.Longest)
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%d pairs\n", s.Pairs)
	return err
}
