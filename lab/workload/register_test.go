package workload_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/workload"
)

// visits is a workload of one operation: the counter of one page goes up. It is the smallest that
// is checked.
var visits = workload.Workload{
	Name:    "visits",
	Summary: "a web server counts the visits of its pages",
	Params:  visitsParams,
	Ops: []workload.Op{{Name: "visit", Summary: "add one to the counter of a page", Commits: true, Core: true,
		New: func(env workload.Env) (workload.Runner, error) {
			pages, err := env.Count(visitsParams, "pages", 1, 1e6)
			if err != nil {
				return nil, err
			}
			return workload.OnKV(env, &visiting{class: env.Durability, counts: make([]uint64, pages)}), nil
		}}},
}

var visitsParams = []workload.Param{{Name: "pages", Default: "1k", Usage: "pages that are counted"}}

// visiting knows what the store must hold.
type visiting struct {
	class  kv.Durability
	counts []uint64 // of each page
	first  int      // the page of the slice's first visit
	n      int      // visits in the slice
}

func key(page int) []byte { return fmt.Appendf(nil, "/page/%07d", page) }

func (v *visiting) Load(ctx context.Context, db *kv.DB) error {
	var b kv.Batch
	for page := range v.counts {
		b.Put(key(page), make([]byte, 8))
	}
	return db.Write(ctx, v.class, &b)
}

func (v *visiting) Prepare(n int) error { v.first, v.n = v.first+v.n, n; return nil }

func (v *visiting) Do(ctx context.Context, db *kv.DB, _, i int) error {
	page := (v.first + i) % len(v.counts)
	v.counts[page]++
	return db.Update(ctx, v.class, func(tx *kv.Tx) error {
		value, err := tx.Get(key(page))
		if err != nil {
			return err
		}
		return tx.Put(key(page), binary.BigEndian.AppendUint64(nil, binary.BigEndian.Uint64(value)+1))
	})
}

func (v *visiting) Verify(ctx context.Context, db *kv.DB) error {
	return db.View(ctx, func(s *kv.Snapshot) error {
		for page, want := range v.counts {
			if value, err := s.Get(key(page)); err != nil || binary.BigEndian.Uint64(value) != want {
				return fmt.Errorf("page %d: %x, want %d: %w", page, value, want, err)
			}
		}
		return nil
	})
}

// A program registers its workloads before it calls assay.Main; assay.Config does it, too.
func ExampleRegister() {
	workload.Register(visits)
	w, _ := workload.Lookup("visits")
	fmt.Println(w.Name, w.Ops[0].Name, w.Forms[0].Name)
	// Output: visits visit kv
}

func TestAnOwnWorkloadRunsOnARealEngine(t *testing.T) {
	r, err := visits.Ops[0].New(workload.Env{Dir: t.TempDir(), Engine: "bbolt",
		Params: map[string]string{"pages": "7"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	do(r.Setup(ctx))
	for range 2 {
		do(r.Prepare(10))
		for i := range 10 {
			do(r.Do(ctx, 0, i))
		}
		do(r.Verify(ctx))
	}
	if d := r.Describe(); d.Open <= 0 || d.Promise.Class != kv.Synced {
		t.Errorf("described as %+v", d)
	}
	do(r.Close())
}

func TestAWrongParameterOfAnOwnWorkloadIsInvalid(t *testing.T) {
	_, err := visits.Ops[0].New(workload.Env{Params: map[string]string{"pages": "many"}})
	if !errors.Is(err, kv.Invalid) || !strings.Contains(kv.HintOf(err), "from 1 to") {
		t.Errorf("got %v, hint %q", err, kv.HintOf(err))
	}
}

func TestAnOwnWorkloadHasHelpersOfItsOwn(t *testing.T) {
	w := visits
	w.Name = "visits-of-processes"
	w.Helper = func(_ context.Context, args []string, in io.Reader, out io.Writer) error {
		said, err := io.ReadAll(in)
		fmt.Fprintf(out, "%s %s", args, said)
		return err
	}
	workload.Register(w)
	var out strings.Builder
	err := workload.Helper(t.Context(), []string{w.Name, "a", "b"}, strings.NewReader("hello"), &out)
	if err != nil || out.String() != "[a b] hello" {
		t.Errorf("got %q, %v", &out, err)
	}
}

func TestRegisterRefusesMistakes(t *testing.T) {
	right := visits.Ops[0]
	for want, change := range map[string]func(*workload.Workload){
		"a name has letters": func(w *workload.Workload) { w.Name = "my load" },
		"no summary":         func(w *workload.Workload) { w.Summary = "" },
		"no operations":      func(w *workload.Workload) { w.Ops = nil },
		"has no New":         func(w *workload.Workload) { w.Ops = []workload.Op{{Name: "a"}} },
		"stands there twice": func(w *workload.Workload) { w.Ops = []workload.Op{right, right} },
		"negative": func(w *workload.Workload) {
			w.Ops = []workload.Op{{Name: "a", New: right.New,
				Workers: -1}}
		},
		"it needs a name":       func(w *workload.Workload) { w.Params = []workload.Param{{Name: "a"}} },
		"registered twice":      func(w *workload.Workload) { w.Name = "ycsb" },
		`operation "a/b": a na`: func(w *workload.Workload) { w.Ops = []workload.Op{{Name: "a/b", New: right.New}} },
	} {
		w := visits
		w.Name = "wrong"
		change(&w)
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
					t.Errorf("got %q, want %q", got, want)
				}
			}()
			workload.Register(w)
		}()
	}
}
