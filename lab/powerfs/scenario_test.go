package powerfs

import (
	"fmt"
	"strings"
	"testing"
)

// doer does operations, by path: on a Disk, on a real file system, or in a history.
type doer interface {
	create(path string)
	mkdir(path string)
	write(path string, off int64, data string)
	truncate(path string, size int64)
	allocate(path string, off, n int64) // the file grows if it must
	punch(path string, off, n int64)
	sync(path string) // "" is the root
	unlink(path string)
	rmdir(path string)
	rename(from, to string)
	link(from, to string)
}

// bench is a Disk with paths, for tests.
type bench struct {
	t *testing.T
	d *Disk
}

func newBench(t *testing.T, o Options) bench {
	t.Helper()
	if o.SpillDir == "" {
		o.SpillDir = t.TempDir()
	}
	d, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return bench{t, d}
}

func (b bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b bench) id(path string) ID {
	b.t.Helper()
	dir, name := b.split(path)
	if name == "" {
		return dir
	}
	a, err := b.d.Lookup(dir, name)
	b.must(err)
	b.d.Forget(a.ID, 1)
	return a.ID
}

// split returns the folder of path, and its last name.
func (b bench) split(path string) (ID, string) {
	b.t.Helper()
	dir, start := Root, 0
	for i := range path {
		if path[i] == '/' {
			a, err := b.d.Lookup(dir, path[start:i])
			b.must(err)
			b.d.Forget(a.ID, 1)
			dir, start = a.ID, i+1
		}
	}
	return dir, path[start:]
}

func (b bench) create(path string) {
	b.t.Helper()
	dir, name := b.split(path)
	a, err := b.d.Create(dir, name, 0o644, Owner{})
	b.must(err)
	b.d.Forget(a.ID, 1)
}

func (b bench) mkdir(path string) {
	b.t.Helper()
	dir, name := b.split(path)
	a, err := b.d.Mkdir(dir, name, 0o755, Owner{})
	b.must(err)
	b.d.Forget(a.ID, 1)
}

func (b bench) write(path string, off int64, data string) {
	b.t.Helper()
	n, err := b.d.Write(b.id(path), off, []byte(data), FromCall)
	b.must(err)
	if n != len(data) {
		b.t.Fatalf("wrote %d of %d bytes", n, len(data))
	}
}

func (b bench) truncate(path string, size int64) {
	b.t.Helper()
	b.must(b.d.Truncate(b.id(path), size))
}

func (b bench) allocate(path string, off, n int64) {
	b.t.Helper()
	b.must(b.d.Fallocate(b.id(path), off, n, Extend))
}

func (b bench) punch(path string, off, n int64) {
	b.t.Helper()
	b.must(b.d.Fallocate(b.id(path), off, n, PunchHole))
}

func (b bench) sync(path string) { b.t.Helper(); b.must(b.d.Sync(b.id(path))) }

func (b bench) unlink(path string) {
	b.t.Helper()
	dir, name := b.split(path)
	b.must(b.d.Unlink(dir, name))
}

func (b bench) rmdir(path string) {
	b.t.Helper()
	dir, name := b.split(path)
	b.must(b.d.Rmdir(dir, name))
}

func (b bench) rename(from, to string) {
	b.t.Helper()
	dir, name := b.split(from)
	toDir, toName := b.split(to)
	b.must(b.d.Rename(dir, name, toDir, toName, Replace))
}

func (b bench) link(from, to string) {
	b.t.Helper()
	dir, name := b.split(to)
	a, err := b.d.Link(b.id(from), dir, name)
	b.must(err)
	b.d.Forget(a.ID, 1)
}

// tree is an image in one line: folders end in a slash, files have their content.
func tree(t *testing.T, img *Image) string {
	t.Helper()
	s := ""
	err := img.Walk(func(f File) error {
		switch {
		case f.Path == ".":
		case f.Mode.IsDir():
			s += f.Path + "/ "
		case f.Mode.IsRegular():
			data, err := f.Bytes()
			if err != nil {
				return err
			}
			s += fmt.Sprintf("%s=%s ", f.Path, brief(data))
		default:
			s += f.Path + "->" + f.Target + " "
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if s != "" {
		s = s[:len(s)-1]
	}
	return s
}

// brief writes runs of a byte as "4096×a"; zero is 0.
func brief(data []byte) string {
	s := ""
	for i := 0; i < len(data); {
		j := i
		for j < len(data) && data[j] == data[i] {
			j++
		}
		c := string(data[i])
		if data[i] == 0 {
			c = "0"
		}
		if j-i > 3 {
			s += fmt.Sprintf("%d×%s", j-i, c)
		} else {
			for range j - i {
				s += c
			}
		}
		i = j
	}
	return s
}

// scenarios are what a program does before the cut, and the least that must then be left (Nothing)
// under either rule for entries. What it had before is: folder d, file old=before, both durable.
var scenarios = []struct {
	name            string
	do              func(b doer)
	ordered, strict string
}{
	{"a file that was never synced is not there", func(b doer) {
		b.create("f")
		b.write("f", 0, "x")
	}, "d/ old=before", "d/ old=before"},
	{"a synced new file needs its folder's sync under strict", func(b doer) {
		b.create("f")
		b.write("f", 0, "x")
		b.sync("f")
	}, "d/ f=x old=before", "d/ old=before"},
	{"with the folder's sync it is there", func(b doer) {
		b.create("f")
		b.write("f", 0, "x")
		b.sync("f")
		b.sync("")
	}, "d/ f=x old=before", "d/ f=x old=before"},
	{"the folder's sync does not write the file's bytes", func(b doer) {
		b.create("f")
		b.write("f", 0, "x")
		b.sync("")
	}, "d/ f= old=before", "d/ f= old=before"},
	{"an overwrite is not durable", func(b doer) { b.write("old", 0, "BEF") }, "d/ old=before", "d/ old=before"},
	{"a synced overwrite is", func(b doer) {
		b.write("old", 0, "BEF")
		b.sync("old")
	}, "d/ old=BEFore", "d/ old=BEFore"},
	{"the sync of another file commits the truncation under ordered", func(b doer) {
		b.truncate("old", 2)
		b.create("f")
		b.sync("f")
	}, "d/ f= old=be", "d/ old=before"},
	{"a truncation to a greater size is zeroes", func(b doer) {
		b.truncate("old", 8)
		b.sync("old")
	}, "d/ old=before00", "d/ old=before00"},
	{"truncated to nothing and synced, nothing of the old bytes comes back", func(b doer) {
		b.truncate("old", 0)
		b.write("old", 4, "y")
		b.sync("old")
	}, "d/ old=4×0y", "d/ old=4×0y"},
	{"a replacing rename whose source was not synced does not take its data along", func(b doer) {
		b.create("new")
		b.write("new", 0, "after")
		b.rename("new", "old")
		b.create("f")
		b.sync("f")
	}, "d/ f= old=", "d/ old=before"},
	{"nor what was written after it", func(b doer) {
		b.create("new")
		b.write("new", 0, "after")
		b.rename("new", "old")
		b.write("old", 0, "A")
		b.sync("")
	}, "d/ old=", "d/ old="},
	{"a rename that replaces nothing does not take its data along", func(b doer) {
		b.create("new")
		b.write("new", 0, "after")
		b.rename("new", "newer")
		b.sync("d")
	}, "d/ old=before", "d/ old=before"},
	{"nor does it with its own folder's sync", func(b doer) {
		b.create("new")
		b.write("new", 0, "after")
		b.rename("new", "newer")
		b.sync("")
	}, "d/ newer= old=before", "d/ newer= old=before"},
	{"a created file moved to another folder arrives with that folder's sync", func(b doer) {
		b.create("f")
		b.write("f", 0, "x")
		b.sync("f")
		b.rename("f", "d/g")
		b.sync("d")
	}, "d/ d/g=x old=before", "d/ d/g=x old=before"},
	{"what was made before a rename took its name does not come back", func(b doer) {
		b.create("d/y")
		b.rename("old", "d/y")
		b.sync("")
		b.sync("d")
	}, "d/ d/y=before", "d/ d/y=before"},
	{"an unlink is durable after the folder's sync", func(b doer) {
		b.unlink("old")
		b.sync("")
	}, "d/", "d/"},
	{"an unlink alone is not", func(b doer) { b.unlink("old") }, "d/ old=before", "d/ old=before"},
	{"a hard link is the same file", func(b doer) {
		b.link("old", "d/two")
		b.sync("d")
		b.write("d/two", 0, "B")
		b.sync("old")
	}, "d/ d/two=Before old=Before", "d/ d/two=Before old=Before"},
	{"a folder in a folder needs both syncs under strict", func(b doer) {
		b.mkdir("e")
		b.create("e/f")
		b.sync("e/f")
		b.sync("e")
	}, "d/ e/ e/f= old=before", "d/ old=before"},
	{"a punched hole is durable after the file's sync", func(b doer) {
		b.punch("old", 1, 3)
		b.sync("old")
	}, "d/ old=b000re", "d/ old=b000re"},
	{"a hole that was not synced is not there", func(b doer) { b.punch("old", 1, 3) }, "d/ old=before",
		"d/ old=before"},
	{"an allocation that lets the file grow is durable after its sync", func(b doer) {
		b.allocate("old", 0, 9)
		b.sync("old")
	}, "d/ old=before000", "d/ old=before000"},
	{"one that was not synced is not", func(b doer) { b.allocate("old", 0, 9) }, "d/ old=before", "d/ old=before"},
	{"a truncation that was not synced is not", func(b doer) { b.truncate("old", 2) }, "d/ old=before",
		"d/ old=before"},
	{"truncated to nothing and written anew, the old bytes are safe until the sync", func(b doer) {
		b.truncate("old", 0)
		b.write("old", 0, "after")
	}, "d/ old=before", "d/ old=before"},
	{"truncated to nothing, written anew and committed by another's sync, nothing is left", func(b doer) {
		b.truncate("old", 0)
		b.write("old", 0, "after")
		b.create("f")
		b.sync("f")
	}, "d/ f= old=", "d/ old=before"},
	{"a rename alone is not durable", func(b doer) { b.rename("old", "new") }, "d/ old=before", "d/ old=before"},
	{"with the folder's sync it is", func(b doer) {
		b.rename("old", "new")
		b.sync("")
	}, "d/ new=before", "d/ new=before"},
	{"with the file's sync it is under ordered", func(b doer) {
		b.rename("old", "new")
		b.write("new", 0, "B")
		b.sync("new")
	}, "d/ new=Before", "d/ old=Before"},
	{"a replacing rename of a synced file", func(b doer) {
		b.create("new")
		b.write("new", 0, "after")
		b.sync("new")
		b.rename("new", "old")
		b.sync("")
	}, "d/ old=after", "d/ old=after"},
	{"a replacing rename without the folder's sync leaves the old file", func(b doer) {
		b.create("new")
		b.write("new", 0, "after")
		b.sync("new")
		b.rename("new", "old")
	}, "d/ new=after old=before", "d/ old=before"},
	{"a rename into another folder is in one of them, never in both or none", func(b doer) {
		b.rename("old", "d/old")
		b.sync("d")
	}, "d/ d/old=before", "d/ d/old=before"},
	{"a name that was unlinked and made anew is the new file", func(b doer) {
		b.unlink("old")
		b.create("old")
		b.write("old", 0, "new")
		b.sync("old")
		b.sync("")
	}, "d/ old=new", "d/ old=new"},
	{"a hard link that was not synced is not there", func(b doer) { b.link("old", "two") }, "d/ old=before",
		"d/ old=before"},
	{"one name of two removed, the other stays", func(b doer) {
		b.link("old", "d/two")
		b.unlink("old")
		b.write("d/two", 0, "B")
		b.sync("d/two")
		b.sync("d")
		b.sync("")
	}, "d/ d/two=Before", "d/ d/two=Before"},
	{"a folder in a folder, both synced", func(b doer) {
		b.mkdir("e")
		b.mkdir("e/s")
		b.create("e/s/f")
		b.write("e/s/f", 0, "x")
		b.sync("e/s/f")
		b.sync("e/s")
		b.sync("e")
		b.sync("")
	}, "d/ e/ e/s/ e/s/f=x old=before", "d/ e/ e/s/ e/s/f=x old=before"},
	{"a folder removed and synced is gone", func(b doer) {
		b.rmdir("d")
		b.sync("")
	}, "old=before", "old=before"},
	{"a folder takes along what is in it", func(b doer) {
		b.create("d/f")
		b.write("d/f", 0, "x")
		b.sync("d/f")
		b.sync("d")
		b.rename("d", "e")
		b.sync("")
	}, "e/ e/f=x old=before", "e/ e/f=x old=before"},
	{"of many pages, all are synced", func(b doer) {
		b.write("old", 0, strings.Repeat("a", 5*pageSize+1))
		b.sync("old")
	}, "d/ old=20481×a", "d/ old=20481×a"},
}

func TestNothingUnsyncedIsLeft(t *testing.T) {
	for _, c := range scenarios {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, Options{From: startingImage(t)})
			c.do(b)
			h := newChronicle()
			c.do(h)
			for _, r := range []struct {
				Entries
				want string
			}{{Ordered, c.ordered}, {Strict, c.strict}} {
				if got := tree(t, b.d.Crash().Image(Rule{r.Entries, Nothing}, 1)); got != r.want {
					t.Errorf("%v:\n got %s\nwant %s", r.Entries, got, r.want)
				}
			}
			for _, r := range Rules() {
				for seed := range uint64(5) {
					if why := h.forbids(r, b.d.Crash().Image(r, seed)); why != "" {
						t.Errorf("%v, seed %d: %s", r, seed, why)
					}
				}
			}
		})
	}
}

// startingImage holds folder d and file old=before.
func startingImage(t *testing.T) *Image {
	b := newBench(t, Options{})
	begin(b)
	return b.d.Crash().Image(Rule{}, 0)
}

func begin(b doer) {
	b.mkdir("d")
	b.create("old")
	b.write("old", 0, "before")
	b.sync("old")
	b.sync("")
}
