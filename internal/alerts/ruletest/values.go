package ruletest

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"dedup-dashboard/internal/alerts/rule"
)

// maxSteps bounds the values of a series and the evaluations of a test, so that a slip of the pen never hangs it: at an interval of
// 15 s it is 17 days.
const maxSteps = 100_000

// A valueKind says what a step of a series holds.
type valueKind uint8

const (
	// missing: there is no data.
	missing valueKind = iota
	// given: there is a value.
	given
	// failed: the source cannot be read.
	failed
	// stale: the series ends.
	stale
)

// A value is one step of a series.
type value struct {
	kind   valueKind
	number float64
}

// A stretch is some steps of a series that one word gives: from (with) to (without).
type stretch struct {
	word      string
	kind      valueKind
	first, by float64
	// unit is that of the numbers: "%", "s", or none.
	unit     string
	from, to int
}

func (s stretch) number(step int) float64 { return s.first + s.by*float64(step-s.from) }

// values are the steps of a series.
type values []stretch

// always is one value for every step.
func always(number float64) values {
	return values{{kind: given, first: number, to: math.MaxInt}}
}

// at returns a step; beyond the last one nothing is known.
func (v values) at(step int) value {
	i, _ := slices.BinarySearchFunc(v, step, func(s stretch, step int) int {
		if s.to <= step {
			return -1
		}
		return 1
	})
	switch {
	case i == len(v):
		return value{}
	case v[i].kind != given:
		return value{kind: v[i].kind}
	}
	return value{kind: given, number: v[i].number(step)}
}

// wordForm is one word of the notation: a word or a number with an optional step, and how often.
var wordForm = regexp.MustCompile(`^(?:(_|stale|error)|([-+]?` + numberForm + `)(?:([-+])(` + numberForm + `))?)(?:x([0-9]{1,9}))?$`)

const numberForm = `(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]{1,3})?(?:%|ms|s|m|h|d)?`

// parseValues reads the notation. Its error names the word that is wrong, and says how to fix it.
func parseValues(text string) (values, error) {
	var all values
	steps := 0
	for word := range strings.FieldsSeq(text) {
		s, n, err := parseWord(word)
		switch {
		case err != nil:
			return nil, err
		case n > maxSteps-steps:
			return nil, fmt.Errorf("%q makes more than %d values; write fewer, or a longer interval", clipped(word), maxSteps)
		}
		s.from, s.to = steps, steps+n
		steps = s.to
		if !rule.Finite(s.number(s.from), s.number(s.to-1)) {
			return nil, fmt.Errorf("%q leads to no finite number; write a smaller one", clipped(word))
		}
		all = append(all, s)
	}
	if steps == 0 {
		return nil, fmt.Errorf("there is no value; write some, as in 0x10 5+1x20 _x4")
	}
	return all, nil
}

// parseWord reads one word and returns for how many steps it stands.
func parseWord(word string) (stretch, int, error) {
	s := stretch{word: clipped(word)}
	m := wordForm.FindStringSubmatch(word)
	if m == nil {
		return s, 0, fmt.Errorf("%q is no value; write a number with or without a unit (5, 0.5%%, 100ms, 15s), "+
			"a+bxn, axn, _, _xn, stale or error", s.word)
	}
	times, repeated := 0, m[5] != ""
	if repeated {
		times, _ = strconv.Atoi(m[5]) // at most nine digits
	}
	if repeated && times == 0 {
		return s, 0, fmt.Errorf("%q stands for no repetition; leave x0 out", s.word)
	}
	if m[1] != "" {
		s.kind = map[string]valueKind{"_": missing, "stale": stale, "error": failed}[m[1]]
		return s, max(1, times), nil
	}
	if m[3] != "" && !repeated {
		return s, 0, fmt.Errorf("%q does not say how often to add; write x and a number after it, as in %sx10", s.word, s.word)
	}
	unit, by := "", 0.0
	s.kind = given
	s.first, s.unit = parseNumber(m[2])
	if m[3] != "" {
		by, unit = parseNumber(m[4])
		if unit != s.unit {
			return s, 0, fmt.Errorf("%q joins two units; write both numbers in the same one", s.word)
		}
		s.by = by
		if m[3] == "-" {
			s.by = -by
		}
	}
	return s, times + 1, nil // as promtool does: x20 is 20 times more
}

// parseNumber reads a number of the notation and returns its unit: "%" for a ratio, "s" for seconds. What lies beyond all numbers is
// infinite.
func parseNumber(text string) (float64, string) {
	for _, u := range []struct {
		suffix, kind, exponent string
		factor                 float64
	}{{"%", "%", "e-2", 0.01}, {"ms", "s", "e-3", 0.001}, {"s", "s", "", 1}, {"m", "s", "", 60}, {"h", "s", "", 3600}, {"d", "s", "", 86400}} {
		digits, ok := strings.CutSuffix(text, u.suffix)
		if !ok {
			continue
		}
		if u.exponent != "" && !strings.Contains(digits, "e") {
			v, _ := strconv.ParseFloat(digits+u.exponent, 64) // nearer to what is written than a product
			return v, u.kind
		}
		v, _ := strconv.ParseFloat(digits, 64)
		return v * u.factor, u.kind
	}
	v, _ := strconv.ParseFloat(text, 64)
	return v, ""
}

// clipped shortens a word for a message.
func clipped(word string) string {
	const most = 60
	if len(word) <= most {
		return word
	}
	return strings.ToValidUTF8(word[:most], "") + "..."
}
