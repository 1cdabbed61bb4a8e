package web

import (
	"math"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
)

// FigureJSON is a figure with its whole provenance. A number that is not known is null, and Why says why.
type FigureJSON struct {
	Value *float64 `json:"value"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`
	// AtLeast says that the value is a lower bound. High is null then, but for a ratio: there is nothing above 1.
	AtLeast bool `json:"at_least"`
	// AtMost says that no more than High is known; Value and Low are 0 then.
	AtMost  bool       `json:"at_most"`
	Unit    string     `json:"unit"`
	Quality string     `json:"quality"`
	Source  string     `json:"source"`
	Formula string     `json:"formula"`
	Window  float64    `json:"window_seconds"`
	Covered float64    `json:"covered_seconds"`
	N       *float64   `json:"n"`
	Hits    *float64   `json:"hits"`
	Error   *float64   `json:"error"`
	At      *time.Time `json:"at"`
	Age     *float64   `json:"age_seconds"`
	Why     string     `json:"why"`
	Better  string     `json:"better"`
}

// FigureOf writes a figure as it is at a time.
func FigureOf(f dedup.Figure, now time.Time) FigureJSON {
	j := FigureJSON{
		Unit: string(f.Unit), Quality: f.Quality.String(), Source: f.Source, Formula: f.Formula,
		Window: f.Window.Seconds(), Covered: f.Covered.Seconds(), At: Time(f.At), Why: f.Why, Better: f.Better,
	}
	if !f.At.IsZero() {
		j.Age = Number(math.Max(0, now.Sub(f.At).Seconds()))
	}
	if f.N > 0 {
		j.N = Number(f.N) // also of an unknown figure: too few is a reason
	}
	if !f.Known() {
		if j.Why == "" {
			j.Why = "no data"
		}
		if f.N > 0 && f.Low < f.High { // too wide to be judged by, and true all the same
			if f.Unit == dedup.Count {
				f = whole(f)
			}
			if j.Low, j.High = Number(f.Low), Number(f.High); j.Low == nil || j.High == nil {
				j.Low, j.High = nil, nil
			}
		}
		return j
	}
	if f.Unit == dedup.Count && f.IsInterval() {
		f = whole(f)
	}
	j.Value, j.Low, j.High = Number(f.Value), Number(f.Low), Number(f.High)
	j.Error, j.AtMost = Number(f.Error), f.AtMost()
	if f.AtLeast {
		j.AtLeast, j.High = true, nil
		if f.Unit == dedup.Ratio {
			j.High = Number(1)
		}
	}
	if f.N > 0 && f.Unit == dedup.Ratio {
		j.Hits = Number(math.Round(f.Hits)) // there is no part of a message
	}
	if j.Value == nil {
		j.Quality = dedup.QualityUnknown.String()
		j.Low, j.High, j.Hits, j.Error, j.AtLeast, j.AtMost = nil, nil, nil, nil, false, false
		if j.Why == "" {
			j.Why = "the value is not a number"
		}
	}
	return j
}

// whole rounds the ends of an interval of a count outwards: there is no part of a message. A mean has no interval.
func whole(f dedup.Figure) dedup.Figure {
	f.Low, f.High = math.Floor(f.Low), math.Ceil(f.High)
	f.Value = min(max(math.Round(f.Value), f.Low), f.High)
	return f
}

// Reading writes figures as they hold at now.
type Reading struct {
	now time.Time
	// Late says that rounds are late, and is empty while they are not: then no old number passes for one of now.
	Late string
}

// ReadingOf is how figures of a snapshot are to be written at now.
func ReadingOf(snap *dedup.Snapshot, now time.Time) Reading {
	return Reading{now, show.Late(snap, now)}
}

// Figure writes a figure; an unknown one while rounds are late.
func (r Reading) Figure(f dedup.Figure) FigureJSON {
	if r.Late != "" {
		old := f
		f = dedup.Unknown(old.Unit, r.Late)
		// When its newest sample was taken is still so.
		f.Source, f.Formula, f.Window, f.At = old.Source, old.Formula, old.Window, old.At
	}
	return FigureOf(f, r.now)
}
