package result

import (
	_ "embed"
	"slices"
	"sync"
)

//go:embed shipped.json
var shipped []byte

// Shipped returns the proof of the shipped engines that the program was built with. It is not to be
// changed.
var Shipped = sync.OnceValues(func() (*Proof, error) { return ParseProof(shipped) })

// saidLength is how much of what an engine said is shipped.
const saidLength = 120

// ShipProof writes p to file in the form in which it is shipped: without the commands and seeds of
// what nobody promised, and with the first words of what an engine said.
func ShipProof(file string, p *Proof) error {
	small := *p
	small.Cells = slices.Clone(p.Cells)
	for i := range small.Cells {
		c := &small.Cells[i]
		if said := []rune(c.What); len(said) > saidLength {
			c.What = string(said[:saidLength]) + "…"
		}
		for _, f := range []*Finding{&c.Keeps, &c.Whole} {
			if !f.Claimed {
				f.Command, f.Seed = "", 0
			}
		}
	}
	document, err := MarshalProof(&small)
	if err == nil {
		err = replace(file, document)
	}
	if err != nil {
		return &Error{Op: "ship proof", Path: file, Err: cause(err)}
	}
	return nil
}
