package chart

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Curve is one line: a value above each of the chart's names; 0 is none there.
type Curve struct {
	Color  int
	Values []float64
	Line   int // 0 is a whole line; others, up to Lines, are dashed, each in its own way
}

// Lines is how many lines of one colour are told apart; more begin anew.
const Lines = 4

// dashes has the dashes and gaps of each.
var dashes = [Lines][]vg.Length{nil, {5, 3}, {1.5, 2.5}, {8, 3, 1.5, 3}}

const lineWidth = 1.5

// Curves draws lines over names, on a logarithmic scale.
func Curves(names []string, curves []Curve, axis Axis) (*Chart, error) {
	c := newChart(7, 22)
	c.plot.Add(&grid{horizontal: true})
	low, high := math.Inf(1), 0.0
	for _, curve := range curves {
		var points plotter.XYs
		for i, v := range curve.Values {
			if v > 0 {
				points = append(points, plotter.XY{X: float64(i), Y: v})
				low, high = min(low, v), max(high, v)
			}
		}
		line, dots, err := plotter.NewLinePoints(points)
		if err != nil {
			return nil, err
		}
		line.Color, line.Width, line.Dashes = palette[curve.Color%Colors], lineWidth, dashes[curve.Line%Lines]
		dots.GlyphStyle = glyph(curve.Color, 2.5)
		c.plot.Add(line, dots)
	}
	c.plot.NominalX(names...)
	c.plot.X.Min, c.plot.X.Max = -0.2, float64(len(names))-0.8
	c.plot.Y.Scale, c.plot.Y.Min, c.plot.Y.Max = plot.LogScale{}, low*0.8, high*1.25
	c.plot.Y.Tick.Marker = axis.ticks(5)
	return c, nil
}

// Row is a line of dots.
type Row struct {
	Name string
	Dots []Dot
}

// Dot is one value, 0 or more.
type Dot struct {
	Color int
	Value float64
}

// Rows draws dots in rows, the first at the top, on a logarithmic scale, which begins with 0 where
// a value is 0.
func Rows(rows []Row, axis Axis) (*Chart, error) {
	c := newChart(len(rows), rowHeight)
	names := make([]string, len(rows))
	low, high, zero := math.Inf(1), 0.0, false
	for i, r := range rows {
		names[i] = r.Name
		for _, d := range r.Dots {
			high = max(high, d.Value)
			if zero = zero || d.Value == 0; d.Value > 0 {
				low = min(low, d.Value)
			}
		}
	}
	if math.IsInf(low, 1) {
		low, high = 1, 1
	}
	scale := fromZero{unit: low}
	c.plot.X.Min, c.plot.X.Max = low, high*1.001
	if zero {
		c.plot.X.Min = 0
	}
	c.plot.X.Scale = scale
	c.plot.X.Tick.Marker = plot.TickerFunc(func(from, to float64) (ticks []plot.Tick) {
		if from == 0 {
			ticks = append(ticks, plot.Tick{Value: 0, Label: "0"})
		}
		for _, t := range axis.ticks(4).Ticks(low, to) {
			if from > 0 || scale.Normalize(from, to, t.Value) > 0.2 { // the label of 0 needs room
				ticks = append(ticks, t)
			}
		}
		return ticks
	})
	c.plot.Add(&grid{})
	byColor := map[int]plotter.XYs{}
	for i, r := range rows {
		at := make([]float64, len(r.Dots))
		for j, d := range r.Dots {
			at[j] = scale.Normalize(c.plot.X.Min, c.plot.X.Max, d.Value) * plotWidth(names)
		}
		for j, lane := range lanes(at) {
			d := r.Dots[j]
			y := float64(len(rows)-1-i) + lane/rowHeight
			byColor[d.Color] = append(byColor[d.Color], plotter.XY{X: d.Value, Y: y})
		}
	}
	for color := range Colors {
		if len(byColor[color]) == 0 {
			continue
		}
		dots, err := plotter.NewScatter(byColor[color])
		if err != nil {
			return nil, err
		}
		dots.GlyphStyle = glyph(color, dotRadius)
		c.plot.Add(dots)
	}
	c.rowNames(names)
	return c, nil
}

const (
	rowHeight = 18
	dotRadius = 3.5
)

// lanes returns how far above the middle of a row dots lie that are at so many points: those that
// would cover each other lie side by side, as far as there is room.
func lanes(at []float64) []float64 {
	order := make([]int, len(at))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(at[i], at[j]) })
	all := []float64{0, 4, -4, 7, -7}
	ends := slices.Repeat([]float64{math.Inf(-1)}, len(all)) // of each lane, where its last dot ends
	out := make([]float64, len(at))
	for _, i := range order {
		lane := slices.IndexFunc(ends, func(end float64) bool { return at[i]-dotRadius >= end-1 })
		if lane < 0 { // one more covers what began first
			lane = slices.Index(ends, slices.Min(ends))
		}
		out[i], ends[lane] = all[lane], at[i]+dotRadius
	}
	return out
}

func glyph(color int, radius vg.Length) draw.GlyphStyle {
	return draw.GlyphStyle{Color: palette[color%Colors], Radius: radius, Shape: draw.CircleGlyph{}}
}

// fromZero is a logarithmic scale that has a 0, where unit is the least that is told from it. At
// both ends it leaves a little room.
type fromZero struct{ unit float64 }

// Normalize returns where x lies between low and high, from 0 to 1.
func (s fromZero) Normalize(low, high, x float64) float64 {
	const room = 0.04
	at := math.Log
	if low == 0 {
		at = func(v float64) float64 { return math.Log1p(v / s.unit) }
	}
	return room + (1-2*room)*(at(x)-at(low))/(at(high)-at(low))
}

// ticks names at most so many round numbers of a logarithmic axis.
func (a Axis) ticks(most int) plot.Ticker {
	return plot.TickerFunc(func(low, high float64) []plot.Tick {
		var all []float64
		for _, v := range a.round(low, high) {
			if v >= low && v <= high {
				all = append(all, v)
			}
		}
		step := (len(all) + most - 1) / most
		var ticks []plot.Tick
		for i := 0; i < len(all); i += max(step, 1) {
			ticks = append(ticks, plot.Tick{Value: all[i], Label: a.Print(all[i])})
		}
		return ticks
	})
}

// round returns round numbers of an axis: powers of two, or of ten; where there are fewer than
// three of those, also twice and five times as much.
func (a Axis) round(low, high float64) (all []float64) {
	base := 10.0
	if a.Bytes {
		base = 2
	}
	steps := []float64{1}
	if !a.Bytes && high < 1000*low {
		steps = []float64{1, 2, 5}
	}
	first, last := math.Floor(math.Log(low)/math.Log(base)), math.Ceil(math.Log(high)/math.Log(base))
	for e := first; e <= last; e++ {
		for _, m := range steps {
			all = append(all, m*math.Pow(base, e))
		}
	}
	return all
}

// grid draws lines across the chart at the ticks of the axis of values.
type grid struct{ horizontal bool }

// Plot draws the lines.
func (g *grid) Plot(canvas draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&canvas)
	style := draw.LineStyle{Color: faint, Width: 0.5}
	if g.horizontal {
		for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
			canvas.StrokeLine2(style, canvas.Min.X, y(t.Value), canvas.Max.X, y(t.Value))
		}
		return
	}
	for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		canvas.StrokeLine2(style, x(t.Value), canvas.Min.Y, x(t.Value), canvas.Max.Y)
	}
}
