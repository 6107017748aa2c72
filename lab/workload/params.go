package workload

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/assaydb/assay/kv"
)

// params reads a workload's parameters. The first wrong one is kept in err, so that it is checked
// once, at the end.
type params struct {
	given map[string]string
	known []Param
	err   error // kv.Invalid
}

func (e Env) params(known []Param) *params { return &params{given: e.Params, known: known} }

// count returns the parameter called name as a number of things from least to most. 10k is 10,000
// and 1M a million.
func (p *params) count(name string, least, most int) int {
	text := p.text(name)
	digits, unit := text, 1
	for suffix, n := range map[string]int{"k": 1e3, "M": 1e6} {
		if d, ok := strings.CutSuffix(text, suffix); ok {
			digits, unit = d, n
		}
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < (least+unit-1)/unit || n > most/unit {
		hint := fmt.Sprintf("use a number from %d to %d", least, most)
		if most >= 1e6 {
			hint += ", as 100, 10k or 1M"
		}
		p.fail(name, text, hint)
		return least
	}
	return n * unit
}

// text returns the parameter called name, or its default.
func (p *params) text(name string) string {
	if text, ok := p.given[name]; ok {
		return text
	}
	for _, k := range p.known {
		if k.Name == name {
			return k.Defaults()[0]
		}
	}
	panic("workload: parameter " + name + " is not declared")
}

// fail keeps the error that the parameter called name is not what hint says.
func (p *params) fail(name, text, hint string) {
	if p.err == nil {
		p.err = &kv.Error{Op: "workload", Kind: kv.Invalid, Err: fmt.Errorf("parameter %s=%q", name, text), Hint: hint}
	}
}
