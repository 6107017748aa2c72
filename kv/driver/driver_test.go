package driver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assaydb/assay/kv/driver"
)

func TestParamsKeepTheFirstMistake(t *testing.T) {
	values := map[string]string{"text": "a", "yes": "true", "n": "12", "f": "0.5", "color": "red", "bad": "x"}
	p := driver.NewParams(values)
	if p.String("text", "") != "a" || !p.Bool("yes", false) || p.Int("n", 0, 0) != 12 || p.Float("f", 0, 0) != 0.5 ||
		p.OneOf("color", "blue", "blue", "red") != "red" || !p.Has("text") {
		t.Error("a value was read wrongly")
	}
	if p.String("-", "d") != "d" || !p.Bool("-", true) || p.Int("-", -7, 0) != -7 || p.Float("-", -0.5, 0) != -0.5 ||
		p.OneOf("-", "blue", "blue") != "blue" || p.Has("-") {
		t.Error("a default was not used")
	}
	if p.Err() != nil {
		t.Errorf("got %v", p.Err())
	}
	for what, read := range map[string]func(p *driver.Params){
		"bad=x":     func(p *driver.Params) { p.Bool("bad", true) },
		"n=12":      func(p *driver.Params) { p.Int("n", 0, 13) },
		"text=a":    func(p *driver.Params) { p.Int("text", 0, 0) },
		"f=0.5":     func(p *driver.Params) { p.Float("f", 0, 0.6) },
		"color=red": func(p *driver.Params) { p.OneOf("color", "blue", "blue", "green") },
	} {
		p := driver.NewParams(values)
		read(p)
		p.Bool("text", true)
		err := p.Err()
		if driver.KindOf(err) != driver.Invalid || !strings.Contains(err.Error(), what) || driver.HintOf(err) == "" {
			t.Errorf("%s: got %v with hint %q", what, err, driver.HintOf(err))
		}
	}
}

func TestKindsOfOtherErrors(t *testing.T) {
	_, missing := os.Open(filepath.Join(t.TempDir(), "missing"))
	for _, c := range []struct {
		err  error
		want driver.Kind
	}{
		{nil, driver.Other},
		{errors.New("else"), driver.Other},
		{missing, driver.NoStore},
		{fs.ErrPermission, driver.Permission},
		{context.DeadlineExceeded, driver.Canceled},
		{fmt.Errorf("wrapped: %w", driver.Busy), driver.Busy},
		{fmt.Errorf("wrapped: %w", &driver.Error{Kind: driver.Corrupt, Err: driver.Busy}), driver.Corrupt},
	} {
		if got := driver.KindOf(c.err); got != c.want {
			t.Errorf("%v: got %v, want %v", c.err, got, c.want)
		}
	}
	if got := driver.Kind(200).Error(); got != "error" {
		t.Errorf("an unknown kind: got %q", got)
	}
}

func TestClassesAndModesAreTextInJSON(t *testing.T) {
	type both struct {
		Class driver.Durability
		Mode  driver.Mode
	}
	for _, class := range driver.Durabilities {
		text, err := json.Marshal(both{class, driver.Shared})
		if want := fmt.Sprintf(`{"Class":%q,"Mode":"shared"}`, class); string(text) != want || err != nil {
			t.Errorf("got %s, %v, want %s", text, err, want)
		}
		var d driver.Durability
		if err := d.UnmarshalText([]byte(class.String())); d != class || err != nil {
			t.Errorf("%v came back as %v, %v", class, d, err)
		}
	}
	d := driver.Flushed
	if err := d.UnmarshalText([]byte("none")); driver.KindOf(err) != driver.Invalid || d != driver.Flushed {
		t.Errorf("got %v, %v", d, err)
	}
	if driver.Durability(9).String() != "durability(9)" || driver.Mode(9).String() != "mode(9)" {
		t.Error("unknown values are not named")
	}
}

func TestWeakestIsTheCheapestClass(t *testing.T) {
	yes := driver.Promise{Supported: true}
	for _, c := range []struct {
		promises [3]driver.Promise
		want     driver.Durability
	}{
		{[3]driver.Promise{yes, yes, yes}, driver.Buffered},
		{[3]driver.Promise{yes, yes, {}}, driver.Flushed},
		{[3]driver.Promise{yes, {}, {}}, driver.Synced},
		{[3]driver.Promise{{}, {}, yes}, driver.Buffered},
	} {
		if got := (driver.Caps{Promises: c.promises}).Cheapest(); got != c.want {
			t.Errorf("%v: got %v, want %v", c.promises, got, c.want)
		}
	}
	if (driver.Caps{Promises: [3]driver.Promise{yes, yes, yes}}).Promise(77).Supported {
		t.Error("an unknown class is supported")
	}
}

type named string

func (n named) Info() driver.Info { return driver.Info{Name: string(n)} }
func (n named) Open(context.Context, driver.Config) (driver.Store, error) {
	return nil, driver.Unsupported
}

func TestRegisterRefusesMistakes(t *testing.T) {
	driver.Register(named("test-a+1.x"))
	for _, name := range []named{"test-a+1.x", "", "Upper", "with space", "a:b", "ä"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q was registered", name)
				}
			}()
			driver.Register(name)
		}()
	}
	if d, ok := driver.Lookup("test-a+1.x"); !ok || d != driver.Driver(named("test-a+1.x")) || !slices.Contains(driver.Names(), "test-a+1.x") {
		t.Errorf("got %v, %v among %v", d, ok, driver.Names())
	}
}

func TestMakeDirsMakesWhatIsMissing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b", "c")
	for range 2 {
		if err := driver.MakeDirs(dir); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		t.Errorf("got %v, %v", info, err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := driver.MakeDirs(filepath.Join(file, "below")); err == nil {
		t.Error("a folder was made in a file")
	}
}
