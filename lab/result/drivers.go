package result

import (
	_ "embed"
	"encoding/json"
	"sync"
)

//go:embed drivers.json
var drivers []byte

// digests holds, by engine, the digest of the source of its driver and of all of ours that it rests
// on, kv among it. A test of cmd/assay holds the file against the source and writes it anew.
var digests = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	if err := json.Unmarshal(drivers, &all); err != nil {
		panic("drivers.json: " + err.Error()) // it is built in, and generated
	}
	return all
})

// DriverDigest returns the digest of the source of a shipped engine's driver, "" for any other engine.
func DriverDigest(engine string) string { return digests()[engine] }
