package encodings

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/assaydb/assay/kv"
	_ "github.com/assaydb/assay/kv/memkv"
)

// Every form returns the users that were put, whole and in order, and the same sum.
func TestEveryFormKeepsUsers(t *testing.T) {
	const n = 50
	open := map[string]func(t *testing.T) Users{
		"nested": func(t *testing.T) Users {
			s, err := OpenNested(filepath.Join(t.TempDir(), "users"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			if err := s.Put(t.Context(), kv.Synced, []User{NewUser(9, n)}); err != nil {
				t.Fatal(err)
			}
			if err := s.Compact(t.Context()); err != nil {
				t.Fatal(err)
			}
			return s
		},
	}
	for _, f := range Forms {
		open[f.Name] = func(t *testing.T) Users {
			db, err := kv.Open(t.Context(), "mem:"+f.Name)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { db.Close() })
			users, err := Over(t.Context(), db, f.Name)
			if err != nil {
				t.Fatal(err)
			}
			return users
		}
	}
	for name, open := range open {
		t.Run(name, func(t *testing.T) {
			users, ctx := open(t), t.Context()
			var list []User
			for id := int64(1); id <= n; id++ {
				list = append(list, NewUser(1, id))
			}
			if err := users.Put(ctx, kv.Buffered, list); err != nil {
				t.Fatal(err)
			}
			list[6].Balance = -1.25
			if err := users.SetBalance(ctx, kv.Buffered, 7, -1.25); err != nil {
				t.Fatal(err)
			}
			var sum float64
			for i, want := range list {
				var got User
				if err := users.Read(ctx, want.ID, &got); err != nil || got != want {
					t.Fatalf("got %+v, %v, want %+v", got, err, want)
				}
				sum += list[i].Balance
			}
			if total, count, err := users.Sum(ctx); err != nil || total != sum || count != n {
				t.Errorf("the sum is %v of %d, %v, want %v of %d", total, count, err, sum, n)
			}
			at := 10
			err := users.Walk(ctx, 11, 5, func(u *User) error {
				if *u != list[at] {
					t.Errorf("walked to %+v, want %+v", *u, list[at])
				}
				at++
				return nil
			})
			if err != nil || at != 15 {
				t.Errorf("the walk ended at %d, %v, want 15", at, err)
			}
			absent(t, ctx, users)
		})
	}
}

func absent(t *testing.T, ctx context.Context, users Users) {
	t.Helper()
	var u User
	if err := users.Read(ctx, 1000, &u); kv.KindOf(err) != kv.NotFound {
		t.Errorf("read of an absent user: %v", err)
	}
	if err := users.SetBalance(ctx, kv.Buffered, 1000, 1); kv.KindOf(err) != kv.NotFound {
		t.Errorf("update of an absent user: %v", err)
	}
}

// Arbitrary bytes are an error or a user, never a panic.
func FuzzCodecs(f *testing.F) {
	codecs := []codec{namesCodec{}, messagePackCodec{}, protobufCodec{}, newJSON(), newCBOR(), gobCodec{},
		newSharedGob()}
	u := NewUser(1, 7)
	for i, c := range codecs {
		data, err := c.encode(nil, &u)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(i), data)
		f.Add(uint8(i), data[:len(data)/2])
	}
	f.Fuzz(func(t *testing.T, i uint8, data []byte) {
		c := codecs[int(i)%len(codecs)]
		var u User
		if err := c.decode(data, &u); err != nil && kv.KindOf(err) != kv.Corrupt {
			t.Errorf("%v, want corrupt", err)
		}
		_, _ = c.balance(data)
	})
}
