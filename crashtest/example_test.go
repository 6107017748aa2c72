package crashtest_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/assaydb/assay/crashtest"
)

// counter is a number in a file that is replaced by each change.
type counter struct{ path string }

func (c counter) Close() error { return nil }

func (c counter) value() (int, error) {
	text, err := os.ReadFile(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(text))
}

func (c counter) set(n int) error {
	f, err := os.Create(c.path + ".new")
	if err != nil {
		return err
	}
	_, err = f.WriteString(strconv.Itoa(n))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(c.path+".new", c.path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(c.path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func TestCounter(t *testing.T) {
	crashtest.Run(t, crashtest.Store[counter]{
		Open: func(dir string) (counter, error) { return counter{filepath.Join(dir, "counter")}, nil },
		Do:   func(c counter, i int) error { return c.set(i + 1) },
		Check: func(c counter, h crashtest.History) error {
			n, err := c.value()
			if err != nil {
				return err
			}
			if len(h.Maybe) > 0 && n == h.Maybe[0]+1 {
				return nil
			}
			want := 0
			if len(h.Done) > 0 {
				want = h.Done[len(h.Done)-1] + 1
			}
			if n != want {
				return fmt.Errorf("the counter is %d, want %d", n, want)
			}
			return nil
		},
	}, &crashtest.Options{Strict: true}) // it syncs its folder, too
}

// A store is tested as TestCounter does, in a function of a test: three functions, and nil for the
// defaults.
func Example() {
	TestStore := func(t *testing.T) {
		crashtest.Run(t, crashtest.Store[counter]{
			Open:  func(dir string) (counter, error) { return counter{filepath.Join(dir, "counter")}, nil },
			Do:    func(c counter, i int) error { return c.set(i + 1) },
			Check: func(c counter, h crashtest.History) error { return nil }, // what is promised of h.Done and h.Maybe
		}, nil)
	}
	_ = TestStore
}
