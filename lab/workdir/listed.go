package workdir

import (
	"fmt"
	"os"
	"path/filepath"
)

// mostFiles is how many files of a folder are named.
const mostFiles = 40

// Listed says what is in the folder dir and below, for people: "wal 4096 bytes", "tables/". Of many
// files it names some.
func Listed(dir string) (files []string) {
	_ = filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error { // what cannot be read is not told
		if err != nil || name == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, name) // name is below dir
		if d.IsDir() {
			rel += "/"
		} else {
			rel += fmt.Sprintf(" %d bytes", info.Size())
		}
		files = append(files, rel)
		return nil
	})
	if more := len(files) - mostFiles; more > 0 {
		files = append(files[:mostFiles], fmt.Sprintf("and %d more", more))
	}
	return files
}
