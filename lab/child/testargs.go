package child

import (
	"regexp"
	"strings"
)

// TestArgs returns the arguments of a test binary that run one test alone, named as by
// testing.T.Name. The last of them is role, by which the test knows that it is a child.
func TestArgs(test, role string) []string {
	var pattern []string
	for _, name := range strings.Split(test, "/") {
		pattern = append(pattern, "^"+regexp.QuoteMeta(name)+"$")
	}
	return []string{"-test.run=" + strings.Join(pattern, "/"), role}
}
