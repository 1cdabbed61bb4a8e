package truth

import (
	"math"
	"time"

	"dedup-dashboard/internal/dedup"
)

// windows are the spans whose figures are judged: the two of which disjoint ones are counted in mid-run, and that of figures at rest.
func windows() []time.Duration { return []time.Duration{liveShort, liveLong, atRest} }

const (
	liveShort = time.Minute
	liveLong  = 5 * time.Minute
	atRest    = time.Hour
)

// The limits of a usable rate: its half width is at most usablePoints, or usableMessages of those that it is of.
const (
	usablePoints   = 0.005
	usableMessages = 2
)

// usable reports whether a rate is narrow enough to act on.
func usable(f dedup.Figure) bool {
	return f.Known() && f.N > 0 && (f.High-f.Low)/2 <= math.Max(usablePoints, usableMessages/f.N)+rounding
}

// A Coverage counts disjoint windows of one length while traffic flowed: how many had a figure, how many of these held the truth, how many
// were usable, and how many missed it by more than their band.
type Coverage struct{ Windows, Held, Usable, Wrong int }

func (c Coverage) plus(o Coverage) Coverage {
	return Coverage{c.Windows + o.Windows, c.Held + o.Held, c.Usable + o.Usable, c.Wrong + o.Wrong}
}

// Least is the lower limit of the share of windows that hold the truth, with a confidence of 95 %: Wilson's score interval.
func (c Coverage) Least() float64 {
	if c.Windows == 0 {
		return 0
	}
	const z = 1.96
	n, p := float64(c.Windows), float64(c.Held)/float64(c.Windows)
	return (p + z*z/(2*n) - z*math.Sqrt(p*(1-p)/n+z*z/(4*n*n))) / (1 + z*z/n)
}

// Ends are the rounds of the observer while traffic flowed and a rate over 5 minutes was told, and those of them in which its window ended later than in
// the round before.
type Ends struct{ Rounds, Moved int }

func (e Ends) plus(o Ends) Ends { return Ends{e.Rounds + o.Rounds, e.Moved + o.Moved} }

// A disjoint list keeps each figure of one window length that begins where the last one ended, or later.
type disjoint struct {
	length time.Duration
	all    []dedup.Figure
}

// add keeps the figure if it claims something of most of its window, and of none that was kept.
func (d *disjoint) add(f dedup.Figure) {
	if !claims(f) || f.Covered < d.length*9/10 {
		return
	}
	if n := len(d.all); n == 0 || !f.At.Add(-f.Covered).Before(d.all[n-1].At) {
		d.all = append(d.all, f)
	}
}

// coverage holds each against the truth of its span.
func (d *disjoint) coverage(of func(dedup.Figure) (low, high float64)) Coverage {
	var c Coverage
	for _, f := range d.all {
		low, high := of(f)
		v := judge(low, high, f)
		c.Windows++
		if v.Miss <= rounding || f.Low == f.High && v.Miss <= tolerance+rounding {
			c.Held++
		}
		if v.Verdict == Wrong {
			c.Wrong++
		}
		if usable(f) {
			c.Usable++
		}
	}
	return c
}
