package rate

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// workedWindow is the window of the worked example.
const workedWindow = 15 * time.Minute

// A workedExample is the table of numbers in the worked example of docs/figures.md, by what they count.
type workedExample struct {
	text    string
	numbers map[string]float64
}

func readWorkedExample(t *testing.T) workedExample {
	t.Helper()
	page, err := os.ReadFile("../../../docs/figures.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(page), "\n### A worked example\n")
	if !found {
		t.Fatal("docs/figures.md has no worked example")
	}
	text, _, _ = strings.Cut(text, "\n### ")
	w := workedExample{text: text, numbers: map[string]float64{}}
	for _, row := range regexp.MustCompile(`(?m)^\| [a-z ]+ \| ([^|]+) \| ([0-9,]+) \|$`).FindAllStringSubmatch(text, -1) {
		if w.numbers[row[1]], err = strconv.ParseFloat(strings.ReplaceAll(row[2], ",", ""), 64); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// shop makes of the numbers what the estimators read: everything happens in mid-window, between two rests.
func (w workedExample) shop(closed float64) (Events, Residual) {
	begin := time.Unix(1_800_000_000, 0)
	const step, happened, length = 5 * time.Second, 500 * time.Second, 900 * time.Second
	scheme := dedup.Scheme{Preset: "redis-text-status", Kind: "redis-string", Mark: "before", OnInFlight: "nack", OnFail: "delete",
		AcksEach: true, DoneTTL: 24 * time.Hour, ProcessingTTL: 5 * time.Minute, GiveUp: 5}
	e := Events{Window: workedWindow, Interval: step, Scheme: scheme, Command: "SETNX", Slip: AskSlip,
		Prefetch: int64(w.numbers["prefetch"])}
	for at := time.Duration(0); at <= length; at += step {
		var n float64
		if at > happened {
			n = 1
		}
		f := sample.Frame{Began: begin.Add(at), Ended: begin.Add(at + 20*time.Millisecond), DepthFrom: begin.Add(at), Whole: true,
			Consumers: 4, ConsumersKnown: true, Deliveries: n * w.numbers["deliveries"],
			Redeliveries: n * w.numbers["redeliveries"], Acks: n * w.numbers["acks, A"],
			Publishes: n * w.numbers["acks, A"], Unpublished: n == 0, Closures: n * closed}
		e.Frames = append(e.Frames, f)
		e.Meter.Acks = append(e.Meter.Acks, sample.LossReading{Began: f.Began, Ended: f.Ended, True: f.Acks, Counted: f.Acks})
		e.Meter.Publishes = append(e.Meter.Publishes, sample.LossReading{Began: f.Began, Ended: f.Ended, True: f.Publishes, Counted: f.Publishes})
		e.Readings = append(e.Readings, sample.EventReading{At: f.Ended, Epoch: 1, Since: begin, AskedKnown: true,
			Asked: n * w.numbers["calls of `SETNX`"], Claims: n * w.numbers["claims"], Completions: n * w.numbers["completions, U"],
			Failures: n * w.numbers["failures: claims that were deleted"], GaveUp: n * w.numbers["messages given up, G"]})
	}
	pass := &dedup.Pass{Started: begin.Add(length - time.Minute), Ended: begin.Add(length - 59*time.Second)}
	for range int(w.numbers["completions, U"]) {
		pass.Completions.Add(begin.Add(happened))
	}
	pass.Completions.Freeze()
	pass.GaveUp.Freeze()
	r := e.bounds()
	r.Pass = pass
	return e, r
}

// TestTheWorkedExampleIsWhatTheProgramComputes feeds the numbers of the example to the estimators, and looks for what comes out in
// its text. A test of alerts does so with what the judge makes of it.
func TestTheWorkedExampleIsWhatTheProgramComputes(t *testing.T) {
	w := readWorkedExample(t)
	if len(w.numbers) != 10 {
		t.Fatalf("the example has the numbers %v", w.numbers)
	}
	events, passes := w.shop(w.numbers["closed channels"])
	told := events.Estimate()
	second := passes.Estimate()
	calm, _ := w.shop(0)
	rest := calm.Estimate()

	d, b := told.Terms.Duplicates, told.Terms.Repeats
	for what, want := range map[string]string{
		"the hits":                   fmt.Sprintf("= **%.0f**", told.Terms.Hits[1]),
		"the separate messages":      fmt.Sprintf("= **%.0f**", told.Terms.Separate[0]),
		"the lost acks":              fmt.Sprintf("B = min(60, 30 × 1) = **%.0f**", b),
		"the duplicates":             fmt.Sprintf("d ∈ [%.0f, %.0f]", d[0], d[1]),
		"the rate":                   fmt.Sprintf("**%.2f %% to %.2f %%, %s**", 100*told.Rate.Low, 100*told.Rate.High, told.Rate.Quality),
		"the low end":                fmt.Sprintf("is %.0f / %.0f,%03.0f to", told.Rate.Hits, math.Floor(told.Rate.N/1000), math.Mod(told.Rate.N, 1000)),
		"the residual interval":      fmt.Sprintf("%.2f %% to %.2f %%, %s", 100*second.Rate.Low, 100*second.Rate.High, second.Rate.Quality),
		"the rate without a closure": fmt.Sprintf("%.2f %%, exactly", 100*rest.Rate.Low),
	} {
		if !strings.Contains(w.text, want) {
			t.Errorf("%s: the example does not say %q; why %q; %+v", what, want, told.Rate.Why, told.Terms)
		}
	}
	if rest.Rate.IsInterval() || rest.Rate.Quality != dedup.Measured {
		t.Errorf("without a closed channel it is %+v", rest.Rate)
	}
}
