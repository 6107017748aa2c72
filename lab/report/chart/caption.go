package chart

import (
	"image/color"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Caption is what stands around a chart that is a file of its own.
type Caption struct {
	Title string // above it
	Keys  []Key  // below it, in lines
}

// Key is what a colour and a line stand for.
type Key struct {
	Name  string
	Color int
	Line  int // that of its Curve
}

const (
	captionLine = 18 // points, of a line of text
	captionSide = 10 // left and right of it
	keyMark     = 20 // of what stands before a name
)

// height is what the caption adds to the chart's.
func (c Caption) height() vg.Length {
	return vg.Length(len(c.titleLines())+len(c.keyLines())) * captionLine
}

// titleLines breaks the title between words.
func (c Caption) titleLines() (lines []string) {
	for word := range strings.FieldsSeq(c.Title) {
		last := len(lines) - 1
		if last < 0 || widthOf(lines[last]+" "+word) > fullWidth-2*captionSide {
			lines = append(lines, word)
		} else {
			lines[last] += " " + word
		}
	}
	return lines
}

// width is that of a key, with the space behind it.
func (k Key) width() float64 { return keyMark + widthOf(k.Name) + 2*captionSide }

// keyLines puts as many keys into a line as have room.
func (c Caption) keyLines() (lines [][]Key) {
	end := 0.0
	for _, k := range c.Keys {
		if end += k.width(); len(lines) == 0 || end > fullWidth {
			lines, end = append(lines, nil), k.width()
		}
		last := len(lines) - 1
		lines[last] = append(lines[last], k)
	}
	return lines
}

// captioned draws the chart and its caption on white.
func (c *Chart) captioned(canvas draw.Canvas, caption Caption) {
	low, high := canvas.Min, canvas.Max
	canvas.FillPolygon(color.White, []vg.Point{low, {X: high.X, Y: low.Y}, high, {X: low.X, Y: high.Y}})
	style := c.plot.X.Tick.Label
	style.XAlign, style.YAlign = draw.XLeft, draw.YCenter
	title, keys := caption.titleLines(), caption.keyLines()
	for i, line := range title {
		canvas.FillText(style, vg.Point{X: captionSide, Y: high.Y - (vg.Length(i)+0.5)*captionLine}, line)
	}
	for i, line := range keys {
		at := vg.Point{X: captionSide, Y: low.Y + (vg.Length(len(keys)-i)-0.5)*captionLine}
		for _, k := range line {
			k.mark(&canvas, at)
			canvas.FillText(style, vg.Point{X: at.X + keyMark, Y: at.Y}, k.Name)
			at.X += vg.Length(k.width())
		}
	}
	c.plot.Draw(margins(draw.Crop(canvas, 0, 0, vg.Length(len(keys))*captionLine, -vg.Length(len(title))*captionLine)))
}

// mark draws what stands before a key's name: a dot, or the line where it is not whole.
func (k Key) mark(canvas *draw.Canvas, at vg.Point) {
	if k.Line%Lines == 0 {
		canvas.DrawGlyphNoClip(glyph(k.Color, 4), vg.Point{X: at.X + keyMark/2, Y: at.Y})
		return
	}
	style := draw.LineStyle{Color: palette[k.Color%Colors], Width: lineWidth, Dashes: dashes[k.Line%Lines]}
	canvas.StrokeLine2(style, at.X, at.Y, at.X+keyMark-4, at.Y)
}
