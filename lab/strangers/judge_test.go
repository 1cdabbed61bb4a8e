package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// TestFiguresAreHeldAgainstTheLedger has a hundred messages from second 0 to 99, of which every tenth is a duplicate, and asks for a
// figure of the 50 seconds before second 60.5.
func TestFiguresAreHeldAgainstTheLedger(t *testing.T) {
	for name, tt := range map[string]struct {
		field, figure string
		more          []event
		wrong, tight  int
	}{
		"a rate that holds the truth":         {"duplicate_rate", `"value": 0.1, "low": 0.09, "high": 0.11`, nil, 0, 0},
		"a rate above the truth":              {"duplicate_rate", `"value": 0.2, "low": 0.19, "high": 0.21`, nil, 1, 0},
		"a rate below the truth":              {"duplicate_rate", `"value": 0.01, "low": 0.005, "high": 0.02`, nil, 1, 0},
		"the least that a rate is":            {"duplicate_rate", `"value": 0.05, "low": 0.05, "high": 0.06, "at_least": true`, nil, 0, 0},
		"more than the least":                 {"duplicate_rate", `"value": 0.3, "low": 0.3, "high": 0.4, "at_least": true`, nil, 1, 0},
		"a count that holds the truth":        {"duplicates", `"value": 5, "low": 5, "high": 5`, nil, 0, 0},
		"a count that is one too many":        {"duplicates", `"value": 6, "low": 6, "high": 6`, nil, 1, 0},
		"an ack just after the end may count": {"duplicates", `"value": 6, "low": 6, "high": 6`, []event{dupAt(61_300_000)}, 0, 1},
		"an ack at the end may count":         {"duplicates", `"value": 6, "low": 6, "high": 6`, []event{dupAt(60_600_000)}, 0, 0},
		"an ack long after the end does not":  {"duplicates", `"value": 6, "low": 6, "high": 6`, []event{dupAt(61_700_000)}, 1, 0},
		"an ack just before the start may":    {"duplicates", `"value": 6, "low": 6, "high": 6`, []event{dupAt(9_700_000)}, 0, 1},
		"an ack that was lost may count":      {"duplicates", `"value": 6, "low": 6, "high": 6`, []event{{At: 30_000_000, Kind: kindAck, How: howDup, Lost: true}}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJudgement(newTruth(record{Events: append(hundredAcks(), tt.more...)}))
			f := parse(t, tt.figure)
			j.figure("it", tt.field, f)
			j.figure("it", tt.field, f) // shown again
			x := j.tallies["it"]
			if x == nil || x.judged != 1 || x.wrong != tt.wrong || x.tight != tt.tight || len(x.examples) != tt.wrong {
				t.Errorf("%+v, want false %d, tight %d", x, tt.wrong, tt.tight)
			}
		})
	}
}

// TestNothingIsJudgedThatClaimsNothing are figures that leave open what they are, and fields that no ledger knows.
func TestNothingIsJudgedThatClaimsNothing(t *testing.T) {
	for name, tt := range map[string]struct{ field, figure string }{
		"a rate between 0 and 1":  {"duplicate_rate", `"low": 0, "high": 1`},
		"a figure without bounds": {"duplicate_rate", `"why": "nobody knows"`},
		"an unknown field":        {"moon_phase", `"value": 1, "low": 1, "high": 1`},
		"an unknown percentile":   {"ack_p42", `"value": 1, "low": 1, "high": 1`},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJudgement(newTruth(record{Events: hundredAcks()}))
			j.figure("it", tt.field, parse(t, tt.figure))
			if len(j.tallies) != 0 {
				t.Errorf("judged: %+v", j.tallies["it"])
			}
		})
	}
}

// TestMarkersLiveOnWhenTheyAreRenewed asks for live done markers.
func TestMarkersLiveOnWhenTheyAreRenewed(t *testing.T) {
	l := newLevels([]event{
		{At: 10, Kind: kindMark, ID: "a", Dur: 10}, {At: 15, Kind: kindMark, ID: "a", Dur: 10}, {At: 18, Kind: kindMark, ID: "b", Dur: 2},
		{At: 40, Kind: kindMark, ID: "a", Dur: 10},
	})
	for at, want := range map[int64]float64{9: 0, 10: 1, 18: 2, 20: 1, 24: 1, 25: 0, 40: 1, 50: 0} {
		if got := l.doneMarkers(at); got != want {
			t.Errorf("at %d: %v, want %v", at, got, want)
		}
	}
}

// TestBatchesAreSound looks at what would fail only once servers run.
func TestBatchesAreSound(t *testing.T) {
	for batch := 1; batch <= 4; batch++ {
		pipelines, err := pipelinesOf(batch, nil)
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{}
		for _, p := range pipelines {
			if names[p.name] || p.scheme == nil || (p.driver == "") == (p.server == "") || p.instances == 0 || !p.silent && p.rate == 0 && p.burst == 0 {
				t.Errorf("%s is not complete, or there twice", p.name)
			}
			names[p.name] = true
			if (p.onFail == park || p.onFail == republish) && len(p.dead) != 1 || strings.Contains(p.storeLine(""), "%!") {
				t.Errorf("%s has no parking queue, or no line", p.name)
			}
		}
	}
	if _, err := pipelinesOf(5, nil); err == nil {
		t.Error("there is a batch 5")
	}
}

func hundredAcks() []event {
	var all []event
	for i := range int64(100) {
		e := event{At: i * 1e6, Kind: kindAck, How: howWork}
		if i%10 == 5 {
			e.How = howDup
		}
		all = append(all, e)
	}
	return all
}

func dupAt(at int64) event { return event{At: at, Kind: kindAck, How: howDup} }

// parse reads a figure as the API writes it.
func parse(t *testing.T, text string) figure {
	t.Helper()
	f := figure{Covered: 50}
	if err := json.Unmarshal([]byte("{"+text+"}"), &f); err != nil {
		t.Fatal(err)
	}
	at := time.UnixMicro(60_500_000)
	f.At = &at
	return f
}
