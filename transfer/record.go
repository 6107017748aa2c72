package transfer

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/assaydb/assay/kv/driver"
)

// record is what is kept beside a store that was moved there: of what the old one held then.
// Without it nobody could tell whether an older program has changed the old store since. It is
// written before the new store gets its name.
type record struct {
	From    string `json:"from"` // path of the old store, from the folder of the new one: both may be carried elsewhere
	Summary        // of the pairs that were moved, as Options.Change made them
	Mark    string `json:"mark,omitempty"` // of the old store's files when they held that; "" if nobody knows

	// Next is what the new store holds instead if what was changed in the old one is committed: who
	// is killed behind that commit cannot say so. Nil where nothing is under way.
	Next *Summary `json:"next,omitempty"`
}

// made reports whether a store that holds s is as it was made.
func (r *record) made(s Summary) bool { return r.Summary == s || r.Next != nil && *r.Next == s }

// recordPath is where the record of the store at path lies.
func recordPath(path string) string { return beside(path, ".moved") }

// relative returns how a record of the store at p's place names the old store at path.
func (p *partial) relative(path string) string {
	name, err := filepath.Rel(filepath.Dir(p.to), path)
	if err != nil {
		return path // on another volume
	}
	return filepath.ToSlash(name)
}

// readRecord returns the record of the store at path, nil if it has none.
func readRecord(path string) (*record, error) {
	text, err := os.ReadFile(recordPath(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	r := new(record)
	if err == nil {
		err = json.Unmarshal(text, r)
	}
	return r, err
}

// write keeps r beside the store at p's place, durably. p is this process's own. Whatever happens
// meanwhile, the record that was there or r is.
func (r *record) write(p *partial) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(p.dir, recordName))
	if err != nil {
		return err
	}
	_, err = file.Write(append(text, '\n'))
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), recordPath(p.to)); err != nil {
		return err
	}
	return driver.SyncDir(filepath.Dir(p.to))
}

// forget removes the record of a store that is no longer at path: another one comes there, which
// was not moved.
func forget(path string) error {
	if err := os.Remove(recordPath(path)); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	}
	return driver.SyncDir(filepath.Dir(path))
}

// coarse is how exact the times of files are on the coarsest file systems.
const coarse = 2 * time.Second

// markOf tells the state of a store's files by their names, sizes and times. As long as it is the
// same nobody has changed the store. It is "" for files that were changed so lately that another
// change might not show.
func markOf(path string) (string, error) {
	sum := sha256.New()
	var last time.Time
	add := func(name string, info fs.FileInfo) {
		if info.ModTime().After(last) {
			last = info.ModTime()
		}
		fmt.Fprintf(sum, "%q %d %d\n", strings.TrimPrefix(name, path), info.Size(), info.ModTime().UnixNano())
	}
	err := filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.EqualFold(d.Name(), "LOCK") {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				add(name, info)
			}
		}
		if name != path && errors.Is(err, fs.ErrNotExist) { // a program that has the store open removed it right now
			last, err = time.Now(), nil
		}
		return err
	})
	for _, suffix := range companions {
		if info, serr := os.Stat(path + suffix); serr == nil && suffix != "-shm" &&
			info.Size() > 0 { // readers change -shm
			add(path+suffix, info)
		}
	}
	if err != nil || time.Since(last) < coarse {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
