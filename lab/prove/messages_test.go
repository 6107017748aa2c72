package prove

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/result"
)

// messagesTo returns the messages of the first n commits of a chain.
func messagesTo(seed, n uint64, c chain) [][]byte {
	t := tape{seed: seed}
	var all [][]byte
	for commit := uint64(1); commit <= n; commit++ {
		for seq := t.end(commit - 1); seq < t.end(commit); seq++ {
			all = append(all, messageOf(seed, seq, c.salt(commit)))
		}
	}
	return all
}

func TestMessagesHaveEveryLengthAndAnotherContentUnderAnotherSalt(t *testing.T) {
	empty, long, batches := 0, 0, 0
	tp := tape{seed: 1}
	for seq := range uint64(2000) {
		m, other := messageOf(1, seq, 5), messageOf(1, seq, 6)
		if !bytes.Equal(m, messageOf(1, seq, 5)) || len(m) > 20<<10 {
			t.Fatalf("message %d of %d bytes", seq, len(m))
		}
		switch {
		case len(m) == 0:
			empty++
			continue
		case len(m) > 8<<10:
			long++
		}
		if bytes.Equal(m, other) {
			t.Errorf("message %d is %q under both salts", seq, clip(m))
		}
		if n := tp.commits(seq); tp.end(n) != seq {
			batches++
		}
	}
	if empty == 0 || long == 0 || batches == 0 {
		t.Errorf("%d empty, %d long, %d in batches", empty, long, batches)
	}
}

// A log has large commits as often as a store of keys: one that is torn shows only while it is
// made.
func TestALogHasLargeCommits(t *testing.T) {
	tp := tape{seed: 1}
	for n := uint64(1); n <= 30; n++ {
		if got, large := tp.end(n)-tp.end(n-1), n%batchEvery == 3; (got > someMessages) != large {
			t.Errorf("commit %d appends %d messages", n, got)
		}
	}
}

func TestCompareFindsWhatTheLogHolds(t *testing.T) {
	old := chain{{Salt: 5}}
	tp := tape{seed: 1}
	batch := uint64(30) // the first commit from here that appends several messages
	for tp.end(batch)-tp.end(batch-1) < 3 {
		batch++
	}
	head := tp.end(batch - 1) // messages before it
	p := past{Seed: 1, Chains: []chain{old}}
	failed := past{Seed: 1, Chains: []chain{old}}.after(ledger{
		failed: []failure{{N: batch, Salt: 5}}, resumed: []resumption{{After: batch - 1, Salt: 6}}})
	whole := messagesTo(1, batch, old)
	full := uint64(0) // one that is not empty
	for len(whole[full]) < 20 {
		full++
	}
	hole := slices.IndexFunc(whole, func(m []byte) bool { return len(m) == 0 })
	with := func(i uint64, m []byte) [][]byte { out := slices.Clone(whole); out[i] = m; return out }
	for name, one := range map[string]struct {
		past         past
		found        [][]byte
		n            uint64
		torn, broken string
	}{
		"nothing":                 {past: p},
		"all of it":               {past: p, found: whole, n: batch},
		"without the last append": {past: p, found: whole[:head], n: batch - 1},
		"the last append in part": {past: p, found: whole[:head+1], n: batch - 1,
			torn: "in part: 1 of its"},
		"zeros": {past: p, found: with(full, make([]byte, len(whole[full]))),
			n: tp.commits(full), broken: "and from byte 0 on"},
		"an erased message": {past: p, found: with(uint64(hole), nil), n: tp.commits(uint64(hole)),
			broken: "was erased"},
		"a message too few": {past: p, found: slices.Delete(slices.Clone(whole), int(full),
			int(full)+1), n: tp.commits(full), broken: "no prefix: message"},
		"another salt": {past: p, found: messagesTo(1, batch, chain{{Salt: 6}}),
			broken: "no prefix: message"},
		"an append that failed, there": {past: failed, found: whole, n: batch},
		"an append that failed, not there": {past: failed,
			found: messagesTo(1, batch+1, chain{{5, batch - 1}, {6, 0}}), n: batch + 1},
		"an append that failed, in part": {past: failed, found: whole[:head+1], n: batch - 1,
			torn: "in part: 1 of its"},
		"what follows an append that had none": {past: failed, found: messagesTo(1, batch+1, old), n: batch,
			broken: "follows commit"},
	} {
		o := one.past.compareMessages(one.found)
		if o.N[0] != one.n || (o.Torn == "") != (one.torn == "") || (o.Broken == "") != (one.broken == "") ||
			!strings.Contains(o.Torn, one.torn) || !strings.Contains(o.Broken, one.broken) {
			t.Errorf("%s: got %+v, want %d torn %q broken %q", name, o, one.n, one.torn, one.broken)
		}
	}
}

func TestLogKeepsWhatWasAcknowledgedWhenKilled(t *testing.T) {
	for _, class := range []kv.Durability{kv.Synced, kv.Flushed} {
		t.Run(class.String(), func(t *testing.T) {
			t.Parallel()
			for _, c := range prove(t, options(t, "margaret", class, result.FaultKill)) {
				if c.Keeps.Verdict != result.Proved || c.Whole.Verdict != result.Proved || c.Images == 0 ||
					!c.Keeps.Claimed {
					t.Errorf("%+v", c)
				}
			}
		})
	}
}

func TestLogKeepsWhatWasSyncedWhenTheDiskFails(t *testing.T) {
	needsPower(t)
	t.Parallel()
	o := options(t, "margaret", kv.Synced, result.FaultPower, result.FaultRecovery, result.FaultEIO, result.FaultENOSPC)
	o.Rules = []string{"ordered/nothing", "ordered/pages", "ordered/sectors"}
	if o.Rounds = 6; testing.Short() {
		o.Rounds = 1
	}
	for _, c := range prove(t, o) {
		if c.Keeps.Verdict != result.Proved || c.Whole.Verdict != result.Proved || !c.Keeps.Claimed ||
			!c.Whole.Claimed {
			t.Errorf("%s %s: %+v", c.Fault, c.Rule, c)
		}
		if c.Fault == result.FaultPower && (c.SyncsPerCommit == nil || *c.SyncsPerCommit != 3) {
			t.Errorf("%v syncs an append, want 3", c.SyncsPerCommit)
		}
	}
}

func TestFlushedLogLosesWhatItDoesNotPromise(t *testing.T) {
	needsPower(t)
	t.Parallel()
	o := options(t, "margaret", kv.Flushed, result.FaultPower)
	o.Rules, o.Rounds = []string{"ordered/nothing", "ordered/everything"}, 1
	cells := prove(t, o)
	if c := cellOf(t, cells, "ordered/nothing"); c.Lost == 0 || c.Keeps.Claimed || c.Whole.Claimed {
		t.Errorf("%+v", c)
	}
	if c := cellOf(t, cells, "ordered/everything"); c.Lost > 0 || c.Broken > 0 || c.Torn > 0 {
		t.Errorf("the death of the process alone: %+v", c)
	}
}

func TestPlantedFaultsOfALogAreFound(t *testing.T) {
	for _, c := range []struct {
		engine, why, fault string
		keeps              string // verdicts; "" is any
		whole              string
		what               string
	}{
		{engine: "forgetful-log", why: "messages are acknowledged that are in memory", fault: result.FaultKill,
			keeps: result.Disproved},
		{engine: "halving-log", why: "an append is made as two", fault: result.FaultKill, whole: result.Disproved,
			what: "in part"},
		{engine: "twisting-log", why: "a byte is another", fault: result.FaultKill, whole: result.Disproved,
			what: "no prefix: message"},
		{engine: "unsynced-log", why: "an append is not synced", fault: result.FaultPower, keeps: result.Disproved},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			o := options(t, c.engine, kv.Flushed, c.fault)
			o.Rounds = 3
			if c.fault == result.FaultPower {
				needsPower(t)
				o.Classes, o.Rules, o.Rounds = []kv.Durability{kv.Synced}, []string{"ordered/nothing"}, 2
			}
			found := func(cell result.ProofCell) bool {
				return (c.keeps == "" || cell.Keeps.Verdict == c.keeps) &&
					(c.whole == "" || cell.Whole.Verdict == c.whole) && strings.Contains(cell.What, c.what)
			}
			if cell := proveUntil(t, o, found); !found(cell) {
				t.Errorf("keeps %s, whole %s, %q; want %s, %s, %q", cell.Keeps.Verdict, cell.Whole.Verdict, cell.What,
					c.keeps, c.whole, c.what)
			}
		})
	}
}
