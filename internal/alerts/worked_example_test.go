package alerts

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// TestTheWorkedExampleIsJudgedAsItSays gives the judge the rate of the worked example of docs/figures.md, which a test of
// collector/rate computes, and looks for what comes out in its text.
func TestTheWorkedExampleIsJudgedAsItSays(t *testing.T) {
	page, err := os.ReadFile("../../docs/figures.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, found := strings.Cut(string(page), "\n### A worked example\n")
	if !found {
		t.Fatal("docs/figures.md has no worked example")
	}
	example, _, _ = strings.Cut(example, "\n### ")
	ends := regexp.MustCompile(`The rate .* is ([0-9,]+) / ([0-9,]+) to ([0-9,]+) / ([0-9,]+): .*, measured\*\*`).FindStringSubmatch(example)
	if ends == nil {
		t.Fatal("the example tells no measured rate")
	}
	var counts [4]float64
	for i, text := range ends[1:] {
		if counts[i], err = strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64); err != nil {
			t.Fatal(err)
		}
	}
	hits, n := counts[0], counts[1]
	low, high := hits/n, counts[2]/counts[3]
	figure := dedup.Figure{Value: low, Low: low, High: high, Hits: hits, N: n, Quality: dedup.Measured}
	verdict := Judge(&dedup.PipelineStatus{Pipeline: dedup.Pipeline{Limits: dedup.DefaultLimits()},
		Windows: []dedup.WindowFigures{{Window: 15 * time.Minute, DuplicateRate: figure}}})
	for what, want := range map[string]string{
		"the evidence":          fmt.Sprintf("Wilson bound of %.0f in %s is %.2f %%", hits, text.Grouped(int64(n)), 100*rule.WilsonLower(hits, n)),
		"the tier and the risk": fmt.Sprintf("tier **%s**, risk **%s**", verdict.Tier, verdict.Risk),
	} {
		if !strings.Contains(example, want) {
			t.Errorf("%s: the example does not say %q", what, want)
		}
	}
	if verdict.Possible != verdict.Tier {
		t.Errorf("possible is %s", verdict.Possible)
	}
}
