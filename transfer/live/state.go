package live

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

// Phase says which of the two stores is the truth.
type Phase uint8

const (
	Shadowed Phase = iota // the old store is the truth, the new one its shadow
	Flipped               // the new store is the truth, the old one its shadow
	Dropped               // the new store is the truth, and the old one is not opened any more
)

var phaseNames = []string{"shadowed", "flipped", "dropped"}

func (p Phase) String() string {
	if int(p) < len(phaseNames) {
		return phaseNames[p]
	}
	return fmt.Sprintf("phase(%d)", uint8(p))
}

// MarshalText returns the name of the phase.
func (p Phase) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText sets p to the phase with the name in text.
func (p *Phase) UnmarshalText(text []byte) error {
	for i, name := range phaseNames {
		if name == string(text) {
			*p = Phase(i)
			return nil
		}
	}
	return fmt.Errorf("unknown phase %q", text)
}

// sides returns the names of the truth and of the shadow, which is "" if there is none.
func (p Phase) sides() (truth, shadow string) {
	switch p {
	case Shadowed:
		return "old", "new"
	case Flipped:
		return "new", "old"
	}
	return "new", ""
}

// state is what a switch keeps in its file.
type state struct {
	Old    string `json:"old"` // URLs, as keep makes them
	New    string `json:"new"`
	Phase  Phase  `json:"phase"`
	InStep bool   `json:"in_step"` // both held the same when they were closed, and nothing has opened them since
}

// url returns the URL of the side called name.
func (st *state) url(name string) string {
	if name == "old" {
		return st.Old
	}
	return st.New
}

const (
	stateFile = "switch.json"
	freshFile = stateFile + ".fresh" // before it has got that name
	lockFile  = "lock"
)

// readState reads the file of the switch in dir. One that does not exist is fs.ErrNotExist.
func readState(dir string) (st state, err error) {
	text, err := os.ReadFile(filepath.Join(dir, stateFile))
	if err != nil {
		return st, err
	}
	body, sum, _ := bytes.Cut(text, []byte("\n"))
	if string(sum) != checksum(body) {
		return st, &kv.Error{Kind: kv.Corrupt, Err: fmt.Errorf("%s does not agree with its checksum", stateFile),
			Hint: "the two stores are untouched: open the one that is the truth by itself, and make a new switch"}
	}
	if err := json.Unmarshal(body, &st); err != nil {
		return st, &kv.Error{Kind: kv.Corrupt, Err: fmt.Errorf("%s: %w", stateFile, err)}
	}
	return st, nil
}

// write replaces the file of the switch in dir. After an error the file is the one before or st,
// which only a reader knows.
func (st *state) write(dir string) error {
	body, err := json.Marshal(st)
	if err != nil {
		return err
	}
	fresh := filepath.Join(dir, freshFile)
	if err := writeSynced(fresh, string(body)+"\n"+checksum(body)); err != nil {
		return err
	}
	if err := os.Rename(fresh, filepath.Join(dir, stateFile)); err != nil {
		return err
	}
	return driver.SyncDir(dir)
}

func writeSynced(path, text string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Sync(), f.Close())
}

// checksum is the second line of the file, of its first.
func checksum(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:]) + "\n"
}
