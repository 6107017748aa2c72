package workload

import "fmt"

// mixParams are the parameters of the operation mix alone.
var mixParams = []string{"read", "update", "insert", "modify", "scan", "choose"}

// newMix returns the Runner of a mix that parameters make.
func newMix(env Env) (Runner, error) {
	p := env.params(ycsbParams)
	m := p.mix()
	if p.err != nil {
		return nil, p.err
	}
	return newYCSBRunner(env, "mix", m)
}

// shapeOfMix is Op.Shape of the mix. Of wrong parameters it says anything: New refuses them.
func shapeOfMix(given map[string]string) (cycle int, commits bool) {
	p := Env{Params: given}.params(ycsbParams)
	m := p.mix()
	if p.err != nil {
		return 1, true
	}
	return m.cycle(), m.insert+m.update+m.modify > 0
}

// mix reads the parts of a mix, which make 100 %.
func (p *params) mix() mix {
	m := mix{
		update: p.count("update", 0, 100), insert: p.count("insert", 0, 100),
		modify: p.count("modify", 0, 100), scan: p.count("scan", 0, 100),
	}
	sum := m.update + m.insert + m.modify + m.scan
	if read := p.text("read"); read != "rest" {
		sum += p.count("read", 0, 100)
		if sum != 100 {
			p.fail("read", read, fmt.Sprintf("the parts make %d %%, not 100; leave read out, and it is the rest", sum))
		}
	} else if sum > 100 {
		p.fail("read", read, fmt.Sprintf("the parts make %d %%, more than 100", sum))
	}
	switch choose := p.text("choose"); choose {
	case "zipfian":
		m.choose = byZipf
	case "latest":
		m.choose = byAge
	case "uniform":
	default:
		p.fail("choose", choose, "use zipfian, latest or uniform")
	}
	return m
}
