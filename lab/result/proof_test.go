package result

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

var bbolt150 = Subject{URL: "bbolt:?NoSync=false&PageSize=4096", OS: "linux", Driver: "5eed",
	Modules: map[string]string{"go.etcd.io/bbolt": "v1.5.0"}}

// exampleProof proves that synced commits of bbolt survive everything.
func exampleProof() *Proof {
	p := &Proof{
		Schema: ProofSchema, Command: []string{"assay", "prove"}, Started: time.Date(2026, 11, 2, 3, 4, 5, 0, time.UTC),
		Took: time.Minute, Seed: 7,
		Warnings: []Warning{{Text: "no power was cut", Hint: "run it as root"}},
		Environment: Environment{OS: "linux", CPUs: 2, Modules: map[string]string{"go.etcd.io/bbolt": "v1.5.0",
			"modernc.org/sqlite": "v1.60.1"}},
	}
	p.Drivers = map[string]string{"bbolt": "5eed", "sqlite": "5e1f"}
	for _, f := range []struct{ fault, rule string }{
		{FaultKill, ""}, {FaultPower, "ordered/nothing"}, {FaultPower, "ordered/prefix"}, {FaultPower, "ordered/pages"},
		{FaultPower, "ordered/sectors"}, {FaultRecovery, "ordered/sectors"}, {FaultEIO, ""}, {FaultENOSPC, ""},
	} {
		p.Cells = append(p.Cells, ProofCell{
			Engine: "bbolt", URL: "bbolt:?PageSize=4096&NoSync=false", Requested: "synced", Delivered: "synced",
			Intact: true, Fault: f.fault, Rule: f.rule,
			Rounds: 10, Cuts: 10, Images: 100, States: 40, Acked: 5000, SyncsPerCommit: ptr(2.0),
			LostAge: time.Millisecond,
			Keeps:   Finding{Claimed: true, Verdict: Proved, UpperBound: 0.03},
			Whole:   Finding{Claimed: true, Verdict: Proved, UpperBound: 0.03},
		})
	}
	p.Cells = append(p.Cells, ProofCell{
		Engine: "bbolt", URL: "bbolt:?PageSize=4096&NoSync=false", Requested: "synced", Delivered: "synced",
		Intact: true, Fault: FaultPower, Rule: "strict/sectors",
		Images: 100, Broken: 3, What: "it's <gone>",
		Keeps: Finding{Verdict: Proved}, Whole: Finding{Verdict: Disproved, Failed: 3, Seed: 9,
			Command: "assay prove --seed 9"},
	})
	return p
}

func TestProofTellsOfItsSubjectAlone(t *testing.T) {
	synced := Promise{Requested: "flushed", Delivered: "synced", Intact: true}
	for _, c := range []struct {
		name    string
		change  func(*Proof, *Subject, *Promise)
		verdict string
		images  int
	}{
		{"everything that is claimed held", func(*Proof, *Subject, *Promise) {}, Proved, 800},
		{"other options", func(_ *Proof, s *Subject, _ *Promise) { s.URL = "bbolt:?NoSync=false" }, Unproved, 0},
		{"another engine", func(_ *Proof, s *Subject, _ *Promise) { s.URL = "bolt:?NoSync=false&PageSize=4096" },
			Unproved, 0},
		{"another version", func(_ *Proof, s *Subject, _ *Promise) { s.Modules = map[string]string{"go.etcd.io/bbolt": "v1.5.1"} }, Unproved, 0},
		{"another source of its driver", func(_ *Proof, s *Subject, _ *Promise) { s.Driver = "5eee" }, Unproved, 0},
		{"the source of another driver", func(_ *Proof, s *Subject, _ *Promise) { s.Driver = "5e1f" }, Unproved, 0},
		{"a driver that was not known when it was proved", func(p *Proof, _ *Subject, _ *Promise) { p.Drivers = nil },
			Unproved, 0},
		{"a driver that is not known", func(p *Proof, s *Subject, _ *Promise) { p.Drivers, s.Driver = nil, "" },
			Unproved, 0},
		{"a module more", func(_ *Proof, s *Subject, _ *Promise) {
			s.Modules = map[string]string{"go.etcd.io/bbolt": "v1.5.0", "example.org/x": "v1.0.0"}
		}, Unproved, 0},
		{"versions that are not known", func(_ *Proof, s *Subject, _ *Promise) { s.Modules = nil }, Unproved, 0},
		{"assay's own engine, which has no modules", func(_ *Proof, s *Subject, _ *Promise) {
			s.Modules, s.Own = nil,
				true
		}, Proved, 800},
		{"assay's own engine on another system", func(_ *Proof, s *Subject, _ *Promise) {
			s.Modules, s.Own, s.OS = nil, true, "darwin"
		}, Unproved, 0},
		{"another system", func(_ *Proof, s *Subject, _ *Promise) { s.OS = "darwin" }, Unproved, 0},
		{"a weaker class", func(_ *Proof, _ *Subject, p *Promise) { p.Delivered = "flushed" }, Unproved, 0},
		{"another promise", func(_ *Proof, _ *Subject, p *Promise) { p.Intact = false }, Unproved, 0},
		{"a fault that was not tried", func(p *Proof, _ *Subject, _ *Promise) { p.Cells = p.Cells[1:] }, Unproved, 0},
		{"a fault under which nothing was claimed", func(p *Proof, _ *Subject, _ *Promise) {
			p.Cells[0].Keeps.Claimed, p.Cells[0].Whole.Claimed = false, false
		}, Unproved, 0},
		{"a failing disk that may break the store", func(p *Proof, _ *Subject, _ *Promise) {
			p.Cells[6].Keeps.Claimed, p.Cells[6].Whole.Claimed = false, false
		}, Proved, 700},
		{"power that was cut under the strict rule alone", func(p *Proof, _ *Subject, _ *Promise) {
			for i := 1; i <= 4; i++ {
				p.Cells[i].Rule = strings.Replace(p.Cells[i].Rule, "ordered", "strict", 1)
			}
		}, Unproved, 0},
		{"a rule that was left out", func(p *Proof, _ *Subject,
			_ *Promise) {
			p.Cells = append(p.Cells[:4:4], p.Cells[5:]...)
		}, Unproved, 0},
		{"a property that was not tried to the end", func(p *Proof, _ *Subject,
			_ *Promise) {
			p.Cells[0].Whole.Verdict = Unproved
		}, Unproved, 0},
		{"a property that failed and is not claimed", func(p *Proof, _ *Subject, _ *Promise) {
			p.Cells[1].Keeps = Finding{Verdict: Disproved, Failed: 1}
		}, Proved, 800},
		{"a property that failed", func(p *Proof, _ *Subject, _ *Promise) { p.Cells[2].Keeps.Verdict = Disproved },
			Disproved, 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, s, promise := exampleProof(), bbolt150, synced
			c.change(p, &s, &promise)
			got := p.Label(s, promise)
			if c.verdict == Proved && got.States != c.images*320/800 {
				t.Errorf("got %d distinct states, want those of the same cells", got.States)
			}
			if got.Proof != c.verdict || got.Images != c.images || got.Delivered != promise.Delivered ||
				got.Requested != promise.Requested {
				t.Errorf("got %+v, want %s by %d images", got, c.verdict, c.images)
			}
		})
	}
	if got := (*Proof)(nil).Label(bbolt150, synced); got.Proof != Unproved {
		t.Errorf("no proof: %+v", got)
	}
}

func TestFlushedAndFragilePromisesNothingOfPower(t *testing.T) {
	p := exampleProof()
	var kept []ProofCell
	for _, c := range p.Cells {
		c.Delivered, c.Intact = "flushed", false
		if c.Rule == "" {
			kept = append(kept, c)
		}
	}
	p.Cells = kept
	if got := p.Label(bbolt150, Promise{Delivered: "flushed"}); got.Proof != Proved || got.Images != 300 {
		t.Errorf("got %+v, want proved by kills and faults", got)
	}
}

func TestUnkeptAreTheClaimsThatFailed(t *testing.T) {
	p := exampleProof()
	if got := p.Unkept(); got != nil {
		t.Errorf("got %v of a proof in which only what is not claimed failed", got)
	}
	p.Cells[1].Whole.Verdict, p.Cells[3].Keeps.Verdict = Disproved, Disproved
	if got := p.Unkept(); !reflect.DeepEqual(got, []ProofCell{p.Cells[1], p.Cells[3]}) {
		t.Errorf("got %v", got)
	}
}

func TestWrittenProofIsRead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	for _, want := range []*Proof{exampleProof(), {Schema: ProofSchema,
		Cells: []ProofCell{}}} { // the second replaces the first
		if err := WriteProof(dir, want); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{dir, filepath.Join(dir, ProofFile)} {
			got, err := ReadProof(path)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("read %s:\n%+v\nwant\n%+v", path, got, want)
			}
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("the folder holds %v, %v; want the document and the states", entries, err)
	}
	want := States{"bbolt synced": []byte("12345678abcdefgh")}
	if err := WriteProof(dir, &Proof{Schema: ProofSchema, Seen: want}); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadStates(dir); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read %v, %v", got, err)
	}
	if _, err := ReadStates(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("read nothing: %v", err)
	}
	if err := WriteProof(dir, &Proof{}); err == nil {
		t.Error("a proof without schema was written")
	}
}

func TestReadProofSaysWhatIsWrong(t *testing.T) {
	for content, want := range map[string]error{
		"":                             ErrNotResult,
		`{"schema": "assay.result/1"}`: ErrNotResult,
		`{"schema": "assay.proof/2"}`:  ErrNewer,
		`{"schema": "assay.proof/1", "cells": 3}`: ErrNotResult,
	} {
		path := filepath.Join(t.TempDir(), ProofFile)
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := ReadProof(path)
		if e := (*Error)(nil); !errors.Is(err, want) || !errors.As(err, &e) || e.Path != path {
			t.Errorf("%q: got %v, want %v", content, err, want)
		}
	}
	_, err := ReadProof(filepath.Join(t.TempDir(), "nowhere"))
	if e := (*Error)(nil); !errors.Is(err, fs.ErrNotExist) || !errors.As(err, &e) ||
		!strings.Contains(e.Hint, "assay prove") {
		t.Errorf("missing: %v, want not exist and a hint", err)
	}
}

func TestShippedProofIsRead(t *testing.T) {
	if _, err := Shipped(); err != nil {
		t.Error(err)
	}
}

func FuzzParseProof(f *testing.F) {
	document, err := MarshalProof(exampleProof())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(document)
	f.Add([]byte(`{"schema": "assay.proof/1"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ParseProof(data)
		if err != nil {
			if e := (*Error)(nil); !errors.As(err, &e) {
				t.Errorf("%T is not an *Error", err)
			}
			return
		}
		p.Unkept()
		p.Label(bbolt150, Promise{Delivered: "synced", Intact: true})
		once, err := MarshalProof(p)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseProof(once)
		if err != nil {
			t.Fatal(err)
		}
		if twice, err := MarshalProof(again); err != nil || string(twice) != string(once) {
			t.Errorf("written\n%s\nread and written again\n%s\n%v", once, twice, err)
		}
	})
}

func TestOfSeveralProofsTheOneThatSawAPromiseBrokenCounts(t *testing.T) {
	subject := Subject{URL: "mine:", OS: "linux", Own: true, Driver: "d"}
	proof := func(images int, verdict string) *Proof {
		p := &Proof{Environment: Environment{OS: "linux"}, Drivers: map[string]string{"mine": "d"}}
		p.Cells = []ProofCell{{URL: "mine:", Delivered: "flushed", Fault: FaultKill, Images: images,
			Keeps: Finding{Claimed: true, Verdict: verdict}}}
		return p
	}
	few, many, broken := proof(3, Proved), proof(90, Proved), proof(2, Disproved)
	for _, c := range []struct {
		proofs Proofs
		want   string
		images int
	}{
		{nil, Unproved, 0}, {Proofs{nil, few}, Proved, 3}, {Proofs{many, few}, Proved, 90},
		{Proofs{few, many}, Proved, 90},
		{Proofs{few, broken, many}, Disproved, 2}, {Proofs{proof(3, Unproved)}, Unproved, 0},
	} {
		got := c.proofs.Label(subject, Promise{Requested: "flushed", Delivered: "flushed"})
		if got.Proof != c.want || got.Images != c.images {
			t.Errorf("%d proofs: got %s by %d, want %s by %d", len(c.proofs), got.Proof, got.Images, c.want, c.images)
		}
	}
}

func TestAnEngineOfOnesOwnIsKnownByTheProgramThatItIsIn(t *testing.T) {
	one, other := DriverDigest("mine"), DriverDigest("yours")
	if !strings.HasPrefix(one, "program ") || one != other {
		t.Errorf("got %q and %q", one, other)
	}
	if got := DriverDigest("bbolt"); strings.HasPrefix(got, "program ") {
		t.Errorf("bbolt: got %q", got)
	}
}
