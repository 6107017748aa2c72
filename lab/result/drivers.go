package result

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
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

// DriverDigest returns the digest of the source of a shipped engine's driver. Of any other engine
// it is that of the running program: a proof of it counts for the binary that made it, and no
// longer once something is changed. It is "" where the program cannot be read.
func DriverDigest(engine string) string {
	if d, ok := digests()[engine]; ok {
		return d
	}
	return programDigest()
}

var programDigest = sync.OnceValue(func() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return ""
	}
	return "program " + hex.EncodeToString(h.Sum(nil)[:16])
})
