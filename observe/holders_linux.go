package observe

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assaydb/assay/kv/detect/locks"
)

// holdersOf reads from the kernel who has locks of the files in roots.
func holdersOf(roots []string) ([]Holder, error) {
	names := map[string]string{} // by the file
	for _, root := range roots {
		_ = filepath.WalkDir(root, func(name string, _ fs.DirEntry, err error) error {
			if id := locks.ID(name); err == nil && id != "" {
				names[id] = name
			}
			return nil
		})
	}
	held, err := locks.Held()
	if err != nil {
		return nil, err
	}
	var list []Holder
	for _, l := range held {
		if names[l.File] == "" {
			continue
		}
		h := Holder{PID: l.PID, File: names[l.File], Write: l.Write}
		if comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", h.PID)); err == nil {
			h.Program = strings.TrimSpace(string(comm))
		}
		if i := slices.IndexFunc(list, func(l Holder) bool { return l.PID == h.PID && l.File == h.File }); i >= 0 {
			list[i].Write = list[i].Write || h.Write // several ranges of one file
		} else {
			list = append(list, h)
		}
	}
	return list, nil
}
