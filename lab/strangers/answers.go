package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// A figure is one of the API.
type figure struct {
	Value, Low, High *float64
	AtLeast          bool `json:"at_least"`
	AtMost           bool `json:"at_most"`
	Quality, Source  string
	Covered          float64    `json:"covered_seconds"`
	N                *float64   `json:"n"`
	At               *time.Time `json:"at"`
	Why              string
}

// claims says whether a figure says anything: a rate between 0 and 1 does not.
func (f figure) claims() bool {
	return f.At != nil && f.Low != nil && (f.Value != nil || f.High != nil && *f.High > *f.Low && (*f.Low > 0 || *f.High < 1))
}

// usable is a number that is exact to half a point either way.
func (f figure) usable() bool {
	return f.Value != nil && !f.AtLeast && !f.AtMost && f.High != nil && *f.High-*f.Low <= 0.01
}

// miss is how far the truth lies outside of what was shown.
func (f figure) miss(truth bounds) float64 {
	m := max(0, *f.Low-truth.high)
	if f.High != nil && !f.AtLeast {
		m = max(m, truth.low-*f.High)
	}
	if m < 1e-9 {
		return 0
	}
	return m
}

// span is what a figure covers, in microseconds.
func (f figure) span() (from, to int64) {
	to = f.At.UnixMicro()
	return to - int64(f.Covered*1e6), to
}

// shown is who tells a figure, and in what form.
func (f figure) shown() string {
	switch {
	case !f.claims():
		return "unknown"
	case f.AtMost:
		return f.Source + " (at most)"
	case f.AtLeast:
		return f.Source + " (at least)"
	case f.Value == nil:
		return f.Source + " (wide)"
	}
	return f.Source
}

// String writes a figure that claims something.
func (f figure) String() string {
	high := "…"
	if f.High != nil {
		high = fmt.Sprintf("%.5g", *f.High)
	}
	flags := ""
	if f.AtLeast {
		flags += " at least"
	}
	if f.AtMost {
		flags += " at most"
	}
	if f.Value == nil {
		flags += " (wide)"
	}
	n := 0.0
	if f.N != nil {
		n = *f.N
	}
	return fmt.Sprintf("[%.5g, %s]%s %s/%s n=%.0f at %s over %.1fs", *f.Low, high, flags, f.Quality, f.Source, n, clock(*f.At), f.Covered)
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05.0") }

// An estimate is the duplicate rate by one method.
type estimate struct {
	Method string
	Rate   figure
	Uses   []string
}

// A window is all figures of the latest minutes, by their names.
type window struct {
	Window    float64 `json:"window_seconds"`
	Estimates []estimate
	Figures   map[string]figure `json:"-"`
}

// UnmarshalJSON takes each object for a figure that looks like one.
func (w *window) UnmarshalJSON(text []byte) error {
	type plain window
	if err := json.Unmarshal(text, (*plain)(w)); err != nil {
		return err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	w.Figures = map[string]figure{}
	for name, raw := range all {
		var f figure
		if len(raw) > 0 && raw[0] == '{' && json.Unmarshal(raw, &f) == nil {
			w.Figures[name] = f
		}
	}
	return nil
}

// A detail is what the API says of a pipeline.
type detail struct {
	Windows     []window
	Markers     map[string]figure
	Stuck       figure
	DeadLetters figure `json:"dead_letters"`
	Findings    []struct{ Kind, Tier string }
}

// A look is a detail with the time at which it was asked for.
type look struct {
	at int64
	detail
}

// An answer is one line of answers.json.gz: what the API said of a pipeline, or without a name how busy the machine was.
type answer struct {
	At   int64           `json:"at"`
	Name string          `json:"name"`
	Load string          `json:"load,omitempty"`
	Late float64         `json:"late,omitempty"` // how late this program was woken at most, in seconds
	Body json.RawMessage `json:"body,omitempty"`
}

// answers are all that were kept of a run.
type answers struct {
	looks map[string][]look
	loads []string
	late  []float64
}

const answersFile = "answers.json.gz"

// readAnswers reads those in a folder.
func readAnswers(folder string) (*answers, error) {
	all := &answers{looks: map[string][]look{}}
	err := readZipped(filepath.Join(folder, answersFile), all.add)
	return all, err
}

func (all *answers) add(a answer) error {
	if a.Name == "" {
		load, _, _ := strings.Cut(a.Load, " ")
		all.loads, all.late = append(all.loads, load), append(all.late, a.Late)
		return nil
	}
	l := look{at: a.At}
	if err := json.Unmarshal(a.Body, &l.detail); err != nil {
		return err
	}
	all.looks[a.Name] = append(all.looks[a.Name], l)
	return nil
}
