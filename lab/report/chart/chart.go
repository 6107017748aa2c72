// Package chart draws the charts of a report: bars with intervals, curves of percentiles, and rows
// of dots. It knows numbers and names, and nothing of what was measured.
//
// A chart is one drawing for paper and screen: [Chart.SVG] and [Chart.PNG] have colours of their
// own, on white, and a caption; [Chart.Inline] is for a page, whose style sheet gives the colours,
// and which says what they are.
package chart

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Chart is a drawing.
type Chart struct {
	plot          *plot.Plot
	width, height vg.Length
}

// Axis is how numbers are told.
type Axis struct {
	Print func(float64) string
	Bytes bool // steps are powers of two
}

// The colours of everything but data.
var (
	ink   = color.RGBA{0x24, 0x29, 0x2f, 0xff}
	faint = color.RGBA{0xd0, 0xd7, 0xde, 0xff}
)

// palette holds the colours of data. The first ten are told apart by people of every kind of sight
// as far as ten can be; the others are for runs of more engines, so that each is hidden by itself.
var palette = []color.RGBA{
	{0x00, 0x72, 0xb2, 0xff}, {0xd5, 0x5e, 0x00, 0xff}, {0x00, 0x8f, 0x6b, 0xff}, {0xb4, 0x55, 0x8f, 0xff},
	{0x8a, 0x6d, 0x00, 0xff},
	{0x2a, 0x9f, 0xd8, 0xff}, {0x7a, 0x4f, 0xc9, 0xff}, {0xa1, 0x2b, 0x2b, 0xff}, {0x4d, 0x7c, 0x0f, 0xff},
	{0x5c, 0x63, 0x70, 0xff},
	{0x00, 0x4d, 0x61, 0xff}, {0xe0, 0x5c, 0x7a, 0xff}, {0x8c, 0x56, 0x4b, 0xff}, {0x3b, 0x3b, 0xa6, 0xff},
	{0xb8, 0x86, 0x0b, 0xff}, {0x5f, 0x90, 0x79, 0xff},
}

// inkOf returns the colour of what is written beside data of colour i, which to the eye is ink: a
// page that hides the data hides it, too.
func inkOf(i int) color.RGBA { return color.RGBA{ink.R, ink.G, ink.B + 1 + uint8(i%Colors), 0xff} }

// Colors is how many colours of data there are; more kinds of data begin anew.
const Colors = 16

// Color returns colour i of data, "#0072B2".
func Color(i int) string { return hex(palette[i%Colors]) }

// hex returns c as SVG has it.
func hex(c color.RGBA) string { return fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B) }

// textSize is that of all text.
const textSize = 12

// fullWidth is how wide a chart is, in points: readable when it is as wide as a telephone.
const fullWidth = 400

// newChart returns an empty chart of some rows, each so high.
func newChart(rows int, high vg.Length) *Chart {
	p := plot.New()
	sans := font.Font{Typeface: "Liberation", Variant: "Sans", Size: textSize}
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Tick.Label.Font, axis.Label.TextStyle.Font = sans, sans
		axis.Tick.Label.Color, axis.Label.TextStyle.Color = ink, ink
		axis.LineStyle.Color, axis.Tick.LineStyle.Color = faint, faint
		axis.Tick.Length = 3
	}
	p.BackgroundColor = nil
	return &Chart{plot: p, width: fullWidth, height: vg.Length(rows)*high + 34}
}

// rowNames makes the vertical axis one of names, the first at the top.
func (c *Chart) rowNames(names []string) {
	upward := make([]string, len(names))
	for i, name := range names {
		upward[len(names)-1-i] = name
	}
	c.plot.NominalY(upward...)
	c.plot.Y.Min, c.plot.Y.Max = -0.5, float64(len(names))-0.5
}

// margins leaves room for labels at the ends of axes, in fonts that are wider than that of the
// drawing.
func margins(c draw.Canvas) draw.Canvas { return draw.Crop(c, 8, -16, 2, -8) }

// SVG writes the chart as a file of its own.
func (c *Chart) SVG(w io.Writer, caption Caption) error {
	canvas := vgsvg.NewWith(vgsvg.UseWH(c.width, c.height+caption.height()))
	c.captioned(draw.New(canvas), caption)
	_, err := canvas.WriteTo(w)
	return err
}

// PNG writes the chart as a picture, twice as fine as a usual screen.
func (c *Chart) PNG(w io.Writer, caption Caption) error {
	canvas := vgimg.NewWith(vgimg.UseWH(c.width, c.height+caption.height()), vgimg.UseDPI(192))
	c.captioned(draw.New(canvas), caption)
	_, err := vgimg.PngCanvas{Canvas: canvas}.WriteTo(w)
	return err
}

// Inline returns the chart as an element of an HTML page that says label to those who do not see
// it. Its colours are the properties --ink and --faint of the page's style sheet; for data of
// colour 3, --d3, and --i3 for what is written beside it.
func (c *Chart) Inline(label string) (string, error) {
	canvas := vgsvg.NewWith(vgsvg.UseWH(c.width, c.height))
	c.plot.Draw(margins(draw.New(canvas)))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return "", err
	}
	_, drawing, ok := strings.Cut(b.String(), "<svg")
	_, drawing, closed := strings.Cut(drawing, ">")
	if !ok || !closed {
		return "", fmt.Errorf("chart: the drawing is no SVG: %.40q", b.String())
	}
	replaced := []string{hex(ink), "var(--ink)", hex(faint), "var(--faint)"}
	for i, c := range palette {
		replaced = append(replaced, hex(c), fmt.Sprintf("var(--d%d)", i), hex(inkOf(i)),
			fmt.Sprintf("var(--i%d,var(--ink))", i))
	}
	return fmt.Sprintf(`<svg role="img" aria-label="%s" viewBox="0 0 %g %g">`, escape(label), c.width.Points(),
		c.height.Points()) +
		strings.NewReplacer(replaced...).Replace(compact(drawing)), nil
}

// escape makes s the value of an attribute.
func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", `"`, "&quot;", "<", "&lt;").Replace(s)
}

// compact leaves out what the page's style sheet says of text.
func compact(svg string) string {
	return strings.NewReplacer("font-family:Liberation Sans;", "", "font-variant:normal;", "", "font-weight:normal;",
		"", "font-style:normal;", "", "\n", "").Replace(svg)
}
