package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/assaydb/assay/lab/result"
)

// duration prints nanoseconds with three significant digits: "1.84 µs".
func duration(ns float64) string {
	return scaled(ns, 1000, "ns", "µs", "ms", "s")
}

// size prints bytes: "512 B", "4.00 KiB".
func size(bytes float64) string {
	return scaled(bytes, 1024, "B", "KiB", "MiB", "GiB", "TiB")
}

// scaled prints v with the unit that leaves at least 1 in front of it.
func scaled(v, step float64, units ...string) string {
	u := 0
	for u < len(units)-1 && math.Abs(v) >= step*0.9995 {
		v /= step
		u++
	}
	return significant(v) + " " + units[u]
}

// significant prints v with three significant digits, and without those that mean nothing: "0",
// "0.25", "3", "1.84", "412", "48213".
func significant(v float64) string {
	switch a := math.Abs(v); {
	case math.Abs(v-math.Round(v)) < 1e-9 && a < 1000:
		return strconv.FormatFloat(math.Round(v), 'f', -1, 64)
	case a >= 99.95:
		return fmt.Sprintf("%.0f", v)
	case a >= 9.995:
		return fmt.Sprintf("%.1f", v)
	case a >= 0.9995:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.2g", v)
}

// count prints a number of things per operation, large ones with a k or M: "3", "20.1", "48.2k".
func count(v float64) string {
	switch {
	case math.Abs(v) >= 999_500:
		return significant(v/1e6) + "M"
	case math.Abs(v) >= 9_995:
		return significant(v/1e3) + "k"
	}
	return significant(v)
}

// Grouped prints a whole number with commas: "12,480".
func Grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// metric prints a figure with the unit that its name ends with: "lock-wait-p99 1.20 ms".
func metric(m result.Metric) string {
	for suffix, print := range map[string]func(float64) string{"-ns": duration, "-B": size} {
		if name, ok := strings.CutSuffix(m.Name, suffix); ok {
			return name + " " + print(m.Value)
		}
	}
	return m.Name + " " + count(m.Value)
}

// percent prints a half-width: "±3%", "±0.4%".
func percent(f float64) string {
	switch p := 100 * f; {
	case p >= 0.95:
		return fmt.Sprintf("±%.0f%%", p)
	case p >= 0.05:
		return fmt.Sprintf("±%.1f%%", p)
	}
	return "±0%"
}

// bar draws share, from 0 to 1, of width cells in eighths of a cell; what is drawn is never
// nothing.
func bar(share float64, width int) string {
	eighths := int(math.Round(min(max(share, 0), 1) * float64(8*width)))
	eighths = max(eighths, 1)
	full := make([]rune, 0, width)
	for range eighths / 8 {
		full = append(full, '█')
	}
	if rest := eighths % 8; rest > 0 {
		full = append(full, []rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return string(full)
}
