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

func TestOptionsAreReadAndToldByOneTable(t *testing.T) {
	type options struct {
		text, color string
		yes         bool
		n           int32
		f           float64
		level       int
	}
	table := driver.Table[options]{
		driver.Text("text", "any", "some text", func(o *options) *string { return &o.text }),
		driver.Bool("yes", "or no", func(o *options) *bool { return &o.yes }),
		driver.Whole("n", "number", 3, "how many", func(o *options) *int32 { return &o.n }),
		driver.Number("f", "0 to 1", 0, 1, "how much", func(o *options) *float64 { return &o.f }),
		driver.OneWord("color", "of it", func(o *options) *string { return &o.color }, "red", "blue"),
		driver.OneOf("level", "of it", func(o *options) *int { return &o.level },
			driver.Named[int]{Name: "LOW", Value: 1}, driver.Named[int]{Name: "HIGH", Value: 9}).WithDefault("by need"),
	}
	defaults := options{color: "red", n: 7, level: 1}
	o := defaults
	params := map[string]string{"text": "a", "yes": "true", "n": "12", "f": "0.5", "color": "blue", "level": "HIGH"}
	if err := table.Read(params, &o); err != nil || o != (options{"a", "blue", true, 12, 0.5, 9}) {
		t.Errorf("got %+v, %v", o, err)
	}
	for _, s := range table.Settings(&o) {
		if params[s.Name] != s.Value {
			t.Errorf("%s is told as %s, want %s", s.Name, s.Value, params[s.Name])
		}
	}
	list := table.Options(defaults)
	names := ""
	for _, one := range list {
		names += one.Name + "=" + one.Default + " "
	}
	if want := "color=red f=0 level=by need n=7 text= yes=false "; names != want {
		t.Errorf("got the options %q, want %q", names, want)
	}
	for name, value := range map[string]string{"yes": "x", "n": "2", "f": "1.5", "color": "green", "level": "low"} {
		err := table.Read(map[string]string{name: value}, &o)
		if driver.KindOf(err) != driver.Invalid || !strings.Contains(err.Error(), name+"="+value) ||
			driver.HintOf(err) == "" {
			t.Errorf("%s=%s: got %v with hint %q", name, value, err, driver.HintOf(err))
		}
	}
	if err := table.Read(map[string]string{"n": "99999999999"}, &o); driver.KindOf(err) != driver.Invalid {
		t.Errorf("a number that does not fit: got %v", err)
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
	if d, ok := driver.Lookup("test-a+1.x"); !ok || d != driver.Driver(named("test-a+1.x")) ||
		!slices.Contains(driver.Names(), "test-a+1.x") {
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
