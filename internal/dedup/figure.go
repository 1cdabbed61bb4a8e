package dedup

import "time"

// Quality says how a figure came to be. The zero value is unknown, so a forgotten figure can never pass for a good one.
type Quality uint8

const (
	// QualityUnknown marks a figure without a value; Figure.Why says why.
	QualityUnknown Quality = iota
	// Measured figures were counted where they happened.
	Measured
	// Derived figures follow from measured ones by arithmetic with stated bounds.
	Derived
	// Estimated figures rest on a model.
	Estimated
)

// String returns the word that pages and the API use.
func (q Quality) String() string {
	switch q {
	case Measured:
		return "measured"
	case Derived:
		return "derived"
	case Estimated:
		return "estimated"
	default:
		return "unknown"
	}
}

// Unit is the unit of a figure's value.
type Unit string

// The units in use. Ratios are 0..1 and durations are seconds, as Prometheus conventions ask.
const (
	Ratio   Unit = "ratio"
	Seconds Unit = "seconds"
	Count   Unit = "count"
	PerHour Unit = "per_hour"
	Bytes   Unit = "bytes"
)

// A Figure is a number with its provenance: source, quality, window, sample size, error and age.
// An interval has Low < High and Value = Low; a point has Low = High = Value; a number with a band has Low < Value < High.
type Figure struct {
	Quality Quality
	Value   float64
	Low     float64
	High    float64
	Unit    Unit
	// AtLeast is true when Value is only a lower bound: Low = Value, and High, which equals it, is not known.
	AtLeast bool
	// Source names where the number came from, for people: "reported counters", "residual interval".
	Source string
	// Formula is the arithmetic in one line, in the words of docs/figures.md.
	Formula string
	// Window is the span asked for; zero for an instantaneous figure. Covered is the span that the figure is
	// of, which ends At: shorter where there is less data, and longer by up to one reading where none was taken when the window began.
	Window  time.Duration
	Covered time.Duration
	// N is the sample size: for a rate the messages it was taken over.
	N float64
	// Hits is the numerator of a ratio: for the duplicate rate the duplicates (the low end of an interval).
	Hits float64
	// Error is the half width of the band of an estimated figure, in the figure's unit; zero when there is none. The band itself, which may
	// reach further on one side, is Low to High.
	Error float64
	// At is when the newest sample in it was taken.
	At time.Time
	// Why says why the figure is unknown, or what to bear in mind when it is known.
	Why string
	// Better says how to get a better figure; empty when there is none.
	Better string
}

// Unknown returns a figure without a value and the reason for it.
func Unknown(unit Unit, why string) Figure { return Figure{Unit: unit, Why: why} }

// Known reports whether the figure has a value.
func (f Figure) Known() bool { return f.Quality != QualityUnknown }

// IsInterval reports whether the figure is a range rather than a point.
func (f Figure) IsInterval() bool { return f.Known() && f.Low < f.High }

// InBand reports whether the figure is a number with a band around it.
func (f Figure) InBand() bool { return f.Known() && f.Low < f.Value && f.Value < f.High }

// AtMost reports whether no more than an upper bound is known: High.
func (f Figure) AtMost() bool { return f.Known() && f.Low <= 0 && f.Value == f.Low && f.Low < f.High }

// Bounded reports whether bounds are known and no number between them, so that neither stands for the figure: an upper bound is one.
func (f Figure) Bounded() bool { return f.IsInterval() && !f.InBand() }

// Width returns High - Low, zero for a point or an unknown figure.
func (f Figure) Width() float64 {
	if !f.Known() {
		return 0
	}
	return f.High - f.Low
}

// Partial reports whether less than the whole window has data, as after a start or a gap.
func (f Figure) Partial() bool { return f.Window > 0 && f.Covered < f.Window }

// Exact returns a figure whose low and high ends are its value.
func Exact(q Quality, unit Unit, value float64, at time.Time, source string) Figure {
	return Figure{Quality: q, Unit: unit, Value: value, Low: value, High: value, At: at, Source: source}
}
