package alert

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/server/list"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestTheEndOfASilenceIsInTheZoneOfItsReader(t *testing.T) {
	zone := time.FixedZone("there", 5*3600)
	f := readSilenceForm(url.Values{"pipeline": {"orders"}, "for": {"1h"}, "until": {"2026-11-21T18:30"}})
	if one, err := f.silence("ann", noon.In(zone)); err != nil || !one.Ends.Equal(noon.Add(90*time.Minute)) || !one.Starts.Equal(noon) {
		t.Errorf("until %s, %v", one.Ends, err)
	}
	f.until = "2026-11-21T18:30:30"
	if one, err := f.silence("ann", noon.In(zone)); err != nil || !one.Ends.Equal(noon.Add(90*time.Minute+30*time.Second)) {
		t.Errorf("with seconds: until %s, %v", one.Ends, err)
	}
}

func TestASilenceEndsAtTheTimeThatWasTypedInTheZoneOfItsReader(t *testing.T) {
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 10, 31, 23, 0, 0, 0, zone)
	for until, want := range map[string]string{
		"2026-11-01T09:00":       "2026-11-01T14:00:00Z",
		"09:00":                  "2026-11-01T14:00:00Z",
		"tomorrow 09:00":         "2026-11-01T14:00:00Z",
		"2026-11-01T09:00+08:00": "",                     // over
		"2026-11-01T01:30":       "2026-11-01T05:30:00Z", // the first of two
	} {
		f := silenceForm{until: until, reason: "a deploy"}
		one, err := f.silence("ann", now)
		if want == "" && err == nil || want != "" && (err != nil || one.Ends.UTC().Format(time.RFC3339) != want) {
			t.Errorf("%s: until %s, %v", until, one.Ends.UTC(), err)
		}
		if twice := strings.Contains(f.endDoubt(now), "twice"); twice != strings.Contains(until, "01:30") {
			t.Errorf("%s: %q", until, f.endDoubt(now))
		}
	}
}

func TestTheAddressOfTheListKeepsItsFilter(t *testing.T) {
	for _, address := range []string{"/alerts", "/alerts?state=firing&tier=severe", "/alerts?page=3&pipeline=a%26b&rule=x"} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		var q query
		if err := list.Read(u.Query(), q.params()...); err != nil {
			t.Fatal(err)
		}
		if got := q.address(""); got != address {
			t.Errorf("%s becomes %s", address, got)
		}
	}
}

func TestEmergenciesAreLeftOutUnlessSomebodyTicksThem(t *testing.T) {
	for name, c := range map[string]struct {
		extra url.Values
		want  string
	}{
		"unticked":              {url.Values{}, `pipeline="orders", tier!="emergency"`},
		"ticked":                {url.Values{"emergency": {"1"}}, `pipeline="orders"`},
		"a tier is named":       {url.Values{"label": {"tier"}, "op": {"="}, "value": {"warning"}}, `tier="warning", pipeline="orders"`},
		"by the short way also": {url.Values{"rule": {"auto_ack"}}, `rule="auto_ack", pipeline="orders", tier!="emergency"`},
	} {
		c.extra.Set("pipeline", "orders")
		one, err := readSilenceForm(c.extra).silence("ann", noon)
		var texts []string
		for _, m := range one.Matchers {
			texts = append(texts, m.String())
		}
		if got := strings.Join(texts, ", "); err != nil || got != c.want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

func TestTheTimelineOfAnAlertSaysWhoAttendsToIt(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	key := rule.Key{Rule: "stuck_markers", Kind: rule.OfPipeline, Subject: "orders"}
	a := &alerts.AlertView{Alert: alerts.Alert{Key: key, Ack: &alerts.Ack{By: "ann", Note: "OPS-412", At: now.Add(-time.Minute), Until: now.Add(time.Hour)}, Silences: []string{"s1"}}}
	view := &alerts.View{Alerts: []*alerts.AlertView{a}, Silences: []alerts.Silence{{ID: "s1", Author: "bob", Starts: now, Ends: now.Add(time.Hour)}, {ID: "s2", Author: "eve"}}}
	var said []string
	for _, e := range attention(key, view, now) {
		said = append(said, e.Kind+" "+e.Text.Short+" "+e.More.Short)
	}
	if got := strings.Join(said, "; "); !strings.Contains(got, "acknowledged by ann") && !strings.Contains(got, "acknowledged By ann") || !strings.Contains(got, "OPS-412") || !strings.Contains(got, "bob") || strings.Contains(got, "eve") {
		t.Errorf("%q", got)
	}
}
