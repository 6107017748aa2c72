package result

import (
	_ "embed"
	"sync"
)

//go:embed shipped.json
var shipped []byte

// Shipped returns the proof of the shipped engines that the program was built with. It is not to be changed.
var Shipped = sync.OnceValues(func() (*Proof, error) { return ParseProof(shipped) })
