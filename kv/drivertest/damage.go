package drivertest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assaydb/assay/kv"
)

var damageCases = []tcase{
	{"a file of something else is refused and left alone", refusesForeignFile},
	{"what stands where the store's file or folder should be is refused and left alone", refusesForeignPlace},
	{"a store that lost the end of a file gives an error or what was written, never a crash", survivesTruncation},
	{"a store with a changed byte gives an error or opens, never a crash", survivesFlippedByte},
}

func refusesForeignFile(e *env) {
	e.needs(e.onDisk() && !e.info.Caps.Folder, "no file")
	for name, content := range map[string]string{
		"text":        strings.Repeat("This is a letter, not a database.\n", 300),
		"short text":  "This is a letter, not a database.\n",
		"noise":       string(noise(100_000, 1)),
		"short noise": string(noise(100, 2)),
	} {
		path := e.path(name)
		e.must(os.WriteFile(path, []byte(content), 0o600))
		db, err := kv.Open(ctx, e.url(name), kv.WithWeakest(e.class), kv.WithWait(0))
		if err == nil {
			e.must(db.Close())
			e.Errorf("%s was opened as a store", name)
		} else if k := kv.KindOf(err); k == kv.Busy || k == kv.NoStore {
			e.Errorf("%s: %v", name, err)
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != content {
			e.Errorf("%s was changed: %d bytes, %v", name, len(after), err)
		}
	}
}

func refusesForeignPlace(e *env) {
	e.needs(e.onDisk(), "the path is only a name")
	inside := e.path(filepath.Join("db", "letter.txt"))
	if e.info.Caps.Folder {
		inside = e.path("db")
	}
	e.must(os.MkdirAll(filepath.Dir(inside), 0o700))
	e.must(os.WriteFile(inside, []byte("a letter"), 0o600))
	db, err := kv.Open(ctx, e.url("db"), kv.WithWeakest(e.class), kv.WithWait(0))
	if err == nil {
		e.must(db.Close())
		e.Errorf("folder=%v, and the opposite was opened as a store", e.info.Caps.Folder)
	} else if !errors.Is(err, kv.Invalid) || kv.HintOf(err) == "" {
		e.Errorf("got %v, want invalid, with a hint", err)
	}
	if got, err := os.ReadFile(inside); string(got) != "a letter" {
		e.Errorf("the letter was changed: %q, %v", got, err)
	}
}

// survivesTruncation cuts each of the store's files at several lengths. What Check then passes must
// be true.
func survivesTruncation(e *env) {
	e.damage(func(size int64, files int) []change {
		var all []change
		for _, length := range []int64{0, 1, size / 3, size / 2, size - 4096, size - 10, size - 1} {
			if length >= 0 && length < size {
				all = append(all, change{fmt.Sprintf("cut from %d to %d bytes", size, length),
					func(f *os.File) error { return f.Truncate(length) }})
			}
		}
		return all
	}, "true")
}

// survivesFlippedByte changes a byte here and there. Most engines have no checksums: a changed
// value is no failure.
func survivesFlippedByte(e *env) {
	rng, flips := newRand(1), 80
	if testing.Short() {
		flips = 24
	}
	e.damage(func(size int64, files int) []change {
		var all []change
		for i := range flips/files + 1 {
			at := rng.Int64N(min(size, 128)) // headers first
			if i%4 != 0 {
				at = rng.Int64N(size)
			}
			all = append(all, change{fmt.Sprintf("byte at or after %d of %d changed", at, size),
				func(f *os.File) error { return flip(f, at) }})
		}
		return all
	}, "any")
}

// flip changes the first byte at or after at that is not zero; what an engine never wrote it does
// not read either.
func flip(f *os.File, at int64) error {
	buf := make([]byte, 1<<16)
	n, err := f.ReadAt(buf, at)
	if n == 0 {
		return err
	}
	i := max(0, bytes.IndexFunc(buf[:n], func(r rune) bool { return r != 0 }))
	_, err = f.WriteAt([]byte{^buf[i]}, at+int64(i))
	return err
}

// change is one thing done to a file of a store.
type change struct {
	what string
	do   func(f *os.File) error
}

// damage makes a store, and for each of its files and each change a copy with that one change,
// which a child opens, checks and reads: a crash of the engine is then a failure of this case, not
// the end of the test.
func (e *env) damage(changes func(size int64, files int) []change, believe string) {
	e.Helper()
	e.needs(e.onDisk(), "no files of its own")
	e.makeRecords("db")
	files := e.storeFiles("db")
	var c *child
	for _, file := range files {
		info, err := os.Stat(e.path(file))
		e.must(err)
		if info.Size() == 0 {
			continue
		}
		for _, ch := range changes(info.Size(), len(files)) {
			e.copyFiles(files, "db", "damaged")
			path := e.path("damaged" + strings.TrimPrefix(file, "db"))
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			e.must(err)
			e.must(ch.do(f))
			e.must(f.Close())
			if c == nil {
				c = e.spawn()
			}
			what := fmt.Sprintf("%s %s", file, ch.what)
			c.send("probe", e.url("damaged", "wait=0s"), e.class.String())
			r, why, ok := c.next()
			switch {
			case !ok:
				e.Errorf("%s: the process %s", what, why)
				c.kill()
				c = nil
			case r.Value == "wrong" && believe == "true":
				e.Errorf("%s: the store opens, passes its check and holds what nobody wrote: %s", what, r.Err)
			}
			e.removeStore("damaged")
		}
	}
}

// makeRecords leaves a closed store behind that holds the records 0 to 99.
func (e *env) makeRecords(name string) {
	e.Helper()
	db := e.openAs(name)
	for i := range 100 {
		e.must(commitRecord(db, e.class, i))
	}
	e.must(db.Close())
}

// storeFiles returns the regular files of the closed store called name, relative to the case's
// folder.
func (e *env) storeFiles(name string) []string {
	e.Helper()
	var files []string
	tops, err := filepath.Glob(e.path(name) + "*")
	e.must(err)
	for _, top := range tops {
		e.must(filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				rel, err := filepath.Rel(e.dir, path)
				e.must(err)
				files = append(files, rel)
			}
			return err
		}))
	}
	return files
}

// contents returns what is in the files of the closed store called name, but for empty ones.
func (e *env) contents(name string) map[string]string {
	e.Helper()
	all := map[string]string{}
	for _, file := range e.storeFiles(name) {
		content, err := os.ReadFile(e.path(file))
		e.must(err)
		if len(content) > 0 {
			all[file] = string(content)
		}
	}
	return all
}

func (e *env) removeStore(name string) {
	e.Helper()
	tops, err := filepath.Glob(e.path(name) + "*")
	e.must(err)
	for _, top := range tops {
		e.must(os.RemoveAll(top))
	}
}

// copyFiles copies the files of one store to the place of another, holes as holes.
func (e *env) copyFiles(files []string, from, to string) {
	e.Helper()
	for _, file := range files {
		target := e.path(to + strings.TrimPrefix(file, from))
		e.must(os.MkdirAll(filepath.Dir(target), 0o700))
		e.must(copySparse(e.path(file), target))
	}
}

func copySparse(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.Create(to)
	if err != nil {
		return err
	}
	defer dst.Close()
	var size int64
	zero, buf := string(make([]byte, 1<<16)), make([]byte, 1<<16)
	for {
		n, err := src.ReadAt(buf, size)
		if string(buf[:n]) != zero[:n] {
			if _, err := dst.WriteAt(buf[:n], size); err != nil {
				return err
			}
		}
		if size += int64(n); err != nil {
			return dst.Truncate(size)
		}
	}
}

// probe opens a store, checks it and reads what passed the check. The value "wrong" says that a
// pair is not one that was written.
func probe(url, class string) (value string, err error) {
	d, err := kv.ParseDurability(class)
	if err != nil {
		return "", err
	}
	db, err := kv.Open(ctx, url, kv.WithWeakest(d))
	if err != nil {
		return "", err
	}
	defer db.Close()
	if err := db.Check(ctx); err != nil {
		return "", err
	}
	err = db.View(ctx, func(s *kv.Snapshot) error {
		for k, v := range s.Scan(kv.Prefix([]byte("record"))) {
			var i, part int
			_, err := fmt.Sscanf(string(k), "record%d/%d", &i, &part)
			if err != nil || part < 0 || part >= parts(max(i, 0)) || string(v) != string(partValue(max(i, 0), part)) {
				value = "wrong"
				return fmt.Errorf("%q = %q", k, clipString(string(v)))
			}
		}
		return nil
	})
	return value, err
}
