package ruletest

import (
	"fmt"
	"strings"
	"testing"

	"dedup-dashboard/internal/alerts/rule"
)

// written writes the first steps of a series: a number, _ for none, E for a source that fails, S for the end.
func written(v values, steps int) string {
	var words []string
	for i := range steps {
		switch at := v.at(i); at.kind {
		case given:
			words = append(words, fmt.Sprint(at.number))
		default:
			words = append(words, map[valueKind]string{missing: "_", failed: "E", stale: "S"}[at.kind])
		}
	}
	return strings.Join(words, " ")
}

func TestValuesAreReadAsPromtoolDoes(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"1", "1 _ _"},
		{"1 2.5 -3 .5", "1 2.5 -3 0.5 _"},
		{"5x2", "5 5 5 _"},
		{"0+10x3", "0 10 20 30 _"},
		{"10-2.5x2 _ 1", "10 7.5 5 _ 1 _"},
		{"-2+4x3", "-2 2 6 10 _"},
		{"_x3 1", "_ _ _ 1 _"},
		{"  1\n\t2 ", "1 2 _"},
		{"1 stale 2 errorx2 3", "1 S 2 E E 3 _"},
		{"1e3 1e-2 0e5", "1000 0.01 0 _"},
		{"0.5% 1% 3% 10% 12.5e0%", "0.005 0.01 0.03 0.1 0.125 _"},
		{"100ms 0.1s 15s 2m 1h 30d", "0.1 0.1 15 120 3600 2.592e+06 _"},
		{"15s+15sx2", "15 30 45 _"},
		{"1%+1%x2", "0.01 0.02 0.03 _"},
	} {
		v, err := parseValues(tt.text)
		if got := written(v, strings.Count(tt.want, " ")+1); err != nil || got != tt.want {
			t.Errorf("%q is read as %s (%v), want %s", tt.text, got, err, tt.want)
		}
	}
}

func TestValuesThatCannotBeReadSayHowToMendThem(t *testing.T) {
	for _, tt := range []struct{ text, why string }{
		{"", "there is no value; write some"},
		{"1 2y 3", `"2y" is no value; write a number`},
		{"NaN", `"NaN" is no value`},
		{"1,2", `"1,2" is no value`},
		{"1x", `"1x" is no value`},
		{"1x-5", `"1x-5" is no value`},
		{"x5", `"x5" is no value`},
		{"5x0", "leave x0 out"},
		{"1+2", `"1+2" does not say how often to add; write x and a number after it, as in 1+2x10`},
		{"1%+1x5", "joins two units; write both numbers in the same one"},
		{"1x100000", "more than 100000 values; write fewer"},
		{"1x60000 1x60000", `"1x60000" makes more than 100000 values`},
		{"1x999999999", "more than 100000 values"},
		{"1x9999999999", "is no value"},
		{"1e999", "no finite number"},
		{"0+1e308x100", "no finite number"},
		{strings.Repeat("9", 400) + "y", strings.Repeat("9", 60) + "..."},
	} {
		if _, err := parseValues(tt.text); err == nil || !strings.Contains(err.Error(), tt.why) {
			t.Errorf("%.40q: %v, want %q", tt.text, err, tt.why)
		}
	}
}

func FuzzValuesAreBoundedAndFinite(f *testing.F) {
	for _, text := range []string{"1 2x3", "0+10x100 _x4 stale", "1%+0.5%x20", "15s+15sx20 error", "-1e5-3x7", "1e308+1e308x2", "\x00",
		"_x100001"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := parseValues(text)
		if err != nil {
			if strings.TrimSpace(err.Error()) == "" || len(err.Error()) > 400 {
				t.Errorf("%q: the error %q helps nobody", text, err)
			}
			return
		}
		last := v[len(v)-1].to
		if last < 1 || last > maxSteps {
			t.Fatalf("%q has %d steps", text, last)
		}
		next := 0
		for _, s := range v {
			if s.from != next || s.to <= s.from {
				t.Fatalf("%q: a word stands for %d to %d after %d", text, s.from, s.to, next)
			}
			next = s.to
			for _, step := range []int{s.from, (s.from + s.to) / 2, s.to - 1} {
				if got := v.at(step); got.kind != s.kind || !rule.Finite(got.number) {
					t.Fatalf("%q: step %d is %+v, want kind %d", text, step, got, s.kind)
				}
			}
		}
		if v.at(last) != (value{}) {
			t.Errorf("%q goes on beyond its end", text)
		}
	})
}
