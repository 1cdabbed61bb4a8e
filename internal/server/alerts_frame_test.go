package server

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/page/alert"
	"dedup-dashboard/lab/demo"
)

func TestTheBannerSaysWhatFiresAndNobodyAttendsTo(t *testing.T) {
	s := night(t)
	rate := alertIn(t, "duplicate_rate", rule.OfPipeline, "orders", alerts.PhaseFiring, dedup.Emergency, 14*time.Minute)
	stuck := alertIn(t, "stuck_markers", rule.OfPipeline, "payments", alerts.PhaseFiring, dedup.Severe, time.Hour)
	over := alertIn(t, "lost_messages", rule.OfPipeline, "payments", alerts.PhaseRecovering, dedup.Emergency, 2*time.Hour)
	warned := alertIn(t, "dead_letters", rule.OfPipeline, "payments", alerts.PhaseFiring, dedup.Warning, time.Hour)
	acked := alertIn(t, "node_down", rule.OfBroker, "main", alerts.PhaseFiring, dedup.Severe, time.Hour)
	acked.Ack = &alerts.Ack{By: "bob", Until: time.Now().Add(time.Hour), Tier: dedup.Severe}
	quiet := alertIn(t, "failure_rate", rule.OfPipeline, "orders", alerts.PhaseFiring, dedup.Severe, time.Hour)
	quiet.Silences = []string{"s1"}
	for _, tt := range []struct {
		name       string
		all        []*alerts.AlertView
		want, href string
	}{
		{"emergency and severe", []*alerts.AlertView{rate, stuck, warned, acked}, "1 alert in emergency, 2 severe (of these 3: 1 acknowledged), the oldest of the others for 1 h", "/alerts?state=firing&tier=emergency&tier=severe"},
		{"what is silenced is said to be among those counted", []*alerts.AlertView{rate, stuck, acked, quiet}, "1 alert in emergency, 3 severe (of these 4: 1 acknowledged, 1 silenced), the oldest of the others for 1 h", "/alerts?state=firing&tier=emergency&tier=severe"},
		{"one alone is named", []*alerts.AlertView{rate, warned}, "1 alert in emergency: Duplicate rate, pipeline orders, for 14 m", "/alerts/one?key=" + url.QueryEscape(rateKey)},
		{"severe alone", []*alerts.AlertView{stuck, stuck}, "2 alerts severe, the oldest for 1 h", "/alerts?state=firing&tier=severe"},
		{"those that recover apart", []*alerts.AlertView{rate, stuck, over, over}, "1 alert in emergency, 1 severe, 2 more recovering, the oldest for 1 h", "/alerts?state=firing&tier=emergency&tier=severe"},
		{"one beside one that recovers is not all there is", []*alerts.AlertView{rate, over}, "1 alert in emergency, 1 more recovering, the oldest for 14 m", "/alerts?state=firing&tier=emergency"},
	} {
		s.tower.show(tt.all...)
		for _, path := range []string{"/", "/alerts", "/silences", "/pipelines/orders", "/dead-letters"} {
			b := s.page("viewer", path).Find(".banner")
			if got := apart(b); !strings.HasPrefix(got, tt.want) || b.Find("a").AttrOr("href", "") != tt.href {
				t.Errorf("%s: %s says %q to %s", tt.name, path, got, b.Find("a").AttrOr("href", ""))
			}
		}
	}
	s.tower.show(warned, acked, over)
	if got := apart(s.page("viewer", "/alerts").Find(".banner")); strings.Contains(got, "alert") {
		t.Errorf("what is attended to and what is a warning: %q", got)
	}
	s.tower.show(rate)
	s.tower.view.At = time.Now().Add(-time.Hour)
	if got := apart(s.page("viewer", "/alerts").Find(".banner")); strings.Contains(got, "alert") {
		t.Errorf("an hour after the last evaluation: %q", got)
	}
}

func TestTheBannerTellsOfLostSourcesBesideAlerts(t *testing.T) {
	s := night(t)
	s.snapshots.snap.Store(demo.Scene("outage", time.Now()))
	if got := apart(s.page("viewer", "/alerts").Find(".banner")); !strings.Contains(got, "1 alert in emergency") || !strings.Contains(got, "unreachable since") {
		t.Errorf("%q", got)
	}
}

// TestTheBannerTellsFirstThatABrokerIsDown, before alerts of which some are as they were before.
func TestTheBannerTellsFirstThatABrokerIsDown(t *testing.T) {
	s := night(t)
	snap := *demo.Scene("mixed", time.Now())
	snap.Brokers = slices.Clone(snap.Brokers)
	snap.Brokers[0].Health = lostAt(time.Now().Add(-time.Minute))
	s.snapshots.snap.Store(&snap)
	rate := alertIn(t, "duplicate_rate", rule.OfPipeline, "orders", alerts.PhaseFiring, dedup.Emergency, 14*time.Minute)
	stuck := alertIn(t, "stuck_markers", rule.OfPipeline, "payments", alerts.PhaseFiring, dedup.Severe, time.Hour)
	stale(stuck, "broker main cannot be read")
	s.tower.show(rate, stuck)
	got := apart(s.page("viewer", "/").Find(".banner"))
	if !strings.HasPrefix(got, "broker main unreachable since ") || !strings.HasSuffix(got, ". 1 alert in emergency, 1 severe (of these 2: 1 as last judged), the oldest for 1 h") {
		t.Errorf("the banner says %q", got)
	}
}

func TestTheNavigationCountsWhatNeedsEyesAsTheListDoes(t *testing.T) {
	s := night(t)
	link := s.page("viewer", "/alerts").Find(`nav[aria-label=Pages] a[href="/alerts"]`)
	if tab := apart(s.page("viewer", "/alerts").Find(".tabs a").First()); tab != "need eyes 3" {
		t.Errorf("the list says %q", tab)
	}
	if apart(link) != "Alerts 3" || link.AttrOr("aria-current", "none") == "none" {
		t.Errorf("the link says %q", apart(link))
	}
	s.tower.show()
	if got := apart(s.page("viewer", "/").Find(`nav[aria-label=Pages] a[href="/alerts"]`)); got != "Alerts" {
		t.Errorf("without any: %q", got)
	}
}

func TestPagesAndAPISayForHowLongAnAlertFiresAndForHowLongAtItsTier(t *testing.T) {
	s := night(t)
	rate := alertIn(t, "duplicate_rate", rule.OfPipeline, "orders", alerts.PhaseFiring, dedup.Emergency, 6*time.Hour)
	fired := rate.State.FiredAt
	for _, tt := range []struct {
		name   string
		atTier time.Time
		stale  bool
		want   bool
	}{
		{"it escalated an hour ago", fired.Add(5 * time.Hour), false, true},
		{"it began at its tier", fired, false, false},
		{"its tier is from before it was kept", time.Time{}, false, false},
		{"it cannot be told", fired.Add(5 * time.Hour), true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := *rate
			if a.State.TierSince = tt.atTier; tt.stale {
				stale(&a, "broker main cannot be read")
			}
			s.tower.show(&a)
			says := func(where, text string, want ...string) {
				t.Helper()
				for _, w := range want {
					if strings.Contains(text, w) != tt.want {
						t.Errorf("%s says %q: %t, want %t: %s", where, w, !tt.want, tt.want, text)
					}
				}
			}
			row := alertRowOf(s.page("viewer", "/alerts"), rateKey)
			if !strings.Contains(row, "6 h") {
				t.Errorf("the row says %q", row)
			}
			says("the list", row, "emergency for 1 h")
			says("the page", apart(s.page("viewer", "/alerts/one?key="+url.QueryEscape(rateKey)).Find(".where")), "emergency for 1 h, since")
			says("the page of the pipeline", apart(s.page("viewer", "/pipelines/orders").Find("#status .alert-line")), ", firing since")
			if !tt.stale {
				says("the banner", apart(s.page("viewer", "/dead-letters").Find(".banner")), "for 6 h, emergency for 1 h")
			}
			var one alert.DetailJSON
			s.api("/api/v1/alerts/one?key="+url.QueryEscape(rateKey), &one)
			if got := one.TierSince; (got == nil) != tt.atTier.IsZero() || got != nil && !got.Equal(tt.atTier.Truncate(time.Millisecond)) && !got.Equal(tt.atTier) {
				t.Errorf("the API says %v, want %s", got, tt.atTier)
			}
		})
	}
}

func TestThePageOfAPipelineSaysWhatOfItFires(t *testing.T) {
	s := night(t)
	line := s.page("viewer", "/pipelines/orders").Find("#status .alert-line")
	if got := apart(line); !strings.HasPrefix(got, "1 alert fires: Duplicate rate, emergency since ") || !strings.HasSuffix(got, "; 1 alert pending. Its alerts") {
		t.Errorf("orders: %q", got)
	}
	if got := line.Find("a").AttrOr("href", ""); got != "/alerts?pipeline=orders" {
		t.Errorf("it leads to %s", got)
	}
	for name, want := range map[string]string{
		"payments": "1 alert fires: Ack latency, unknown (was severe) since ", "inventory": "1 alert fires: Dead letters, warning, recovering, since ", "points": "",
	} {
		if got := apart(s.page("viewer", "/pipelines/"+name).Find("#status .alert-line")); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := apart(s.page("viewer", "/pipelines/inventory").Find("#status .alert-line")); !strings.Contains(got, "attended to") {
		t.Errorf("an acknowledged one: %q", got)
	}
}

func TestAlertsAreInTheMetrics(t *testing.T) {
	s := night(t)
	body := s.body(s.as("viewer", "GET", "/metrics", ""))
	for _, want := range []string{
		`dedup_alerts{rule="duplicate_rate",tier="emergency"} 1`, `dedup_alerts{rule="watchdog",tier="warning"} 1`, `dedup_alerts{rule="ack_latency",tier="severe"} 1`,
		"dedup_alert_last_evaluation_timestamp_seconds 1", "dedup_alert_evaluation_duration_seconds 0.012", "dedup_alert_failed_commits_total 0",
		`dedup_alert_outbox_waiting{channel="refusing"} 3`, `dedup_alert_outbox_waiting{channel="night"} 0`, `dedup_alert_outbox_oldest_timestamp_seconds{channel="refusing"} `,
		`dedup_alert_last_delivery_timestamp_seconds{channel="night"} `,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
	for _, absent := range []string{`dedup_alerts{rule="auto_ack"`, `dedup_alerts{rule="stuck_markers"`, `oldest_timestamp_seconds{channel="night"}`, `last_delivery_timestamp_seconds{channel="new"}`} {
		if strings.Contains(body, absent) {
			t.Errorf("/metrics has %s", absent)
		}
	}
	s.tower.view, s.tower.err = &alerts.View{}, errDisk
	body = s.body(s.as("viewer", "GET", "/metrics", ""))
	if strings.Contains(body, "dedup_alert_last_evaluation") || strings.Contains(body, "dedup_alert_outbox") || !strings.Contains(body, "dedup_rounds_total") {
		t.Error("what is not known is not absent, or takes the rest along")
	}
}

// TestHostileNamesStayHarmlessOnThePagesOfAlerts puts each hostile string wherever a name, a note or an error from outside can stand.
func TestHostileNamesStayHarmlessOnThePagesOfAlerts(t *testing.T) {
	for _, h := range hostile {
		s := night(t)
		now := time.Now()
		a := alertIn(t, "duplicate_rate", rule.OfPipeline, "orders", alerts.PhaseFiring, dedup.Emergency, time.Hour)
		a.Key.Subject, a.Last.Key.Subject, a.Cause, a.Last.Why, a.Last.Evidence, a.Flapping = h, h, h, h, []string{h}, now
		a.Last.Labels = map[string]string{"pipeline": h, h: h}
		a.Ack, a.Silences = &alerts.Ack{By: h, Note: h, At: now, Until: now.Add(time.Hour)}, []string{h}
		spiked := *a.Rule
		spiked.Title, spiked.Meaning, spiked.Step, spiked.Runbook, spiked.Expr, spiked.Match = h, h, h, h, h, map[string]string{h: h}
		a.Rule = &spiked
		a.History = []alerts.Evaluated{{At: now, Health: rule.HealthError, Why: h}}
		blind := stale(alertIn(t, "ack_latency", rule.OfStore, "x", alerts.PhaseFiring, dedup.Severe, time.Hour), h)
		blind.Key.Subject, blind.LastOK.Why = h, h
		s.tower.show(a, blind)
		s.tower.view.Errors = []string{h}
		one := alerts.Silence{ID: h, Matchers: []alerts.Matcher{{Name: h, Op: "=", Value: h}}, Author: h, Reason: h, Starts: now.Add(-time.Hour), Ends: now.Add(time.Minute)}
		over := one
		over.Ends, over.EndedBy = now.Add(-time.Minute), h
		s.tower.view.Silences, s.tower.ended = []alerts.Silence{one}, []alerts.Silence{over}
		j := a.Last
		s.tower.edges = []alerts.Transition{{Edge: alerts.Edge{Kind: alerts.EdgeKind(h), At: now}, Judgement: j, Cause: h}}
		s.tower.channels = []alert.ChannelState{{Name: h, Kind: h, LastError: h, LastErrorAt: now}, {Name: h, Kind: h, LastSuccess: now, Faults: []alert.ChannelFault{{Receiver: h, Text: h, Since: now}}}}
		q := url.QueryEscape(h)
		paths := []string{"/alerts", "/alerts?pipeline=" + q + "&rule=" + q, "/silences", "/silences/new?preview=1&label=" + q + "&op=" + q + "&value=" + q + "&reason=" + q + "&for=" + q + "&until=" + q}
		if !strings.Contains(h, "/") && len(h) < 1000 {
			paths = append(paths, "/alerts/one?key="+url.QueryEscape(a.Key.String()))
		}
		for _, path := range paths {
			body := s.body(s.as("operator", "GET", path, ""))
			shown := body
			for _, cut := range []string{`value="`, `href="`, `action="`} { // what goes back to the server goes as it came
				shown = withoutAttribute(shown, cut)
			}
			for _, bad := range []string{"<script>alert", "<img src=x", `href="javascript:`, "\u202e", "\x00", "\x1b", "\u200b", "\ufeff"} {
				if strings.Contains(shown, bad) {
					t.Errorf("%.60s: %.40q shows %q", path, h, bad)
				}
			}
			if strings.Contains(body, `href="javascript:`) || len(body) > 200_000 {
				t.Errorf("%.60s: %.40q gives %d bytes, or a link that runs", path, h, len(body))
			}
		}
	}
}

// withoutAttribute takes the values of an attribute out of HTML.
func withoutAttribute(html, attribute string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(html, attribute)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		_, html, _ = strings.Cut(after, `"`)
	}
}
