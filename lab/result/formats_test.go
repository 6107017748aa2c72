package result

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

func TestEveryFieldIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/formats.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[reflect.Type]bool{}
	var visit func(reflect.Type)
	visit = func(typ reflect.Type) {
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice:
			visit(typ.Elem())
			return
		case reflect.Struct:
		default:
			return
		}
		if seen[typ] || typ.PkgPath() != reflect.TypeFor[Run]().PkgPath() {
			return
		}
		seen[typ] = true
		for f := range typ.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "-" {
				continue
			}
			if name == "" {
				t.Errorf("%s.%s has no JSON name", typ.Name(), f.Name)
			}
			if !strings.Contains(string(page), "`"+name+"`") {
				t.Errorf("docs/formats.md does not tell of `%s` (%s.%s)", name, typ.Name(), f.Name)
			}
			visit(f.Type)
		}
	}
	visit(reflect.TypeFor[Run]())
	visit(reflect.TypeFor[Proof]())
	visit(reflect.TypeFor[Published]())
	visit(reflect.TypeFor[Comparison]())
	for _, unit := range units {
		if !strings.Contains(string(page), "`"+unit+"`") {
			t.Errorf("docs/formats.md does not tell of the unit `%s`", unit)
		}
	}
}

func TestPageFitsTheSchemas(t *testing.T) {
	page, err := os.ReadFile("../../docs/formats.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, schema := range []string{Schema, ProofSchema, StatesSchema, PublishedSchema, ComparisonSchema} {
		if !strings.Contains(string(page), "`"+schema+"`") {
			t.Errorf("docs/formats.md does not name the schema %s", schema)
		}
	}
}
