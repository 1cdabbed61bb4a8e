package main

import (
	"fmt"
	"io"
	"math"
)

// A target is the limit that a figure is compared with; the zero target compares with nothing.
type target struct {
	atMost  float64
	atLeast float64 // used instead when it is set
	zero    bool    // the limit is 0
}

// none is the target of what must not happen.
var none = target{zero: true}

func (t target) String() string {
	switch {
	case t == (target{}):
		return "-"
	case t.atLeast != 0:
		return ">= " + number(t.atLeast)
	default:
		return "<= " + number(t.atMost)
	}
}

func (t target) reached(value float64) bool {
	if t.atLeast != 0 {
		return value >= t.atLeast
	}
	return value <= t.atMost
}

// table prints a figure as soon as it is known, in columns.
type table struct{ out io.Writer }

const row = "%-66s\t%10s\t%-8s\t%-8s\t%s\n"

func (t *table) head() { fmt.Fprintf(t.out, row, "figure", "value", "unit", "target", "") }

func (t *table) add(name string, value float64, unit string, goal target) {
	verdict := ""
	switch {
	case goal == (target{}):
	case goal.reached(value):
		verdict = "ok"
	default:
		verdict = "short"
	}
	fmt.Fprintf(t.out, row, name, number(value), unit, goal, verdict)
}

// number prints three significant digits, and whole numbers from 100 on.
func number(v float64) string {
	if math.Abs(v) >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}
