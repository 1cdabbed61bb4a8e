package main

import (
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"
)

// A figure is one of the API.
type figure struct {
	Value, Low, High *float64
	AtLeast          bool `json:"at_least"`
	AtMost           bool `json:"at_most"`
	Quality, Source  string
	Window           float64    `json:"window_seconds"`
	Covered          float64    `json:"covered_seconds"`
	N                *float64   `json:"n"`
	At               *time.Time `json:"at"`
	Why              string
}

type estimate struct {
	Method string
	Rate   figure
	Uses   []string
}

type window struct {
	Window    float64 `json:"window_seconds"`
	Estimates []estimate
	Figures   map[string]figure `json:"-"`
}

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

type detail struct {
	Tier        string
	Why         string
	Windows     []window
	Markers     map[string]figure
	Stuck       figure
	DeadLetters figure                  `json:"dead_letters"`
	Duplicates  struct{ Figure figure } `json:"duplicate_rate"`
	Findings    []struct{ Kind, Tier, Text, Evidence string }
	Cause       *struct{ Kind, Text string }
}

// truth is a ledger that can be asked.
type truth struct {
	record
	acks []event
	by   map[string][]event
	// levels are the dead letters there and that ever came, done markers and orphans after each of their changes.
	dead, orphaned []level
	marks          []int64 // sorted: when done markers were first written, or again after they had ended
	ends           []int64
}

type level struct {
	at          int64
	there, came float64
}

func levelAt(l []level, at int64) level {
	i := sort.Search(len(l), func(i int) bool { return l[i].at > at })
	if i == 0 {
		return level{}
	}
	return l[i-1]
}

func newTruth(r record) *truth {
	t := &truth{record: r, by: map[string][]event{}}
	sort.SliceStable(r.Events, func(i, j int) bool { return r.Events[i].At < r.Events[j].At })
	for _, e := range r.Events {
		if e.Kind == "ack" || e.Kind == "auto" {
			t.acks = append(t.acks, e)
		}
		t.by[e.Kind] = append(t.by[e.Kind], e)
	}
	t.index()
	return t
}

func in(events []event, from, to int64) []event {
	i := sort.Search(len(events), func(i int) bool { return events[i].At >= from })
	j := sort.Search(len(events), func(i int) bool { return events[i].At > to })
	if j < i {
		return nil
	}
	return events[i:j]
}

func count(events []event, of func(event) bool) float64 {
	n := 0.0
	for _, e := range events {
		if of(e) {
			n++
		}
	}
	return n
}

func (t *truth) isDup(e event) bool      { return e.How == "dup" && !e.Lost }
func (t *truth) maybeDup(e event) bool   { return e.How == "dup" || e.How == "early" && t.Done[e.ID] > 0 }
func (t *truth) isPlain(e event) bool    { return !t.maybeDup(e) && !e.Lost && e.How != "moved" }
func (t *truth) maybePlain(e event) bool { return !t.isDup(e) }

// spanOf is the span of a figure in microseconds, shrunk and widened by a grace.
func (f figure) span(grace time.Duration) (from, to, wideFrom, wideTo int64) {
	to = f.At.UnixMicro()
	from = to - int64(f.Covered*1e6)
	g := grace.Microseconds()
	return from + g, to - g, from - g, to + g
}

func (t *truth) rate(f figure, grace time.Duration) (low, high float64) {
	from, to, wideFrom, wideTo := f.span(grace)
	narrow, wide := in(t.acks, from, to), in(t.acks, wideFrom, wideTo)
	low, high = 0, 1
	d, n := count(narrow, t.isDup), count(wide, t.maybePlain)
	if d+n > 0 {
		low = d / (d + n)
	}
	d, n = count(wide, t.maybeDup), count(narrow, t.isPlain)
	if d+n > 0 {
		high = d / (d + n)
	}
	return low, high
}

func (t *truth) counts(f figure, grace time.Duration, events []event, sure, perhaps func(event) bool) (low, high float64) {
	from, to, wideFrom, wideTo := f.span(grace)
	return count(in(events, from, to), sure), count(in(events, wideFrom, wideTo), perhaps)
}

func always(event) bool { return true }
func never(event) bool  { return false }

// held are the times for which deliveries were held that ended in a span.
func (t *truth) held(from, to int64, onlyAcks bool) []float64 {
	var all []float64
	for _, kind := range []string{"ack", "req", "rej", "died"} {
		if onlyAcks && kind != "ack" {
			continue
		}
		for _, e := range in(t.by[kind], from, to) {
			if e.Came > 0 && e.How != "moved" && !e.Lost {
				all = append(all, float64(e.At-e.Came)/1e6)
			}
		}
	}
	return all
}

func mean(x []float64) float64 {
	s := 0.0
	for _, v := range x {
		s += v
	}
	return s / float64(len(x))
}

func (t *truth) shifted(f figure, grace time.Duration, do func(from, to int64)) {
	to := f.At.UnixMicro()
	from := to - int64(f.Covered*1e6)
	for _, a := range []float64{-1, 0, 1} {
		for _, b := range []float64{-1, 0, 1} {
			do(from+int64(a*float64(grace.Microseconds())), to+int64(b*float64(grace.Microseconds())))
		}
	}
}

func (t *truth) latency(f figure, grace time.Duration, of func([]float64) float64, both bool) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	t.shifted(f, grace, func(from, to int64) {
		for _, only := range []bool{true, false} {
			if !only && !both {
				continue
			}
			if x := t.held(from, to, only); len(x) > 0 {
				v := of(x)
				low, high = min(low, v), max(high, v)
			}
		}
	})
	return low - 0.001, high + 0.003
}

func quantile(q float64) func([]float64) float64 {
	return func(x []float64) float64 {
		x = slices.Sorted(slices.Values(x))
		return x[min(len(x)-1, int(math.Ceil(q*float64(len(x))))-1+0)]
	}
}

func (t *truth) works(f figure, grace time.Duration, of func([]float64) float64) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	t.shifted(f, grace, func(from, to int64) {
		var x []float64
		for _, e := range in(t.by["work"], from, to) {
			x = append(x, float64(e.Dur)/1e6)
		}
		if len(x) > 0 {
			v := of(x)
			low, high = min(low, v), max(high, v)
		}
	})
	return low * 0.98, high*1.02 + 0.02 // percentiles are within 2 %, and the commands of the store take their time
}

// depth is the number of dead letters at a time, and of all that ever came.
func (t *truth) depth(at int64) (there, came float64) {
	l := levelAt(t.dead, at)
	return l.there, l.came
}

// index makes the levels.
func (t *truth) index() {
	last := map[string]int64{}
	taken := 0.0
	ends := map[string]int64{}
	open := map[string]int64{}
	for _, e := range t.Events {
		switch e.Kind {
		case "depth", "take":
			if e.Kind == "depth" {
				last[e.Q] = e.N
			} else {
				taken++
			}
			there := 0.0
			for _, n := range last {
				there += float64(n)
			}
			t.dead = append(t.dead, level{e.At, there, there + taken})
		case "mark":
			if old, ok := ends[e.ID]; !ok || old < e.At {
				t.marks = append(t.marks, e.At)
			} else {
				t.ends[slices.Index(t.ends, old)] = e.At + e.Dur
				ends[e.ID] = e.At + e.Dur
				continue
			}
			ends[e.ID] = e.At + e.Dur
			t.ends = append(t.ends, e.At+e.Dur)
		case "orphan":
			open[e.ID] = e.At + e.Dur
		case "work":
			delete(open, e.ID)
		}
		if e.Kind == "orphan" || e.Kind == "work" {
			n := 0.0
			for _, end := range open {
				if end > e.At {
					n++
				}
			}
			t.orphaned = append(t.orphaned, level{at: e.At, there: n})
		}
	}
	slices.Sort(t.ends)
}

func (t *truth) depths(at time.Time, before, after time.Duration) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for d := -before; d <= after; d += 500 * time.Millisecond {
		v, _ := t.depth(at.Add(d).UnixMicro())
		low, high = min(low, v), max(high, v)
	}
	return low, high
}

// doneMarkers is how many live done markers there are at a time.
func (t *truth) doneMarkers(at int64) float64 {
	until := func(x []int64) int { return sort.Search(len(x), func(i int) bool { return x[i] > at }) }
	return float64(until(t.marks) - until(t.ends))
}

// orphans are claims that died consumers left behind and that are still there.
func (t *truth) orphans(at int64) float64 { return levelAt(t.orphaned, at).there }

// of returns between what the truth of a figure lies; ok is false for what is not judged.
func (t *truth) of(name string, f figure, grace time.Duration) (low, high float64, ok bool) {
	if f.At == nil {
		return 0, 0, false
	}
	is := func(how string) func(event) bool { return func(e event) bool { return e.How == how } }
	var lo, hi float64
	switch name {
	case "duplicate_rate", "cross_check":
		lo, hi = t.rate(f, grace)
	case "messages":
		lo, hi = t.counts(f, grace, t.acks, func(e event) bool { return !e.Lost && e.How != "moved" }, always)
	case "duplicates":
		lo, hi = t.counts(f, grace, t.acks, t.isDup, t.maybeDup)
	case "producer_sent":
		lo, hi = t.counts(f, grace, t.acks, func(e event) bool { return t.isDup(e) && e.Sent }, func(e event) bool { return t.maybeDup(e) && (e.Sent || e.How == "early") })
	case "redelivered":
		lo, hi = t.counts(f, grace, t.acks, func(e event) bool { return t.isDup(e) && !e.Sent }, func(e event) bool { return t.maybeDup(e) && !e.Sent })
	case "swallowed":
		lo, hi = t.counts(f, grace, t.acks, is("swallowed"), func(e event) bool { return e.How == "swallowed" || e.How == "early" })
	case "failures":
		lo, hi = t.counts(f, grace, t.by["fail"], always, always)
	case "in_flight_hits", "looping":
		lo, hi = t.counts(f, grace, t.by["hit"], always, always)
	case "double_effects":
		lo, hi = t.counts(f, grace, t.by["again"], always, always)
	case "failure_rate":
		fl, fh := t.counts(f, grace, t.by["fail"], always, always)
		wl, wh := t.counts(f, grace, t.by["work"], always, always)
		lo, hi = 0, 1
		if fl+wh > 0 {
			lo = fl / (fl + wh)
		}
		if fh+wl > 0 {
			hi = fh / (fh + wl)
		}
	case "ack_mean":
		lo, hi = t.latency(f, grace, mean, true)
	case "ack_p50":
		lo, hi = t.latency(f, grace, quantile(0.5), false)
	case "ack_p95":
		lo, hi = t.latency(f, grace, quantile(0.95), false)
	case "ack_p99":
		lo, hi = t.latency(f, grace, quantile(0.99), false)
	case "work_mean":
		lo, hi = t.works(f, grace, mean)
	case "work_p50":
		lo, hi = t.works(f, grace, quantile(0.5))
	case "work_p95":
		lo, hi = t.works(f, grace, quantile(0.95))
	case "work_p99":
		lo, hi = t.works(f, grace, quantile(0.99))
	case "dead_letter_inflow":
		g := int64(6e6)
		to := f.At.UnixMicro()
		from := to - int64(f.Covered*1e6)
		_, a := t.depth(to - g)
		_, b := t.depth(from + g)
		_, c := t.depth(to + g)
		_, d := t.depth(from - g)
		if f.Covered <= 0 {
			return 0, 0, false
		}
		lo, hi = max(0, a-b)*3600/f.Covered, max(0, c-d)*3600/f.Covered
	default:
		return 0, 0, false
	}
	if math.IsInf(lo, 0) {
		return 0, 0, false
	}
	return lo, hi, true
}

func (f figure) claims() bool {
	return f.At != nil && f.Low != nil && (f.Value != nil || f.High != nil && *f.High > *f.Low && (*f.Low > 0 || *f.High < 1))
}

// miss is how far the truth lies outside.
func (f figure) miss(lo, hi float64) float64 {
	m := max(0, *f.Low-hi)
	if f.High != nil && !f.AtLeast {
		m = max(m, lo-*f.High)
	}
	if m < 1e-9 {
		return 0
	}
	return m
}

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
	return fmt.Sprintf("[%.5g, %s]%s %s/%s n=%.0f at %s over %.1fs", *f.Low, high, flags, f.Quality, f.Source, n, f.At.UTC().Format("15:04:05.0"), f.Covered)
}

// A tally is what came of one kind of figure.
type tally struct {
	judged, wrong, tight int
	worst                float64
	examples             []string
	widths               []float64
}

func readZipped(path string, each func(*json.Decoder) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	d := json.NewDecoder(z)
	for {
		if err := each(d); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func judgeAll(folder string, out io.Writer) error {
	truths := map[string]*truth{}
	files, err := filepath.Glob(filepath.Join(folder, "ledger-*.json.gz"))
	if err != nil {
		return err
	}
	for _, name := range files {
		var r record
		err := readZipped(name, func(d *json.Decoder) error {
			if err := d.Decode(&r); err != nil {
				return err
			}
			return io.EOF
		})
		if err != nil {
			return err
		}
		truths[r.Name] = newTruth(r)
	}
	type looks struct {
		at int64
		d  detail
	}
	all := map[string][]looks{}
	var loads []string
	late := []float64{}
	err = readZipped(filepath.Join(folder, "answers.json.gz"), func(d *json.Decoder) error {
		var a answer
		if err := d.Decode(&a); err != nil {
			return err
		}
		if a.Name == "" {
			loads = append(loads, strings.Fields(a.Load)[0])
			late = append(late, a.Late)
			return nil
		}
		var x detail
		if err := json.Unmarshal(a.Body, &x); err != nil {
			return err
		}
		all[a.Name] = append(all[a.Name], looks{a.At, x})
		return nil
	})
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	fmt.Fprintf(out, "load each 5 s: %s\nlatest waking: median %.3f s, most %.3f s\n", strings.Join(loads, " "), quantile(0.5)(late), slices.Max(late))
	names := slices.Sorted(func(yield func(string) bool) {
		for n := range all {
			if !yield(n) {
				return
			}
		}
	})
	for _, name := range names {
		t := truths[name]
		if t == nil {
			fmt.Fprintf(out, "\n%s has no ledger\n", name)
			continue
		}
		tallies := map[string]*tally{}
		seen := map[string]bool{}
		take := func(what, field string, f figure, at int64) {
			if !f.claims() {
				return
			}
			id := what + f.String()
			if seen[id] {
				return
			}
			seen[id] = true
			lo, hi, ok := t.of(field, f, time.Second)
			if !ok {
				return
			}
			x := tallies[what]
			if x == nil {
				x = &tally{}
				tallies[what] = x
			}
			x.judged++
			if f.High != nil {
				x.widths = append(x.widths, *f.High-*f.Low)
			}
			if m := f.miss(lo, hi); m > 0 {
				x.wrong++
				x.worst = max(x.worst, m)
				if len(x.examples) < 400 {
					x.examples = append(x.examples, fmt.Sprintf("miss %.5g: shown %s, truth [%.5g, %.5g]", m, f, lo, hi))
				}
			} else if lo, hi, ok := t.of(field, f, 300*time.Millisecond); ok && f.miss(lo, hi) > 0 {
				x.tight++
			}
		}
		usable, known := map[float64]float64{}, map[float64]float64{}
		ackUsable := 0.0
		sources := map[string]int{}
		whys := map[string]int{}
		uses := map[string]int{}
		findings := map[string]int{}
		for _, l := range all[name] {
			since := float64(l.at-t.Begun) / 1e6
			for _, f := range l.d.Findings {
				findings[f.Kind+"/"+f.Tier]++
			}
			for _, w := range l.d.Windows {
				for field, f := range w.Figures {
					what := field
					if strings.Contains("duplicate_rate ack_mean", field) {
						what = fmt.Sprintf("%s %.0fm", field, w.Window/60)
					}
					take(what, field, f, l.at)
				}
				f := w.Figures["duplicate_rate"]
				if f.claims() && f.High != nil && known[w.Window] == 0 {
					known[w.Window] = since
				}
				if f.Value != nil && !f.AtLeast && !f.AtMost && f.High != nil && *f.High-*f.Low <= 0.01 && usable[w.Window] == 0 && since > 0 {
					usable[w.Window] = since
				}
				if w.Window == 300 {
					if f.claims() {
						s := f.Source
						if f.AtMost {
							s += " (at most)"
						} else if f.AtLeast {
							s += " (at least)"
						} else if f.Value == nil {
							s += " (wide)"
						}
						sources[s]++
					} else {
						sources["unknown"]++
					}
					if a := w.Figures["ack_mean"]; a.Value != nil && !a.AtMost && ackUsable == 0 {
						ackUsable = since
					}
				}
				for _, e := range w.Estimates {
					take("  by "+e.Method, "duplicate_rate", e.Rate, l.at)
					if w.Window == 300 {
						uses[e.Method+":"+strings.Join(e.Uses, "+")]++
						if !e.Rate.claims() {
							whys[e.Method+": "+e.Rate.Why]++
						}
					}
				}
			}
			// Levels.
			level := func(what string, f figure, lo, hi float64) {
				if !f.claims() && f.Value == nil || f.At == nil || f.Low == nil {
					return
				}
				id := what + f.String()
				if seen[id] {
					return
				}
				seen[id] = true
				x := tallies[what]
				if x == nil {
					x = &tally{}
					tallies[what] = x
				}
				x.judged++
				if m := f.miss(lo, hi); m > 0 {
					x.wrong++
					x.worst = max(x.worst, m)
					if len(x.examples) < 400 {
						x.examples = append(x.examples, fmt.Sprintf("miss %.5g: shown %s, truth [%.5g, %.5g], asked %s", m, f, lo, hi, time.UnixMicro(l.at).UTC().Format("15:04:05.0")))
					}
				}
			}
			if f := l.d.DeadLetters; f.At != nil && f.Low != nil {
				lo, hi := t.depths(*f.At, 3*time.Second, 1500*time.Millisecond)
				level("dead_letters", f, lo, hi)
			}
			if f := l.d.Markers["done"]; f.At != nil && f.Low != nil {
				lo, hi := math.Inf(1), 0.0
				for d := -25; d <= 1; d++ {
					n := t.doneMarkers(f.At.Add(time.Duration(d) * time.Second).UnixMicro())
					lo, hi = min(lo, n), max(hi, n)
				}
				level("markers done", f, lo, hi)
			}
			if f := l.d.Markers["present"]; f.At != nil && f.Low != nil {
				level("markers present", f, t.doneMarkers(f.At.Add(-25*time.Second).UnixMicro())-1, t.doneMarkers(f.At.Add(time.Second).UnixMicro())+20)
			}
			if f := l.d.Stuck; f.At != nil && f.Low != nil {
				hi := 0.0
				for d := -30; d <= 1; d++ {
					hi = max(hi, t.orphans(f.At.Add(time.Duration(d)*time.Second).UnixMicro()))
				}
				level("stuck", f, 0, hi)
			}
		}
		dups := count(t.acks, t.isDup)
		fmt.Fprintf(out, "\n== %s: acked %d, duplicates %.0f (%.2f %%), early %.0f, swallowed %.0f, lost acks %.0f, failures %d, in-flight hits %d, twice %d, orphans %d, died %d\n", name, len(t.acks), dups, 100*dups/max(1, float64(len(t.acks))),
			count(t.acks, func(e event) bool { return e.How == "early" }), count(t.acks, func(e event) bool { return e.How == "swallowed" }), count(t.acks, func(e event) bool { return e.Lost }), len(t.by["fail"]), len(t.by["hit"]), len(t.by["again"]), len(t.by["orphan"]), len(t.by["died"]))
		fmt.Fprintf(out, "   first known after %.0f s (5m) %.0f s (15m), usable (±0.5) after %.0f s (5m) %.0f s (15m), ack number after %.0f s\n   5m shown by %v\n   uses %v\n   findings %v\n", known[300], known[900], usable[300], usable[900], ackUsable, sources, uses, findings)
		for _, what := range slices.Sorted(func(yield func(string) bool) {
			for k := range tallies {
				if !yield(k) {
					return
				}
			}
		}) {
			x := tallies[what]
			line := fmt.Sprintf("   %-22s judged %4d, false %3d, tight %3d", what, x.judged, x.wrong, x.tight)
			if len(x.widths) > 0 {
				line += fmt.Sprintf(", width median %.4g last %.4g", quantile(0.5)(x.widths), x.widths[len(x.widths)-1])
			}
			if x.wrong > 0 {
				line += fmt.Sprintf(", worst %.4g", x.worst)
			}
			fmt.Fprintln(out, line)
			for i, e := range x.examples {
				if i < 2 || i == len(x.examples)-1 || i == len(x.examples)/2 {
					fmt.Fprintln(out, "        ", e)
				}
			}
		}
		type why struct {
			text string
			n    int
		}
		var list []why
		for k, n := range whys {
			list = append(list, why{k, n})
		}
		slices.SortFunc(list, func(a, b why) int { return cmp.Compare(b.n, a.n) })
		for i, w := range list {
			if i < 6 {
				fmt.Fprintf(out, "   refused %d×: %.260s\n", w.n, w.text)
			}
		}
	}
	return nil
}
