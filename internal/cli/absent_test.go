package cli

import (
	"bytes"
	"strings"
	"testing"
)

func TestAnEngineThatTheBinaryLacksIsListedAndRefusedWithTheWayToGetIt(t *testing.T) {
	absent := Absent{Name: "tape", Summary: "paper tape", How: "build with a punch"}
	run := func(args ...string) (status int, stdout, stderr string) {
		var out, errs bytes.Buffer
		status = Run(t.Context(), args, strings.NewReader(""), &out, &errs, nil, absent)
		return status, out.String(), errs.String()
	}
	if status, out, _ := run("engines"); status != exitOK ||
		!strings.Contains(out, "tape  paper tape: build with a punch") {
		t.Errorf("engines: status %d\n%s", status, out)
	}
	for _, args := range [][]string{{"engines", "tape"}, {"run", "--engines", "tape"},
		{"run", "--engines", "null:,mine=tape:?a=1"},
		{"prove", "--engines", "tape:?a=1"}} {
		status, _, errs := run(args...)
		if status != exitUsage || !strings.Contains(errs, `"tape" is not in this binary`) ||
			!strings.Contains(errs, "build with a punch") {
			t.Errorf("%v: status %d, %s", args, status, errs)
		}
	}
}
