package record_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/record"
)

// article is a record of which one field changes often; in hotArticle that has a pair of its own.
type article struct {
	ID    int64  `record:"id"`
	Title string `record:"title"`
	Text  string `record:"text"`
	Views int64  `record:"views"`
}

type hotArticle struct {
	ID    int64  `record:"id"`
	Title string `record:"title"`
	Text  string `record:"text"`
	Views int64  `record:"views,hot"`
}

// articleWork is what a program does with articles, in one form or the other.
type articleWork map[string]func(i int64) error

func articlesOf[T any](b *testing.B, engine string, make func(id int64) T) articleWork {
	ctx := context.Background()
	db, err := kv.Open(ctx, engine+":"+filepath.Join(b.TempDir(), "store"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	c, err := record.Open[T](ctx, db, nil)
	if err != nil {
		b.Fatal(err)
	}
	var list []T
	for id := int64(1); id <= articles; id++ {
		if list = append(list, make(id)); len(list) == 500 {
			if err := c.PutAll(ctx, kv.Flushed, list); err != nil {
				b.Fatal(err)
			}
			list = list[:0]
		}
	}
	views, err := record.FieldOf[int64](c, "views")
	if err != nil {
		b.Fatal(err)
	}
	var v T
	return articleWork{
		"set":  func(i int64) error { return views.Set(ctx, kv.Flushed, record.Int(i), i) },
		"put":  func(i int64) error { v := make(i); return c.Put(ctx, kv.Flushed, &v) },
		"read": func(i int64) error { return c.Read(ctx, record.Int(i), &v) },
		"get":  func(i int64) error { _, err := views.Get(ctx, record.Int(i)); return err },
		"all100": func(i int64) error {
			for _, err := range c.All(ctx, record.Span{From: record.Int(i % (articles - 100)), Limit: 100}) {
				if err != nil {
					return err
				}
			}
			return nil
		},
		"sum": func(int64) error { _, err := record.Sum(ctx, views, record.Span{}); return err },
	}
}

const articles = 2000

// BenchmarkHotBesideWhole measures a hot field beside the same field within the record, in turns:
// hot/whole is the time of the one as a multiple of the other.
func BenchmarkHotBesideWhole(b *testing.B) {
	for _, engine := range []string{"bbolt", "pebble", "sqlite"} {
		for _, size := range []int{200, 4000} {
			text := strings.Repeat("text ", size/5)
			whole := articlesOf(b, engine, func(id int64) article {
				return article{id, fmt.Sprint("title ", id), text,
					id}
			})
			hot := articlesOf(b, engine, func(id int64) hotArticle {
				return hotArticle{id, fmt.Sprint("title ", id),
					text, id}
			})
			for _, op := range []string{"set", "put", "read", "get", "all100", "sum"} {
				b.Run(fmt.Sprintf("%s/%s/%d", op, engine, size), func(b *testing.B) {
					var took [2]time.Duration
					n := 0
					for i := int64(0); b.Loop(); i++ {
						id := 1 + i*7919%articles
						for turn := range 2 {
							which := (turn + n) % 2 // each goes first as often
							start := time.Now()
							if err := []articleWork{whole, hot}[which][op](id); err != nil {
								b.Fatal(err)
							}
							took[which] += time.Since(start)
						}
						n++
					}
					b.ReportMetric(float64(took[0])/float64(n), "whole-ns")
					b.ReportMetric(float64(took[1])/float64(n), "hot-ns")
					b.ReportMetric(float64(took[1])/float64(took[0]), "hot/whole")
				})
			}
		}
	}
}
