package chart

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Bar is one bar.
type Bar struct {
	Name   string
	Color  int
	Value  float64
	Lo, Hi float64 // the bounds of its interval; both 0 if there is none
	Label  string  // behind the bar
}

// A bar that is longer than cutAt times the shortest is cut there, where the longest is above
// tooLong: the others could not be told apart.
const (
	cutAt   = 6
	tooLong = 12
)

// Bars draws bars from 0, the first at the top. floor is a mark across all of them, 0 for none. The
// label of a bar that was cut begins with a mark.
func Bars(bars []Bar, floor float64, axis Axis) (*Chart, error) {
	c := newChart(len(bars), 22)
	names := barNames(bars)
	end := Scale(bars, floor)
	for i, b := range bars {
		if err := c.bar(b, float64(len(bars)-1-i), end); err != nil {
			return nil, err
		}
	}
	c.rowNames(names)
	c.plot.X.Min, c.plot.X.Max = 0, roomFor(bars, end)
	c.plot.X.Tick.Marker = ticksTo(end, c.plot.X.Max/plotWidth(names), axis.Print)
	if floor > 0 {
		line, err := plotter.NewLine(plotter.XYs{{X: floor, Y: -0.5}, {X: floor, Y: float64(len(bars)) - 0.5}})
		if err != nil {
			return nil, err
		}
		line.Color, line.Dashes = ink, []vg.Length{3, 3}
		c.plot.Add(line)
	}
	return c, nil
}

func barNames(bars []Bar) []string {
	names := make([]string, len(bars))
	for i, b := range bars {
		names[i] = b.Name
	}
	return names
}

// plotWidth is how wide the part of a chart is that is beside the names of its rows.
func plotWidth(names []string) float64 {
	widest := 0.0
	for _, name := range names {
		widest = max(widest, widthOf(name))
	}
	const gaps = 30
	return max(fullWidth-widest-gaps, fullWidth/4)
}

// roomFor returns where the axis must end for the labels behind bars to have room.
func roomFor(bars []Bar, end float64) float64 {
	room, most := plotWidth(barNames(bars)), end
	for _, b := range bars {
		at := min(max(b.Value, b.Hi), end)
		most = max(most, at*room/max(room-widthOf("→ "+b.Label), room/8))
	}
	return most
}

// widthOf returns about how wide a text is, in points, in the widest of usual fonts.
func widthOf(s string) float64 { return 0.6 * textSize * float64(len([]rune(s))) }

// Scale returns the longest value that Bars draws whole.
func Scale(bars []Bar, floor float64) float64 {
	shortest, longest := bars[0].Value, floor
	for _, b := range bars {
		shortest, longest = min(shortest, b.Value), max(longest, b.Value, b.Hi)
	}
	if longest > tooLong*shortest {
		return max(cutAt*shortest, 2*floor)
	}
	return longest
}

// bar draws one at height y, with its interval and label.
func (c *Chart) bar(b Bar, y, end float64) error {
	value, label, at := b.Value, b.Label, max(b.Value, b.Hi)
	cut := value > end
	if cut {
		value, label = end, "→ "+label
	}
	at = min(at, end)
	box, err := plotter.NewBarChart(plotter.Values{value}, 12)
	if err != nil {
		return err
	}
	box.Horizontal, box.XMin, box.Color, box.LineStyle.Width = true, y, palette[b.Color%Colors], 0
	c.plot.Add(box)
	if b.Hi > 0 && !cut {
		whisker, err := plotter.NewXErrorBars(interval{b.Value, y, b.Lo, min(b.Hi, end)})
		if err != nil {
			return err
		}
		whisker.Color, whisker.CapWidth = inkOf(b.Color), 6
		c.plot.Add(whisker)
	}
	text, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{{X: at, Y: y}}, Labels: []string{label}})
	if err != nil {
		return err
	}
	text.TextStyle[0] = c.plot.Y.Tick.Label
	text.TextStyle[0].Color = inkOf(b.Color)
	text.TextStyle[0].XAlign, text.TextStyle[0].YAlign = draw.XLeft, draw.YCenter
	text.Offset = vg.Point{X: 5}
	c.plot.Add(text)
	return nil
}

// interval is a point with bounds to both sides, as gonum takes it.
type interval struct{ x, y, lo, hi float64 }

func (i interval) Len() int                    { return 1 }
func (i interval) XY(int) (x, y float64)       { return i.x, i.y }
func (i interval) XError(int) (lo, hi float64) { return i.lo - i.x, i.hi - i.x }

// ticksTo names round numbers of an axis from 0, none of them beyond end, and as many as have room
// where a point is so much.
func ticksTo(end, point float64, format func(float64) string) plot.Ticker {
	unit := math.Pow10(int(math.Floor(math.Log10(end))) - 1)
	step := unit
	for _, m := range []float64{2, 5, 10, 20, 50} {
		if crowded := step/point < 1.5*widthOf(format(step)) || end > 5*step; crowded && m*unit <= end {
			step = m * unit
		}
	}
	return plot.TickerFunc(func(_, _ float64) []plot.Tick {
		ticks := []plot.Tick{{Value: 0, Label: "0"}}
		for v := step; v <= end*1.001; v += step {
			ticks = append(ticks, plot.Tick{Value: v, Label: format(v)})
		}
		return ticks
	})
}
