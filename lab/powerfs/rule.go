package powerfs

import (
	"strings"

	"github.com/assaydb/assay/kv/driver"
)

// Entries says what makes an entry of a folder durable.
type Entries uint8

const (
	// as ext4 and xfs: any sync commits all earlier metadata; without one, a prefix of it survives
	Ordered Entries = iota
	Strict          // as POSIX: an entry is durable after a sync of its folder
	PerFile         // as btrfs and f2fs: a sync commits its own file with its names, and nothing else
)

// Survivors says what of the changes that were not durable is found after the cut.
type Survivors uint8

const (
	Nothing    Survivors = iota // none
	Prefix                      // all until some moment, the write at that moment torn at a sector of 512 bytes
	Pages                       // any subset of pages, each as some write left it
	Sectors                     // the same, each page torn at sectors
	Everything                  // all, as after the crash of a process
)

// Rule is a crash model: what an image holds is what both of its parts allow.
type Rule struct {
	Entries
	Survivors
}

var (
	entriesNames   = [...]string{"ordered", "strict", "perfile"}
	survivorsNames = [...]string{"nothing", "prefix", "pages", "sectors", "everything"}
)

func (e Entries) String() string   { return nameOf(entriesNames[:], int(e)) }
func (s Survivors) String() string { return nameOf(survivorsNames[:], int(s)) }

// String returns the rule as ParseRule reads it: "ordered/sectors".
func (r Rule) String() string { return r.Entries.String() + "/" + r.Survivors.String() }

func nameOf(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return "unknown"
}

// Rules returns all rules, the ordered ones first.
func Rules() []Rule {
	var rules []Rule
	for e := range entriesNames {
		for s := range survivorsNames {
			rules = append(rules, Rule{Entries(e), Survivors(s)})
		}
	}
	return rules
}

// ParseRule reads what Rule.String writes.
func ParseRule(name string) (Rule, error) {
	var names []string
	for _, r := range Rules() {
		if r.String() == name {
			return r, nil
		}
		names = append(names, r.String())
	}
	return Rule{}, &driver.Error{Op: "crash rule", Path: name, Kind: driver.Invalid,
		Hint: "the rules are " + strings.Join(names, ", ")}
}
