package advise

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

func TestEveryFieldIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/formats.md")
	if err != nil {
		t.Fatal(err)
	}
	_, page, ok := strings.Cut(string(text), "## The document of assay advise")
	page, _, _ = strings.Cut(page, "\n## ")
	if !ok || !strings.Contains(page, Schema) {
		t.Fatal("docs/formats.md has no part on advice")
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[Advice](), reflect.TypeFor[Needs](), reflect.TypeFor[Work](),
		reflect.TypeFor[Ranked](),
		reflect.TypeFor[Cost](), reflect.TypeFor[Removed](), reflect.TypeFor[Reason](), reflect.TypeFor[Relax]()} {
		for f := range typ.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" && !f.Anonymous {
				t.Errorf("%s.%s has no JSON name", typ.Name(), f.Name)
			}
			if !f.Anonymous && !strings.Contains(page, "`"+name+"`") {
				t.Errorf("docs/formats.md does not tell of `%s` (%s.%s)", name, typ.Name(), f.Name)
			}
		}
	}
}
