package state_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	_ "github.com/assaydb/assay/kv/memkv"
	"github.com/assaydb/assay/stores/state"
)

func TestNewRefusesMistakes(t *testing.T) {
	one := []state.Bucket{{Name: "a"}}
	for what, c := range map[string]struct {
		url  string
		o    *state.Options
		kind kv.Kind
		hint string
	}{
		"an engine that was not imported": {"pogreb:dir", &state.Options{Buckets: one}, kv.Invalid, "engines/pogrebkv"},
		"no engine":                       {"dir", &state.Options{Buckets: one}, kv.Invalid, "ENGINE:PATH"},
		"no folder":                       {"bbolt:", &state.Options{Buckets: one}, kv.Invalid, "bbolt:FOLDER"},
		"an engine that forgets":          {"mem:dir", &state.Options{Buckets: one}, kv.Unsupported, "bbolt"},
		"a mode":                          {"bbolt:dir?mode=ro", &state.Options{Buckets: one}, kv.Invalid, "Options"},
		"an unknown option": {"bbolt:dir?NoSink=true", &state.Options{Buckets: one}, kv.Invalid,
			"NoSync"},
		"no options":              {"bbolt:dir", nil, kv.Invalid, "Buckets"},
		"a bucket without a name": {"bbolt:dir", &state.Options{Buckets: []state.Bucket{{}}}, kv.Invalid, "name"},
		"a bucket twice": {"bbolt:dir", &state.Options{Buckets: []state.Bucket{{Name: "a"},
			{Name: "a", Kind: state.Cache}}}, kv.Invalid, "once"},
		"an unknown kind": {"bbolt:dir", &state.Options{Buckets: []state.Bucket{{Name: "a", Kind: 9}}},
			kv.Invalid, "state.Cache"},
		"a state that expires": {"bbolt:dir", &state.Options{Buckets: []state.Bucket{{Name: "a", TTL: 1}}},
			kv.Invalid, "Cache"},
		"a negative TTL": {"bbolt:dir", &state.Options{Buckets: []state.Bucket{{Name: "a", Kind: state.Cache,
			TTL: -1}}}, kv.Invalid, "TTL"},
		"a negative wait": {"bbolt:dir", &state.Options{Buckets: one, Wait: -1}, kv.Invalid, "0"},
		"a file outside": {"bbolt:dir", &state.Options{Buckets: one,
			Files: map[state.Kind]string{state.Cache: "../x"}}, kv.Invalid, "path"},
		"one file for two kinds": {"bbolt:dir", &state.Options{Buckets: one,
			Files: map[state.Kind]string{state.Cache: "state.db"}}, kv.Invalid, "own"},
	} {
		store, err := state.New(c.url, c.o)
		if store != nil || kv.KindOf(err) != c.kind || !strings.Contains(kv.HintOf(err), c.hint) {
			t.Errorf("%s: got %v with hint %q, want %v with a hint of %q", what, err, kv.HintOf(err), c.kind, c.hint)
		}
	}
}

func TestHomeIsWhereTheSystemWantsIt(t *testing.T) {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		t.Skip("the variables are those of other Unix systems")
	}
	t.Setenv("HOME", "/home/ada")
	for set, want := range map[string]string{"": "bbolt:/home/ada/.local/state/my%20tool",
		"relative": "bbolt:/home/ada/.local/state/my%20tool",
		"/state":   "bbolt:/state/my%20tool"} {
		t.Setenv("XDG_STATE_HOME", set)
		if got, err := state.Home("my tool"); got != want || err != nil {
			t.Errorf("XDG_STATE_HOME=%q: got %s, %v, want %s", set, got, err, want)
		}
	}
	for _, name := range []string{"", "..", "a/b"} {
		if _, err := state.Home(name); kv.KindOf(err) != kv.Invalid {
			t.Errorf("%q: got %v, want invalid", name, err)
		}
	}
}

func TestFilesMayHaveOtherNames(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "with space & 100%")
	path := strings.NewReplacer("%", "%25", " ", "%20").Replace(filepath.ToSlash(dir))
	store, err := state.New("bbolt:"+path+"?FreelistType=hashmap", &state.Options{Buckets: []state.Bucket{{Name: "a"}},
		Files: map[state.Kind]string{state.State: "check points?.bolt"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Put(t.Context(), "a", []byte("k"), []byte("v")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "check points?.bolt")); err != nil {
		t.Error(err)
	}
	if v, err := store.Get(t.Context(), "a", []byte("k")); string(v) != "v" || err != nil {
		t.Errorf("got %q, %v", v, err)
	}
}

func TestTheLoggerIsTold(t *testing.T) {
	dir := t.TempDir()
	var text bytes.Buffer
	store, err := state.New("bbolt:"+dir, &state.Options{Buckets: []state.Bucket{{Name: "c", Kind: state.Cache,
		TTL: time.Hour}},
		Logger: slog.New(slog.NewTextHandler(&text, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cache.db"), bytes.Repeat([]byte("?"), 10_000), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := store.Put(context.Background(), "c", []byte("k"), []byte("v")); err != nil {
		t.Fatal(err)
	}
	if got := text.String(); !strings.Contains(got, "set aside") || !strings.Contains(got, "cache.db.damaged-") ||
		strings.Count(got, "\n") != 1 {
		t.Errorf("the log is %q", got)
	}
}
