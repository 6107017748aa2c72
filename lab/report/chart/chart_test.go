package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
)

var plainAxis = Axis{Print: func(v float64) string { return fmt.Sprintf("%g", v) }}

// charts returns one of each kind.
func charts(t *testing.T) map[string]*Chart {
	t.Helper()
	bars, err := Bars([]Bar{{Name: "one", Value: 1, Lo: 0.9, Hi: 1.2, Label: "1 s"},
		{Name: "two", Color: 1, Value: 40, Label: "40 s"}}, 0.5, plainAxis)
	if err != nil {
		t.Fatal(err)
	}
	curves, err := Curves([]string{"p50", "p90", "p99"}, []Curve{{Values: []float64{1, 2, 9}},
		{Color: 3, Line: 1, Values: []float64{3, 4, 0}}}, plainAxis)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := Rows([]Row{{"a", []Dot{{0, 0}, {1, 200}}}, {"b", []Dot{{0, 3}}}}, plainAxis)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]*Chart{"bars": bars, "curves": curves, "rows": rows}
}

func texts(t *testing.T, drawing []byte) (all []string) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(drawing))
	for {
		token, err := d.Token()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if text, ok := token.(xml.CharData); ok && strings.TrimSpace(string(text)) != "" {
			all = append(all, string(text))
		}
	}
}

func TestEveryKindIsDrawnInEveryForm(t *testing.T) {
	for name, c := range charts(t) {
		var svg, picture bytes.Buffer
		if err := c.SVG(&svg, Caption{}); err != nil {
			t.Fatal(err)
		}
		if len(texts(t, svg.Bytes())) < 4 || strings.Contains(svg.String(), "var(") {
			t.Errorf("%s: %s", name, svg.String())
		}
		if err := c.PNG(&picture, Caption{}); err != nil {
			t.Fatal(err)
		}
		image, err := png.Decode(&picture)
		if err != nil || image.Bounds().Dx() < fullWidth {
			t.Errorf("%s: %v, %v", name, image.Bounds(), err)
		}
		inline, err := c.Inline(`a "quoted" <chart>`)
		if err != nil {
			t.Fatal(err)
		}
		if texts(t, []byte(inline)); !strings.Contains(inline, `aria-label="a &quot;quoted&quot; &lt;chart>"`) ||
			strings.Contains(inline, hex(ink)) || !strings.Contains(inline, "var(--d0)") {
			t.Errorf("%s: %.300s", name, inline)
		}
	}
}

func TestAFileOfItsOwnHasTitleAndKeys(t *testing.T) {
	caption := Caption{Title: strings.Repeat("a long title ", 9) + "ends"}
	for i := range 9 {
		caption.Keys = append(caption.Keys, Key{Name: fmt.Sprintf("engine %d", i), Color: i, Line: i % Lines})
	}
	for name, c := range charts(t) {
		var with, without, picture bytes.Buffer
		if err := errors.Join(c.SVG(&with, caption), c.SVG(&without, Caption{}), c.PNG(&picture, caption)); err != nil {
			t.Fatal(err)
		}
		said := strings.Join(texts(t, with.Bytes()), " ")
		for _, want := range []string{"title ends", "engine 0", "engine 8"} {
			if !strings.Contains(said, want) {
				t.Errorf("%s: %q is not in %q", name, want, said)
			}
		}
		for _, text := range texts(t, without.Bytes()) {
			if !strings.Contains(said, text) {
				t.Errorf("%s: with a caption the chart lacks %q", name, text)
			}
		}
		image, err := png.Decode(&picture)
		if err != nil {
			t.Fatal(err)
		}
		lines := len(caption.titleLines()) + len(caption.keyLines())
		if high := int(2 * 96. / 72 * (c.height + vg.Length(lines*captionLine)).Points()); lines < 5 ||
			image.Bounds().Dy() < high-2 || image.Bounds().Dy() > high+2 {
			t.Errorf("%s: %d lines, a picture of %v, want it %d high", name, lines, image.Bounds(), high)
		}
	}
	for _, line := range caption.keyLines() {
		end := 0.0
		for _, k := range line {
			end += k.width()
		}
		if end > fullWidth {
			t.Errorf("a line of keys ends at %v", end)
		}
	}
}

func TestDotsAtOnePlaceLieSideBySide(t *testing.T) {
	for _, c := range []struct{ at, want []float64 }{
		{[]float64{100, 20, 60}, []float64{0, 0, 0}},
		{[]float64{50, 50, 50, 50, 50}, []float64{0, 4, -4, 7, -7}},
		{[]float64{52, 50, 57}, []float64{4, 0, 0}},
		{nil, nil},
	} {
		if got := lanes(c.at); !slices.Equal(got, c.want) {
			t.Errorf("%v lie at %v, want %v", c.at, got, c.want)
		}
	}
	if got := lanes(make([]float64, 6)); len(got) != 6 {
		t.Errorf("of more dots than have room: %v", got)
	}
}

func TestABarThatIsMuchLongerIsCut(t *testing.T) {
	bars := []Bar{{Value: 1}, {Value: 11}}
	if got := Scale(bars, 0); got != 11 {
		t.Errorf("the scale ends at %v, want 11", got)
	}
	if got := Scale(append(bars, Bar{Value: 500}), 0); got != cutAt {
		t.Errorf("the scale ends at %v, want %v", got, cutAt)
	}
	if got := Scale([]Bar{{Value: 1}, {Value: 500}}, 20); got < 20 {
		t.Errorf("the scale ends at %v, before the floor", got)
	}
	var svg bytes.Buffer
	if err := charts(t)["bars"].SVG(&svg, Caption{}); err != nil {
		t.Fatal(err)
	}
	if all := texts(t, svg.Bytes()); !strings.Contains(strings.Join(all, "|"), "→ 40 s") ||
		strings.Contains(strings.Join(all, "|"), "→ 1 s") {
		t.Errorf("%q", all)
	}
}

func TestAnAxisHasFewRoundNumbers(t *testing.T) {
	for _, c := range []struct{ low, high float64 }{{0.9, 1.1}, {3, 40}, {1e-3, 1e9}, {950, 1100}, {5, 5.001}} {
		for _, axis := range []Axis{plainAxis, {Print: plainAxis.Print, Bytes: true}} {
			if n := len(axis.ticks(4).Ticks(c.low, c.high)); n > 4 || n == 0 && c.high > 2.5*c.low {
				t.Errorf("%d from %v to %v, bytes %v", n, c.low, c.high, axis.Bytes)
			}
		}
	}
	for _, end := range []float64{1, 7, 99, 1e6, 3.3e-5} {
		if n := len(ticksTo(end, end/250, plainAxis.Print).Ticks(0, end)); n < 2 || n > 10 {
			t.Errorf("%d to %v", n, end)
		}
	}
}

// TestColorsAreToldApart holds that no two colours that a page replaces are one.
func TestColorsAreToldApart(t *testing.T) {
	seen := map[string]bool{hex(ink): true, hex(faint): true}
	for i := range Colors {
		for _, c := range []string{Color(i), hex(inkOf(i))} {
			if seen[c] {
				t.Errorf("%s is there twice", c)
			}
			seen[c] = true
		}
	}
}
