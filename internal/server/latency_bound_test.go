package server

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/web"
)

// atMost50 is an ack latency of which an upper bound is known.
func atMost50() dedup.Figure {
	return dedup.Figure{Quality: dedup.Derived, Unit: dedup.Seconds, High: 0.05, N: 60, Window: 15 * time.Minute, Covered: 15 * time.Minute, At: time.Now(),
		Source: "samples of unacked messages", Why: "at most: too few in flight for a number"}
}

func TestAnUpperBoundIsShownAsOneAndNowhereAsZero(t *testing.T) {
	snap := sampleSnapshot()
	snap.Pipelines[1].Windows[0].AckMean = atMost50()
	s := newSite(t, nil, testUsers())
	s.snapshots.snap.Store(snap)
	var got struct {
		Latency struct {
			Tier, Risk string
			Figure     web.FigureJSON
		} `json:"ack_latency"`
	}
	s.api("/api/v1/pipelines/orders", &got)
	f := got.Latency.Figure
	if got.Latency.Tier != "normal" || got.Latency.Risk != "low" || !f.AtMost || f.High == nil || *f.High != 0.05 || f.Low == nil || *f.Low != 0 || f.Quality != "derived" {
		t.Errorf("the API gives %+v of %+v", got.Latency, f)
	}
	metrics := s.body(s.as("viewer", "GET", "/metrics", ""))
	if !strings.Contains(metrics, `dedup_ack_latency_high_seconds{pipeline="orders",window="15m"} 0.05`) || strings.Contains(metrics, `dedup_ack_latency_seconds{pipeline="orders"`) {
		t.Error("the metrics lack the bound, or give a latency of 0")
	}
}

func TestTheOverviewShowsAndSortsByAnUpperBound(t *testing.T) {
	snap, p := orders(t)
	for i := range p.Windows {
		p.Windows[i].AckMean = atMost50()
		p.Windows[i].AckMean.High = 90
		p.Windows[i].AckP95 = dedup.Unknown(dedup.Seconds, "the samples bound the mean alone")
	}
	_, doc := overviewPage(t, snap, "sort=-latency")
	if got := oneLine(doc.Find(`#row-orders [data-label="Mean ack latency"] .val`)); got != "≤ 90 s" {
		t.Errorf("the cell shows %q", got)
	}
	if got := names(doc); got[0] != "orders" {
		t.Errorf("the order is %v", got)
	}
}
