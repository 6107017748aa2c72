package result

import (
	"net/url"
	"strings"
)

// Proofs are what tells of promises: the shipped proof, and those that users made of their own
// engines and settings.
type Proofs []*Proof

// Label returns promise with what the proofs tell of it. One that saw it broken outweighs the
// others, and of those that proved it the one with the most crashes counts.
func (all Proofs) Label(s Subject, promise Promise) Promise {
	best := (*Proof)(nil).Label(s, promise)
	for _, p := range all {
		switch l := p.Label(s, promise); {
		case l.Proof == Disproved:
			return l
		case l.Proof == Proved && (best.Proof != Proved || l.Images > best.Images):
			best = l
		}
	}
	return best
}

// Subject is an engine in a binary, of whose promises a proof may tell.
type Subject struct {
	URL     string            // engine and options, as ENGINE:?NAME=VALUE
	OS      string            // as Go names it
	Modules map[string]string // the versions of the engine's modules in that binary, by path
	Driver  string            // DriverDigest of the engine in that binary
	Own     bool              // it has no modules: it is assay's own
}

// Label returns promise with what p tells of it: Proof, and the Images and States that it rests on.
//
// Proved: of the same engine with the same options, in the same versions, with the same source of
// its driver, on the same system, everything that the promise claims was tried under every fault
// that bears on it, power failures by every rule with entries in order, and nothing failed.
// Disproved: something that it claims failed. Unproved: everything else. A nil p tells nothing.
func (p *Proof) Label(s Subject, promise Promise) Promise {
	promise.Proof, promise.Images, promise.States = Unproved, 0, 0
	if p == nil || !p.about(s) {
		return promise
	}
	missing := faultsOf(promise)
	images, states, proved, query := 0, 0, true, normalURL(s.URL)
	for _, c := range p.Cells {
		if c.Delivered != promise.Delivered || c.Intact != promise.Intact || c.Strict() || normalURL(c.URL) != query {
			continue
		}
		if c.Keeps.Broken() || c.Whole.Broken() {
			promise.Proof, promise.Images, promise.States = Disproved, c.Images, c.States
			return promise
		}
		if !c.Keeps.Claimed && !c.Whole.Claimed {
			if c.Fault == FaultEIO || c.Fault == FaultENOSPC { // which some drivers say may break the store
				delete(missing, c.Fault)
			}
			continue
		}
		delete(missing, c.Fault)
		delete(missing, c.Fault+" "+c.Rule)
		images += c.Images
		states += c.States
		proved = proved && c.Keeps.holds() && c.Whole.holds()
	}
	if proved && images > 0 && len(missing) == 0 {
		promise.Proof, promise.Images, promise.States = Proved, images, states
	}
	return promise
}

// about reports whether p was made with the system, the versions and the driver of s. A binary that
// does not know its versions is like none, and so is a driver whose source is not known.
func (p *Proof) about(s Subject) bool {
	if p.Environment.OS != s.OS || len(s.Modules) == 0 && !s.Own {
		return false
	}
	engine, _, _ := strings.Cut(s.URL, ":")
	if s.Driver == "" || p.Drivers[engine] != s.Driver {
		return false
	}
	for path, version := range s.Modules {
		if p.Environment.Modules[path] != version {
			return false
		}
	}
	return true
}

// faultsOf returns the faults, and of power failures the rules, that must have been tried to prove
// a promise: those under which it claims something.
func faultsOf(p Promise) map[string]bool {
	faults := map[string]bool{FaultKill: true}
	if p.Intact || p.Delivered == "synced" {
		faults[FaultRecovery], faults[FaultEIO], faults[FaultENOSPC] = true, true, true
		for _, survivors := range []string{"nothing", "prefix", "pages", "sectors"} {
			faults[FaultPower+" ordered/"+survivors] = true
		}
	}
	return faults
}

// holds reports whether a property was proved, or was not promised.
func (f Finding) holds() bool { return !f.Claimed || f.Verdict == Proved }

// normalURL returns an engine's URL with its options in order, so that the same options are the
// same string.
func normalURL(u string) string {
	engine, query, _ := strings.Cut(u, ":")
	values, err := url.ParseQuery(strings.TrimPrefix(query, "?"))
	if err != nil {
		return u
	}
	return engine + ":?" + values.Encode()
}
