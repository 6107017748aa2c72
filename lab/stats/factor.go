package stats

import (
	"fmt"
	"math"
)

// Factor prints a ratio in three digits: "0.97", "1.84", "12.3", "480". What is so near to 1 that
// it would look like it has one more: a bound of 1.004 decides, and one of 1 does not.
func Factor(f float64) string {
	switch {
	case f >= 99.95:
		return fmt.Sprintf("%.0f", f)
	case f >= 9.995:
		return fmt.Sprintf("%.1f", f)
	case f < 0.0995:
		return fmt.Sprintf("%.2g", f)
	case math.Abs(f-1) < 0.005 && math.Abs(f-1) >= 0.0005:
		return fmt.Sprintf("%.3f", f)
	}
	return fmt.Sprintf("%.2f", f)
}
