package kv_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

// folder is an engine over mem whose files are whatever lies at its path.
type folder struct{ fail error }

var theFolder = new(folder)

func init() { driver.Register(theFolder) }

func (*folder) Info() driver.Info {
	info := new(spy).Info()
	info.Name, info.Companions = "folder", []string{"-gone", "-log"}
	return info
}

func (f *folder) Open(ctx context.Context, c driver.Config) (driver.Store, error) {
	mem, _ := driver.Lookup("mem")
	inner, err := mem.Open(ctx, c)
	return &folderStore{spyStore{inner, f.Info().Caps}, f, c.Path}, err
}

type folderStore struct {
	spyStore
	*folder
	path string
}

func (s *folderStore) Backup(_ context.Context, path string) error {
	return errors.Join(
		os.MkdirAll(filepath.Join(path, "sub"), 0o700),
		os.WriteFile(filepath.Join(path, "sub", "copy"), []byte("copy"), 0o600),
		s.fail)
}

func openFolder(t *testing.T) (db *kv.DB, path string) {
	theFolder.fail = nil
	t.Cleanup(func() { theFolder.fail = nil })
	path = filepath.Join(t.TempDir(), "store")
	return mustOpen(t, "folder:"+filepath.ToSlash(path)), path
}

func TestSizeCountsFilesInFoldersAndHolesAsNothing(t *testing.T) {
	db, path := openFolder(t)
	if size, err := db.Size(); size != (kv.Size{}) || err != nil {
		t.Errorf("nothing there: got %+v, %v", size, err)
	}
	if err := os.MkdirAll(filepath.Join(path, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(path, "sub", "data"), make([]byte, 10_000), 0o600); err != nil {
		t.Fatal(err)
	}
	hole, err := os.Create(filepath.Join(path, "hole"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(hole.Truncate(1<<20), hole.Close()); err != nil {
		t.Fatal(err)
	}
	size, err := db.Size()
	if size.Files != 2 || size.Apparent != 1<<20+10_000 || size.Allocated < 8192 || err != nil {
		t.Errorf("got %+v, %v", size, err)
	}
	if err := os.WriteFile(path+"-log", make([]byte, 10), 0o600); err != nil {
		t.Fatal(err)
	}
	if size, err := db.Size(); size.Files != 3 || size.Apparent != 1<<20+10_010 || err != nil {
		t.Errorf("with a companion: got %+v, %v", size, err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		t.Skipf("NOT TESTED: no links here: %v", err)
	}
	if size, err := mustOpen(t, "folder:"+filepath.ToSlash(link)).Size(); size.Files != 3 || err != nil {
		t.Errorf("through a link: got %+v, %v", size, err)
	}
	if err := errors.Join(os.RemoveAll(filepath.Dir(path)), os.WriteFile(filepath.Dir(path), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if size, err := db.Size(); err == nil {
		t.Errorf("beside a file in place of its folder: got %+v and no error", size)
	}
}

func TestBackupIsTheWholeCopyOrNothing(t *testing.T) {
	db, path := openFolder(t)
	target := path + "-backup"
	if err := os.WriteFile(target+".partial", []byte("of another program"), 0o600); err != nil {
		t.Fatal(err)
	}
	theFolder.fail = errDisk
	err := db.Backup(ctx, target)
	if !errors.Is(err, errDisk) {
		t.Errorf("got %v", err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(target), "*"))
	if kept := target + ".partial"; len(left) != 1 || left[0] != kept || err != nil {
		t.Errorf("got %v (%v), want %s alone, which is another program's", left, err, kept)
	}
	theFolder.fail = nil
	if err := db.Backup(ctx, target); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(target, "sub", "copy")); string(got) != "copy" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	err = db.Backup(ctx, target)
	wantKind(t, "backup to a path that exists", err, kv.Invalid)
	if kv.HintOf(err) == "" {
		t.Errorf("%v: no hint", err)
	}
}

func TestBackupOfAStoreInMemoryIsUnsupported(t *testing.T) {
	path := filepath.Join(t.TempDir(), "backup")
	err := openMem(t).Backup(ctx, path)
	wantKind(t, "backup", err, kv.Unsupported)
	if _, err := os.Lstat(path); err == nil {
		t.Errorf("%s was made", path)
	}
}

// unread is an engine without a check of its own, whose cursors give pairs and then fail.
type unread struct {
	pairs []string
	fail  error
}

var theUnread unread

func init() { driver.Register(&theUnread) }

func (*unread) Info() driver.Info {
	info := new(spy).Info()
	info.Name = "unread"
	return info
}

func (u *unread) Open(ctx context.Context, c driver.Config) (driver.Store, error) {
	mem, _ := driver.Lookup("mem")
	inner, err := mem.Open(ctx, c)
	return &unreadStore{spyStore{inner, u.Info().Caps}}, err
}

type unreadStore struct{ spyStore }

func (s *unreadStore) Snapshot(ctx context.Context) (driver.Reader, error) {
	r, err := s.spyStore.Snapshot(ctx)
	return unreadReader{r}, err
}

type unreadReader struct{ driver.Reader }

func (unreadReader) Cursor(driver.Range) (driver.Cursor, error) {
	c := theUnread
	return &c, nil
}

func (u *unread) Next() (key, value []byte, err error) {
	if len(u.pairs) == 0 {
		return nil, nil, u.fail
	}
	k := u.pairs[0]
	u.pairs = u.pairs[1:]
	return []byte(k), nil, nil
}

func (*unread) Close() error { return nil }

func TestCheckReadsEveryPairWhereTheEngineHasNoCheck(t *testing.T) {
	t.Cleanup(func() { theUnread = unread{} })
	db := mustOpen(t, "unread:p")
	theUnread = unread{pairs: []string{"a", "b", "c"}}
	if err := db.Check(ctx); err != nil {
		t.Errorf("of pairs in order: %v", err)
	}
	theUnread.fail = errDisk
	if err := db.Check(ctx); !errors.Is(err, errDisk) {
		t.Errorf("of a store whose end cannot be read: got %v", err)
	}
	for _, pairs := range [][]string{{"a", "c", "b"}, {"a", "b", "b"}} {
		theUnread = unread{pairs: pairs}
		err := db.Check(ctx)
		wantKind(t, "check", err, kv.Corrupt)
		if kv.HintOf(err) == "" {
			t.Errorf("%v: no hint", err)
		}
	}
}

func TestEachEndsWhereKeysAreNotInOrder(t *testing.T) {
	t.Cleanup(func() { theUnread = unread{} })
	db := mustOpen(t, "unread:p")
	stop := errors.New("stop")
	for _, c := range []struct {
		pairs   []string
		reverse bool
		until   string // do fails there
		fail    error  // the engine's, at the end
		seen    string
		is      error
	}{
		{pairs: []string{"a", "b", "c"}, seen: "abc"},
		{pairs: []string{"c", "b", "a"}, reverse: true, seen: "cba"},
		{pairs: []string{"a", "b", "c"}, until: "b", seen: "ab", is: stop},
		{pairs: []string{"a", "b"}, fail: errDisk, seen: "ab", is: errDisk},
		{pairs: []string{"a", "c", "b"}, seen: "ac", is: kv.Corrupt},
		{pairs: []string{"a", "b", "b"}, seen: "ab", is: kv.Corrupt},
		{pairs: []string{"c", "a", "b"}, reverse: true, seen: "ca", is: kv.Corrupt},
		{pairs: []string{"c", "c"}, reverse: true, seen: "c", is: kv.Corrupt},
	} {
		theUnread = unread{pairs: c.pairs, fail: c.fail}
		seen := ""
		err := db.View(ctx, func(s *kv.Snapshot) error {
			return s.Each(kv.Range{Reverse: c.reverse}, func(k, _ []byte) error {
				if seen += string(k); string(k) == c.until {
					return stop
				}
				return nil
			})
		})
		if seen != c.seen || !errors.Is(err, c.is) || err != nil && c.is == nil {
			t.Errorf("%+v: saw %q, %v", c, seen, err)
		}
	}
}
