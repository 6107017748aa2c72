package result

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

func TestPublishedIsReadAsItWasWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	ratio, bytes := 6.9, 1.5
	want := &Published{Schema: PublishedSchema, Command: []string{"assay"},
		Started: time.Now().UTC().Truncate(time.Second), Budget: time.Minute,
		Seed: 1<<64 - 1, Publications: []Publication{{Name: "hook",
			Parts: []Part{{Name: "published", Work: []string{"hook"}}},
			Lines: []Line{{Engine: "bbolt", Operation: "put", Figure: Figure{Value: 51, Unit: "us", Ratio: &ratio},
				Outcome:   More,
				Published: &Measurement{First: Side{Name: "bbolt", Bytes: &bytes}, Ratio: &Interval{1, 2, 3}}}}}}}
	if err := WritePublished(dir, want); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, filepath.Join(dir, PublishedFile)} {
		got, err := ReadPublished(path)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("read %+v, want %+v", got, want)
		}
	}
}

func TestReadPublishedRefusesWhatIsNone(t *testing.T) {
	dir := t.TempDir()
	var e *Error
	if _, err := ReadPublished(dir); !errors.Is(err, fs.ErrNotExist) || !errors.As(err, &e) || e.Hint == "" {
		t.Errorf("an empty folder: %v, want no such file, with a hint", err)
	}
	path := filepath.Join(dir, PublishedFile)
	for document, want := range map[string]error{
		"{": ErrNotResult, `{"schema": "assay.result/1"}`: ErrNotResult, `{"schema": "assay.published/2"}`: ErrNewer,
		`{"schema": "assay.published/1", "seed": "x"}`: ErrNotResult,
	} {
		if err := os.WriteFile(path, []byte(document), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadPublished(dir); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", document, err, want)
		}
	}
	if err := WritePublished(dir, &Published{}); err == nil {
		t.Error("a document without a schema was written")
	}
}
