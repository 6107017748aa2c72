package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Names of the files that WriteProof writes.
const (
	ProofFile  = "prove.json"
	StatesFile = "states.json"
)

// StatesSchema names the format of the document that States are.
const StatesSchema = "assay.states/1"

type statesDocument struct {
	Schema string `json:"schema"`
	States States `json:"states"`
}

// WriteProof writes p and what it has Seen to dir, which is made if need be. Each file is replaced
// as a whole.
func WriteProof(dir string, p *Proof) error {
	path := filepath.Join(dir, ProofFile)
	document, err := MarshalProof(p)
	states, serr := json.Marshal(statesDocument{StatesSchema, p.Seen})
	if err = errors.Join(err, serr); err != nil {
		return &Error{Op: "write proof", Path: path, Err: err}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return &Error{Op: "write proof", Path: dir, Err: cause(err),
			Hint: "choose a folder that can be written: --out DIR"}
	}
	if err := replace(filepath.Join(dir, StatesFile), states); err != nil {
		return &Error{Op: "write proof", Path: filepath.Join(dir, StatesFile), Err: cause(err)}
	}
	if err := replace(path, document); err != nil { // the last: where it is, all is
		return &Error{Op: "write proof", Path: path, Err: cause(err)}
	}
	return nil
}

// ReadStates returns what the proof in dir has seen. The error is an [*Error].
func ReadStates(dir string) (States, error) {
	path := filepath.Join(dir, StatesFile)
	data, err := os.ReadFile(path)
	var d statesDocument
	if err == nil {
		err = decode(data, StatesSchema, StatesFile, &d)
	}
	if err != nil {
		return nil, &Error{Op: "read proof", Path: path, Err: cause(err),
			Hint: "name a folder that assay prove --out wrote"}
	}
	return d.States, nil
}

// MarshalProof returns p as the document that WriteProof writes: one line for each cell.
func MarshalProof(p *Proof) ([]byte, error) {
	if p.Schema != ProofSchema {
		return nil, fmt.Errorf("schema %q, want %q", p.Schema, ProofSchema)
	}
	head := *p
	head.Cells = []ProofCell{}
	document, err := json.MarshalIndent(head, "", "  ")
	if err != nil {
		return nil, err
	}
	document, ok := bytes.CutSuffix(document, []byte("[]\n}"))
	if !ok {
		return nil, errors.New("the cells are not the last field")
	}
	var b bytes.Buffer
	b.Write(document)
	b.WriteByte('[')
	for i, c := range p.Cells {
		line, err := json.Marshal(c)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n    ")
		b.Write(line)
	}
	if len(p.Cells) > 0 {
		b.WriteString("\n  ")
	}
	b.WriteString("]\n}\n")
	return b.Bytes(), nil
}

// ReadProof returns the proof in path, a folder that WriteProof wrote to or a document. The error
// is an [*Error].
func ReadProof(path string) (*Proof, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, ProofFile)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		e := &Error{Op: "read proof", Path: path, Err: cause(err)}
		if errors.Is(err, fs.ErrNotExist) {
			e.Hint = "name a folder that assay prove --out wrote, or its " + ProofFile
		}
		return nil, e
	}
	p, err := ParseProof(data)
	if e := (*Error)(nil); errors.As(err, &e) {
		e.Path = path
	}
	return p, err
}

// ParseProof returns the proof in a document. The error is an [*Error].
func ParseProof(data []byte) (*Proof, error) {
	p := new(Proof)
	if err := decode(data, ProofSchema, ProofFile, p); err != nil {
		return nil, err
	}
	return p, nil
}
