package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// How far ends of spans may be off: at most, and more than most should be.
const (
	grace      = time.Second
	tightGrace = 300 * time.Millisecond
)

// A tally is what came of one kind of figure.
type tally struct {
	judged, wrong int
	tight         int // held the truth only thanks to the grace
	worst         float64
	examples      []string
	widths        []float64
}

const maxExamples = 400

// A judgement is what came of all that the API said of a pipeline.
type judgement struct {
	*truth
	tallies map[string]*tally
	seen    map[string]bool // a figure that is shown again is judged once
	// After how many seconds a window told anything of its duplicate rate, and a usable number; and the time until acks a number.
	known, usable map[float64]float64
	ackKnown      float64
	// What was shown in five minutes, and why it was not.
	sources, uses, findings, refusals map[string]int
}

func newJudgement(t *truth) *judgement {
	return &judgement{
		truth: t, tallies: map[string]*tally{}, seen: map[string]bool{}, known: map[float64]float64{}, usable: map[float64]float64{},
		sources: map[string]int{}, uses: map[string]int{}, findings: map[string]int{}, refusals: map[string]int{},
	}
}

// judge holds the answers in a folder against its ledgers.
func judge(folder string, out io.Writer) error {
	truths, err := readTruths(folder)
	if err != nil {
		return err
	}
	all, err := readAnswers(folder)
	if err != nil {
		return err
	}
	if len(all.late) > 0 {
		fmt.Fprintf(out, "load each 5 s: %s\nlatest waking: median %.3f s, most %.3f s\n", strings.Join(all.loads, " "), quantile(0.5)(all.late), slices.Max(all.late))
	}
	for _, name := range slices.Sorted(maps.Keys(all.looks)) {
		t := truths[name]
		if t == nil {
			fmt.Fprintf(out, "\n%s has no ledger\n", name)
			continue
		}
		j := newJudgement(t)
		for _, l := range all.looks[name] {
			j.look(l)
		}
		j.report(out)
	}
	return nil
}

// look judges one answer.
func (j *judgement) look(l look) {
	for _, f := range l.Findings {
		j.findings[f.Kind+"/"+f.Tier]++
	}
	since := float64(l.at-j.Begun) / 1e6
	for _, w := range l.Windows {
		for field, f := range w.Figures {
			what := field
			if field == "duplicate_rate" || field == "ack_mean" {
				what = fmt.Sprintf("%s %.0fm", field, w.Window/60)
			}
			j.figure(what, field, f)
		}
		for _, e := range w.Estimates {
			j.figure("  by "+e.Method, "duplicate_rate", e.Rate)
		}
		j.firsts(w, since)
		if w.Window == 300 {
			j.methods(w)
		}
	}
	j.present(l)
}

// firsts notes when a window told anything first.
func (j *judgement) firsts(w window, since float64) {
	rate := w.Figures["duplicate_rate"]
	if rate.claims() && rate.High != nil && j.known[w.Window] == 0 {
		j.known[w.Window] = since
	}
	if rate.usable() && j.usable[w.Window] == 0 && since > 0 {
		j.usable[w.Window] = since
	}
	if a := w.Figures["ack_mean"]; w.Window == 300 && a.Value != nil && !a.AtMost && j.ackKnown == 0 {
		j.ackKnown = since
	}
}

// methods counts by what a duplicate rate was found, and why not by others.
func (j *judgement) methods(w window) {
	j.sources[w.Figures["duplicate_rate"].shown()]++
	for _, e := range w.Estimates {
		j.uses[e.Method+":"+strings.Join(e.Uses, "+")]++
		if !e.Rate.claims() {
			j.refusals[e.Method+": "+e.Rate.Why]++
		}
	}
}

// figure judges one of a span.
func (j *judgement) figure(what, field string, f figure) {
	if !f.claims() || !j.isNew(what, f) {
		return
	}
	b, ok := j.of(field, f, grace)
	if !ok {
		return
	}
	x := j.hold(what, f, b, "")
	if f.High != nil {
		x.widths = append(x.widths, *f.High-*f.Low)
	}
	if f.miss(b) > 0 {
		return
	}
	if b, ok := j.of(field, f, tightGrace); ok && f.miss(b) > 0 {
		x.tight++
	}
}

// present judges how many there are of what stays: the API looks at it now and then.
func (j *judgement) present(l look) {
	level := func(what string, f figure, b func(at time.Time) bounds) {
		if f.At != nil && f.Low != nil && (f.claims() || f.Value != nil) && j.isNew(what, f) {
			j.hold(what, f, b(*f.At), ", asked "+clock(time.UnixMicro(l.at)))
		}
	}
	level("dead_letters", l.DeadLetters, func(at time.Time) bounds {
		return around(j.deadLetters, at, 3*time.Second, 1500*time.Millisecond, 500*time.Millisecond)
	})
	level("markers done", l.Markers["done"], func(at time.Time) bounds {
		b := around(j.doneMarkers, at, 25*time.Second, time.Second, time.Second)
		return bounds{b.low, max(0, b.high)}
	})
	level("markers present", l.Markers["present"], func(at time.Time) bounds { // claims are among them
		return bounds{j.doneMarkers(at.Add(-25*time.Second).UnixMicro()) - 1, j.doneMarkers(at.Add(time.Second).UnixMicro()) + 20}
	})
	level("stuck", l.Stuck, func(at time.Time) bounds {
		return bounds{0, around(j.orphans, at, 30*time.Second, time.Second, time.Second).high}
	})
}

// isNew is false for a figure that was shown before.
func (j *judgement) isNew(what string, f figure) bool {
	id := what + f.String()
	known := j.seen[id]
	j.seen[id] = true
	return !known
}

// hold counts a figure, and as false one that does not hold its truth.
func (j *judgement) hold(what string, f figure, b bounds, asked string) *tally {
	x := j.tallies[what]
	if x == nil {
		x = &tally{}
		j.tallies[what] = x
	}
	x.judged++
	if m := f.miss(b); m > 0 {
		x.wrong++
		x.worst = max(x.worst, m)
		if len(x.examples) < maxExamples {
			x.examples = append(x.examples, fmt.Sprintf("miss %.5g: shown %s, truth [%.5g, %.5g]%s", m, f, b.low, b.high, asked))
		}
	}
	return x
}
