package server

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
	"dedup-dashboard/internal/server/page/chart"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/lab/demo"
)

// lostAt is the health of a source that has not answered since the time.
func lostAt(at time.Time) dedup.SourceHealth {
	return dedup.SourceHealth{Tried: true, Since: at, LastTry: at.Add(time.Second), Err: "connection refused"}
}

func TestTheBannerNamesEverySourceThatDoesNotAnswer(t *testing.T) {
	up := dedup.SourceHealth{Tried: true, OK: true, Since: noon.Add(-time.Hour)}
	at := noon.Add(-5*time.Minute - 43*time.Second)
	store := func(name string, h dedup.SourceHealth) dedup.StoreStatus {
		return dedup.StoreStatus{Name: name, Health: h}
	}
	for _, tt := range []struct {
		name   string
		broker dedup.SourceHealth
		stores []dedup.StoreStatus
		tiers  []dedup.Tier
		age    time.Duration
		want   string
		tier   dedup.Tier
	}{
		{"nothing is wrong", up, nil, []dedup.Tier{dedup.Normal, dedup.Warning}, 0, "", dedup.TierUnknown},
		{"a pipeline that cannot be told is not an outage", up, nil, []dedup.Tier{dedup.TierUnknown}, 0, "", dedup.TierUnknown},
		{"a source that was not tried yet is not lost", dedup.SourceHealth{}, nil, nil, 0, "", dedup.TierUnknown},
		{"a broker is lost", lostAt(at), nil, []dedup.Tier{dedup.TierUnknown, dedup.TierUnknown}, 0, "broker main unreachable since 11:54:17; 2 pipelines unknown", dedup.Severe},
		{"one of two stores is lost", up, []dedup.StoreStatus{store("orders", lostAt(at)), store("payments", up)}, []dedup.Tier{dedup.Normal}, 0,
			"store orders unreachable since 11:54:17", dedup.Severe},
		{"a broker and two stores are lost", lostAt(at), []dedup.StoreStatus{store("orders", lostAt(noon.Add(-time.Minute))), store("payments", lostAt(noon.Add(-2*time.Minute)))}, []dedup.Tier{dedup.TierUnknown}, 0,
			"broker main unreachable since 11:54:17; 2 stores unreachable since 11:58:00: orders and payments; 1 pipeline unknown", dedup.Severe},
		{"many stores are lost", up, []dedup.StoreStatus{store("orders", lostAt(at)), store("payments", lostAt(noon)), store("c", lostAt(noon)), store("d", lostAt(noon)), store("e", lostAt(noon))}, nil, 0,
			"5 stores unreachable since 11:54:17: orders, payments and 3 more", dedup.Severe},
		{"with pipelines in trouble", lostAt(at), nil, []dedup.Tier{dedup.Emergency, dedup.Severe, dedup.Severe, dedup.TierUnknown}, 0,
			"broker main unreachable since 11:54:17; 1 pipeline unknown. 1 pipeline in emergency, 2 severe", dedup.Emergency},
		{"a store alone, with pipelines in trouble", up, []dedup.StoreStatus{store("orders", lostAt(at))}, []dedup.Tier{dedup.Emergency}, 0,
			"1 pipeline in emergency; store orders unreachable since 11:54:17", dedup.Emergency},
		{"no round has ended for long", up, nil, []dedup.Tier{dedup.TierUnknown}, 2 * time.Minute, "no reading since 11:58:00; 1 pipeline unknown", dedup.Severe},
	} {
		t.Run(tt.name, func(t *testing.T) {
			snap := &dedup.Snapshot{Round: 7, At: noon.Add(-tt.age), Interval: 15 * time.Second, Stores: tt.stores,
				Brokers: []dedup.BrokerStatus{{Name: "main", Health: tt.broker}}}
			var verdicts []alerts.Verdict
			for _, tier := range tt.tiers {
				verdicts = append(verdicts, alerts.Verdict{Verdict: rule.Verdict{Tier: tier}})
				snap.Pipelines = append(snap.Pipelines, dedup.PipelineStatus{})
			}
			if text, tier := banner(snap, verdicts, noon); text != tt.want || tier != tt.tier {
				t.Errorf("got %q as %s, want %q as %s", text, tier, tt.want, tt.tier)
			}
		})
	}
}

// TestTheBannerSaysWhatATierRestsOnWhileABrokerIsDown: on what was judged before, or on the sources that still answer.
func TestTheBannerSaysWhatATierRestsOnWhileABrokerIsDown(t *testing.T) {
	at := noon.Add(-5*time.Minute - 43*time.Second)
	down := dedup.PipelineStatus{Down: []dedup.SourceHealth{lostAt(at)}}
	before := &alerts.AlertView{}
	before.State.Health = rule.HealthError
	snap := &dedup.Snapshot{Round: 7, At: noon, Interval: 15 * time.Second, Brokers: []dedup.BrokerStatus{{Name: "main", Health: lostAt(at)}},
		Pipelines: []dedup.PipelineStatus{down, down, down, {}}}
	emergency, severe := rule.Verdict{Tier: dedup.Emergency}, rule.Verdict{Tier: dedup.Severe}
	verdicts := []alerts.Verdict{{Verdict: emergency, Alert: before}, {Verdict: severe, Alert: before}, {Verdict: severe}, {Verdict: severe}}
	const want = "broker main unreachable since 11:54:17. 1 pipeline in emergency, 3 severe (of these 4: 2 as last judged, 1 by what still answers)"
	if text, tier := banner(snap, verdicts, noon); text != want || tier != dedup.Emergency {
		t.Errorf("got %q as %s, want %q", text, tier, want)
	}
}

func TestEveryPageShowsTheBannerInARegionThatUpdates(t *testing.T) {
	s := newSite(t, nil, nil)
	snap := *demo.Scene("mixed", time.Now())
	snap.Brokers[0].Health = lostAt(time.Now().Add(-time.Minute))
	s.snapshots.snap.Store(&snap)
	for _, path := range []string{"/", "/pipelines/orders"} {
		res := s.do(http.MethodGet, path, "", "Authorization", "Bearer "+viewerToken)
		doc, err := goquery.NewDocumentFromReader(res.Body)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s answers %d, %v", path, res.StatusCode, err)
		}
		if text := doc.Find("#status > .banner").Text(); !strings.Contains(text, "broker main unreachable since") {
			t.Errorf("the banner of %s says %q", path, text)
		}
	}
}

func TestASourceThatDoesNotAnswerIsSevereAndNotGrey(t *testing.T) {
	snap := demo.Scene("mixed", noon)
	snap.Brokers[0].Health = lostAt(noon.Add(-5*time.Minute - 43*time.Second))
	snap.Brokers[0].Health.LastSuccess = noon.Add(-6 * time.Minute)
	_, doc := overviewPage(t, snap, "")
	card := doc.Find(".source.t-severe").First()
	if text := strings.Join(strings.Fields(card.Text()), " "); !strings.Contains(text, "broker main unreachable since 11:54:17") || !strings.Contains(text, "connection refused. Last answer 6 m ago.") {
		t.Errorf("the card says %q", text)
	}
	if card.Find(".problem.t-severe").Length() != 1 || doc.Find(".source.t-unknown").Length() != 0 {
		t.Error("the card or its problem is grey")
	}
	_, doc = pipelinePage(t, snap, "mailings", "", demo.History{})
	if doc.Find("#status .problem.t-severe").Length() == 0 || doc.Find("#detail td .chip.t-severe").Length() == 0 {
		t.Error("the page of a pipeline shows the lost source in grey")
	}
}

// TestTheReasonOfATierLeadsToTheFindingsThatItDoesNotTellOf, from the overview and on the page of the pipeline itself.
func TestTheReasonOfATierLeadsToTheFindingsThatItDoesNotTellOf(t *testing.T) {
	finding := func(kind, text string) dedup.Finding {
		return dedup.Finding{Kind: kind, Tier: dedup.Severe, Text: text}
	}
	snap := demo.Scene("healthy", noon)
	p := &snap.Pipelines[0]
	p.Pipeline.Name = "a/b"
	for _, tt := range []struct {
		findings   []dedup.Finding
		why, links string
	}{
		{[]dedup.Finding{finding("lost_messages", "One is lost")}, "One is lost.", ""},
		{[]dedup.Finding{finding("lost_messages", "One is lost"), finding("stuck", "One sticks")}, "One is lost. +1 more finding", "+1 more finding"},
		{[]dedup.Finding{finding("lost_messages", "One is lost"), finding("stuck", "One sticks"), finding("other", "x; +9 more")}, "One is lost. +2 more findings", "+2 more findings"},
	} {
		p.Findings = tt.findings
		_, doc := overviewPage(t, snap, "q=a/b")
		if why := doc.Find("td.why"); apart(why) != tt.why || why.Find(`a[href$="/pipelines/a%2Fb#findings"]`).Text() != tt.links {
			t.Errorf("the overview says %q, and leads to the findings by %q; want %q by %q", apart(why), why.Find("a").Text(), tt.why, tt.links)
		}
		_, doc = pipelinePage(t, snap, "a/b", "", demo.History{})
		if why := doc.Find("p.verdict"); apart(why) != tt.why || why.Find(`a[href="#findings"]`).Text() != tt.links || doc.Find("#findings .problem").Length() < len(tt.findings) {
			t.Errorf("the page says %q, with %d findings; want %q", apart(why), doc.Find("#findings .problem").Length(), tt.why)
		}
	}
}

// steadyHistory is one series that has the same value up to its last point.
type steadyHistory struct {
	last  time.Time
	value float64
}

func (h steadyHistory) QueryRange(_ context.Context, _ string, _, _ time.Time, step time.Duration) ([]series.Line, error) {
	return []series.Line{{Points: []dedup.Point{{At: h.last.Add(-step), Value: h.value}, {At: h.last, Value: h.value}}}}, nil
}

func TestAChartSaysNowOnlyOfAValueOfNow(t *testing.T) {
	p, _ := demo.Scene("mixed", noon).Pipeline("orders")
	blind, _ := demo.Scene("mixed", noon).Pipeline("orders")
	blind.SetGauge(dedup.Ready, dedup.Unknown(dedup.Count, "the broker does not answer"))
	for _, tt := range []struct {
		name, query string
		pipeline    *dedup.PipelineStatus
		last        time.Time
		want        string
	}{
		{"a value of now", "", p, noon.Add(-15 * time.Second), "ready now 7,"},
		{"a value of two intervals ago", "", p, noon.Add(-30 * time.Second), "ready now 7,"},
		{"an older value", "", p, noon.Add(-45 * time.Second), "ready last 7 at 11:59:15,"},
		{"a range that ended in the past", "from=2026-11-21T10:00&to=2026-11-21T11:00", p, noon.Add(-time.Hour), "ready last 7 at 11:00:00,"},
		{"a figure that is unknown at present", "", blind, noon, "ready last 7 at 12:00:00,"},
		{"a point that is the highest of many readings", "range=7d", p, noon, "ready last 7 at 21 Nov 12:00,"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			values, err := url.ParseQuery(tt.query)
			if err != nil {
				t.Fatal(err)
			}
			q, err := web.ParseRange(values, noon)
			if err != nil {
				t.Fatal(err)
			}
			d := chart.NewData(steadyHistory{tt.last, 7}, tt.pipeline, q, 15*time.Second, noon)
			c, err := d.Chart(t.Context(), "backlog")
			if err != nil || !strings.HasPrefix(c.Sentence, tt.want) {
				t.Errorf("the chart says %q, %v; want %q", c.Sentence, err, tt.want)
			}
		})
	}
}
