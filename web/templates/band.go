package templates

import (
	"math"
	"strconv"
	"time"
)

// A Band shows from where to where a figure may be, on the scale of its tiers: for one that is too wide for a single tier.
type Band struct {
	// Label says it in words.
	Label string
	// Left and Wide are the place of the band, Ticks those of the limits of the tiers: shares of the whole, as SVG takes them.
	Left, Wide string
	Ticks      []string
}

// NewBand draws low to high beside the limits, in ascending order. It reaches to the next limit above, so that one sees what is not far.
func NewBand(low, high float64, limits []float64, label string) *Band {
	top := high
	for _, limit := range limits {
		if limit >= high {
			top = limit
			break
		}
	}
	scale := 1.1 * top
	if !(scale > 0) || math.IsInf(scale, 0) || math.IsNaN(low) {
		return nil
	}
	share := func(v float64) string { return strconv.FormatFloat(100*min(1, max(0, v/scale)), 'f', 1, 64) + "%" }
	b := &Band{Label: label, Left: share(low), Wide: share(max(high-low, 0.02*scale))}
	for _, limit := range limits {
		if limit < scale {
			b.Ticks = append(b.Ticks, share(limit))
		}
	}
	return b
}

// PercentBand formats a ratio with half the width of its band, which holds both ends: "2.9 % ± 0.1". Where the band begins at nothing it is
// an upper bound: "≤ 2.30 %". Where half the width would reach far beyond the lower end, or below nothing, both ends are written: "1.2–2.8 %".
func PercentBand(value, low, high float64) string {
	switch {
	case !(low < high) || math.IsInf(high, 0):
		return Percent(value)
	case low <= 0:
		return "≤ " + percentUp(high)
	}
	digits := 2
	switch half := 100 * max(high-value, value-low); {
	case half >= 9.5:
		digits = 0
	case half >= 0.085:
		digits = 1
	}
	if lopsided := 2*(value-low) < high-value || value <= high-value; lopsided {
		return strconv.FormatFloat(100*low, 'f', digits, 64) + "–" + strconv.FormatFloat(100*high, 'f', digits, 64) + " %"
	}
	number, half := banded(100*value, 100*low, 100*high, digits)
	return number + " % ± " + half
}

// percentUp rounds an upper bound up, so that it holds as it is printed.
func percentUp(ratio float64) string {
	return strconv.FormatFloat(math.Ceil(ratio*1e4-1e-6)/100, 'f', 2, 64) + " %"
}

// LatencyBand formats seconds with half the width of their band, which holds both ends: "23 ms ± 5". Where the band begins at nothing it is
// an upper bound: "≤ 50 ms".
func LatencyBand(value, low, high float64) string {
	unit, scale, digits := "ms", 1e3, 0
	switch {
	case !(low < high) || math.IsInf(high, 0):
		return Latency(value)
	case low <= 0:
		return "≤ " + Latency(high)
	case value >= 99.5:
		half := math.Ceil(max(high-value, value-low))
		return Latency(value) + " ± " + Span(time.Duration(half)*time.Second)
	case value >= 9.995:
		unit, scale, digits = "s", 1, 1
	case value >= 0.9995:
		unit, scale, digits = "s", 1, 2
	case value < 0.00995:
		digits = 1
	}
	number, half := banded(scale*value, scale*low, scale*high, digits)
	return number + " " + unit + " ± " + half
}

// NumberBand formats a count with half the width of its band, which holds both ends: "21 ± 8".
func NumberBand(value, low, high float64) string {
	return Number(value) + " ± " + Number(math.Ceil(max(high-math.Round(value), math.Round(value)-low)-1e-9))
}

// banded writes a number with so many digits, and how far its band reaches from what is written, at most.
func banded(value, low, high float64, digits int) (number, half string) {
	unit := math.Pow(10, float64(digits))
	value = math.Round(value*unit) / unit
	reach := math.Ceil(max(high-value, value-low)*unit-1e-6) / unit
	return strconv.FormatFloat(value, 'f', digits, 64), strconv.FormatFloat(reach, 'f', digits, 64)
}
