package live_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/assaydb/assay/kv"
)

// BenchmarkCommit commits through a switch, and through each of its two stores alone.
func BenchmarkCommit(b *testing.B) {
	for _, class := range []kv.Durability{kv.Synced, kv.Flushed} {
		dir := b.TempDir()
		for _, c := range []struct{ name, url string }{
			{"bbolt", "bbolt:" + filepath.Join(dir, "bbolt")},
			{"pebble", "pebble:" + filepath.Join(dir, "pebble")},
			{"switch", "switch:" + filepath.Join(dir, "switch") + "?old=bbolt&new=pebble"},
		} {
			b.Run(fmt.Sprint(class, " ", c.name), func(b *testing.B) {
				db, err := kv.Open(b.Context(), c.url)
				if err != nil {
					b.Fatal(err)
				}
				defer db.Close()
				value := make([]byte, 100)
				for i := 0; b.Loop(); i++ {
					if err := db.Put(b.Context(), class, fmt.Appendf(nil, "%06d", i%10_000), value); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkGet reads through a switch, with and without comparing, and through its truth alone.
func BenchmarkGet(b *testing.B) {
	dir := b.TempDir()
	for _, c := range []struct{ name, url string }{
		{"bbolt", "bbolt:" + filepath.Join(dir, "bbolt")},
		{"switch", "switch:" + filepath.Join(dir, "plain") + "?old=bbolt&new=pebble&compare=false"},
		{"switch that compares", "switch:" + filepath.Join(dir, "compares") + "?old=bbolt&new=pebble"},
	} {
		b.Run(c.name, func(b *testing.B) {
			db, err := kv.Open(b.Context(), c.url)
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			var batch kv.Batch
			for i := range 10_000 {
				batch.Put(fmt.Appendf(nil, "%06d", i), make([]byte, 100))
			}
			if err := db.Write(b.Context(), kv.Synced, &batch); err != nil {
				b.Fatal(err)
			}
			for i := 0; b.Loop(); i++ {
				if _, err := db.Get(b.Context(), fmt.Appendf(nil, "%06d", i%10_000)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
