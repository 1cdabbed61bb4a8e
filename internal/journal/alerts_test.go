package journal

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/outbox"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// tickAt is when the ticks of these tests begin.
var tickAt = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func alertKey(pipeline string) rule.Key {
	return rule.Key{Rule: "duplicate_rate", Kind: rule.OfPipeline, Subject: pipeline}
}

// firing returns an alert that fires since a time.
func firing(pipeline string, at time.Time) alerts.Alert {
	j := rule.Judgement{
		Key: alertKey(pipeline), At: at, Labels: map[string]string{"broker": "main"}, Enters: dedup.Severe, Holds: dedup.Severe,
		Value: 0.05, Limit: 0.03, Unit: dedup.Ratio, N: 1000, Window: 15 * time.Minute, Why: "5 % ≥ 3 % <b>", Unread: []string{"store orders"}, Evidence: []string{"line"},
	}
	s := alerts.State{Phase: alerts.PhaseFiring, Tier: dedup.Severe, Since: at, FiredAt: at, TierSince: at.Add(time.Minute), Reached: [3]time.Time{at, at, {}}, HealthSince: at, Seen: at}
	return alerts.Alert{Key: j.Key, State: s, Last: j, LastOK: j, Cause: "A producer sends twice."}
}

func edgeOf(pipeline string, kind alerts.EdgeKind, at time.Time) alerts.Transition {
	return alerts.Transition{Edge: alerts.Edge{Kind: kind, From: dedup.Normal, To: dedup.Severe, At: at}, Judgement: firing(pipeline, at).Last, Cause: "c"}
}

func messageFor(channel, id, group string) alerts.Notification {
	return alerts.Notification{
		ID: id, Channel: channel, Kind: alerts.NotifyEdges, Group: group, GroupLabels: map[string]string{"broker": "main"}, At: tickAt,
		Alerts: []alerts.NotifiedAlert{{Key: alertKey("orders"), Title: "Duplicate rate", Firing: true, Tier: dedup.Severe, StartsAt: tickAt}},
	}
}

func commit(t *testing.T, a *Alerts, tick alerts.Tick) {
	t.Helper()
	if tick.At.IsZero() {
		tick.At = tickAt
	}
	if err := a.CommitTick(t.Context(), tick); err != nil {
		t.Fatal(err)
	}
}

// reopen opens the journal again as after a crash: the files of the one before are never closed in order.
func reopen(t *testing.T, dir string) *Alerts {
	t.Helper()
	db, _ := open(t, dir)
	return db.Alerts()
}

func TestATickSurvivesARestartAsItWas(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	one := firing("orders", tickAt)
	one.Ack = &alerts.Ack{By: "ann", Note: "<b>at it</b>", At: tickAt, Until: tickAt.Add(time.Hour), Tier: dedup.Severe}
	one.Silences = []string{"s"}
	edge := edgeOf("orders", alerts.EdgeFired, tickAt)
	sent := alerts.Sent{Channel: "ops", Key: one.Key, Tier: dedup.Severe, At: tickAt, Began: tickAt, LeftOut: true, Flapping: tickAt, Peak: dedup.Emergency}
	commit(t, db.Alerts(), alerts.Tick{Alerts: []alerts.Alert{one}, Edges: []alerts.Transition{edge}, Due: []alerts.Notification{messageFor("ops", "m", "g")}, Sent: []alerts.Sent{sent}})
	a := reopen(t, dir)
	one.Silences = nil // which are found anew
	if all, err := a.LoadAlerts(t.Context()); err != nil || len(all) != 1 || !reflect.DeepEqual(all[0], one) {
		t.Errorf("%+v, %v", all, err)
	}
	if past, err := a.History(t.Context(), alertKey("orders"), 10, tickAt.Add(time.Hour)); err != nil || len(past) != 1 || !reflect.DeepEqual(past[0], edge) {
		t.Errorf("%+v, %v", past, err)
	}
	if log, err := a.SentLog(t.Context()); err != nil || len(log) != 1 || log[0] != sent {
		t.Errorf("%+v, %v", log, err)
	}
	out, err := a.Claim(t.Context(), "ops", tickAt)
	if err != nil || !reflect.DeepEqual(out.Notification, messageFor("ops", "m", "g")) || !out.Made.Equal(tickAt) || out.Tries != 1 {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestATickThatFailsLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	// The last thing that a tick writes is refused.
	if _, err := db.acts.ExecContext(t.Context(), `
		CREATE TRIGGER refuse BEFORE INSERT ON alert_outbox WHEN new.id = 'second' BEGIN SELECT raise(ABORT, 'refused'); END`); err != nil {
		t.Fatal(err)
	}
	tick := alerts.Tick{
		At: tickAt, Alerts: []alerts.Alert{firing("orders", tickAt)}, Edges: []alerts.Transition{edgeOf("orders", alerts.EdgeFired, tickAt)},
		Due:  []alerts.Notification{messageFor("ops", "first", ""), messageFor("ops", "second", "")},
		Sent: []alerts.Sent{{Channel: "ops", Key: alertKey("orders"), Tier: dedup.Severe, At: tickAt}},
	}
	if err := db.Alerts().CommitTick(t.Context(), tick); err == nil {
		t.Fatal("it was kept")
	}
	for _, a := range []*Alerts{db.Alerts(), reopen(t, dir)} {
		all, err := a.LoadAlerts(t.Context())
		past, err2 := a.History(t.Context(), rule.Key{}, 10, tickAt.Add(time.Hour))
		log, err3 := a.SentLog(t.Context())
		out, err4 := a.Claim(t.Context(), "ops", tickAt)
		if err := errors.Join(err, err2, err3, err4); err != nil || len(all)+len(past)+len(log) != 0 || out.ID != "" {
			t.Errorf("%v %v %v %v, %v", all, past, log, out, err)
		}
	}
}

func TestATickThatWasKeptAlreadyIsKeptOnce(t *testing.T) {
	db, _ := open(t, t.TempDir())
	a := db.Alerts()
	tick := alerts.Tick{Alerts: []alerts.Alert{firing("orders", tickAt)}, Edges: []alerts.Transition{edgeOf("orders", alerts.EdgeFired, tickAt)}, Due: []alerts.Notification{messageFor("ops", "m", "g")}}
	commit(t, a, tick)
	if _, err := a.Claim(t.Context(), "ops", tickAt); err != nil {
		t.Fatal(err)
	}
	if err := a.Finish(t.Context(), "m", outbox.Outcome{Result: outbox.DeliverySent, At: tickAt}); err != nil {
		t.Fatal(err)
	}
	commit(t, a, tick)
	past, err := a.History(t.Context(), rule.Key{}, 10, tickAt.Add(time.Hour))
	if out, err2 := a.Claim(t.Context(), "ops", tickAt); len(past) != 1 || out.ID != "" || errors.Join(err, err2) != nil {
		t.Errorf("%d edges, message %q again, %v", len(past), out.ID, errors.Join(err, err2))
	}
}

// The version before kept one time for the tier that fires, and none for the tiers below it.
func TestAnAlertThatTheVersionBeforeKeptGoesOnToFireAndRecoversAnew(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	const body = `{"Key": {"Rule": "duplicate_rate", "Kind": "pipeline", "Subject": "orders"}, "State": {"Phase": 3, "Tier": 3,
		"Since": "2026-11-22T11:57:00Z", "FiredAt": "2026-11-22T11:00:00Z", "Reached": ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"],
		"Calm": "2026-11-22T11:57:00Z", "Health": 0, "HealthSince": "2026-11-22T11:00:00Z", "Seen": "2026-11-22T12:00:00Z"}}`
	if _, err := db.acts.ExecContext(t.Context(), "INSERT INTO alert_states (key, quiet, body) VALUES (?, 0, ?)", alertKey("orders").String(), body); err != nil {
		t.Fatal(err)
	}
	all, err := reopen(t, dir).LoadAlerts(t.Context())
	if err != nil || len(all) != 1 || all[0].State.Tier != dedup.Severe || all[0].State.Phase != alerts.PhaseRecovering || !all[0].State.FiredAt.Equal(tickAt.Add(-time.Hour)) {
		t.Fatalf("%+v, %v", all, err)
	}
	s, told := all[0].State, []string{}
	for i := range 40 {
		e := rule.Evaluation{At: tickAt.Add(time.Duration(15*(i+1)) * time.Second), Enters: dedup.Normal, Holds: dedup.Normal}
		next, edge, changed := s.Next(e, rule.DefaultTiming())
		if s = next; changed {
			told = append(told, fmt.Sprint(edge.Kind, " ", edge.At.Sub(tickAt)))
		}
	}
	if want := []string{"resolved 5m15s"}; !reflect.DeepEqual(told, want) {
		t.Errorf("it told %v, want %v", told, want)
	}
}

func TestAlertsThatAreNormalAreNotKeptUnlessAChannelWaitsToHearOfIt(t *testing.T) {
	db, _ := open(t, t.TempDir())
	a := db.Alerts()
	normal := alerts.Alert{Key: alertKey("calm"), State: alerts.State{Tier: dedup.Normal, Seen: tickAt}}
	pending := alerts.Alert{Key: alertKey("soon"), State: alerts.State{Phase: alerts.PhasePending, Tier: dedup.Normal, Reached: [3]time.Time{tickAt}}}
	unread := alerts.Alert{Key: alertKey("unread"), State: alerts.State{Tier: dedup.Normal, Health: rule.HealthError, HealthSince: tickAt}}
	told := alerts.Sent{Channel: "ops", Key: alertKey("orders"), Tier: dedup.Severe, At: tickAt}
	commit(t, a, alerts.Tick{Alerts: []alerts.Alert{normal, pending, unread, firing("orders", tickAt)}, Sent: []alerts.Sent{told}})
	wantKept(t, a, "orders", "soon", "unread")
	over := alerts.Alert{Key: alertKey("orders"), State: alerts.State{Tier: dedup.Normal, Since: tickAt}}
	pending.State = alerts.State{Tier: dedup.Normal}
	commit(t, a, alerts.Tick{Alerts: []alerts.Alert{over, pending}})
	wantKept(t, a, "orders", "unread")
	told.Tier = dedup.Normal
	commit(t, a, alerts.Tick{Sent: []alerts.Sent{told}})
	wantKept(t, a, "unread")
	if log, err := a.SentLog(t.Context()); err != nil || len(log) != 0 {
		t.Errorf("%+v, %v", log, err)
	}
}

func wantKept(t *testing.T, a *Alerts, want ...string) {
	t.Helper()
	all, err := a.LoadAlerts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, one := range all {
		got = append(got, one.Key.Subject)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v are kept, want %v", got, want)
	}
}

func TestFiguresThatJSONDoesNotKnowDoNotKeepATickFromBeingKept(t *testing.T) {
	db, _ := open(t, t.TempDir())
	a := db.Alerts()
	for i, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		one, edge, m := firing("orders", tickAt), edgeOf("orders", alerts.EdgeFired, tickAt), messageFor("ops", fmt.Sprint("m", i), "")
		one.Last.Value, one.LastOK.Limit, edge.Judgement.N, m.Alerts[0].Value = v, v, v, v
		commit(t, a, alerts.Tick{Alerts: []alerts.Alert{one}, Edges: []alerts.Transition{edge}, Due: []alerts.Notification{m}})
		if !math.IsNaN(v) && m.Alerts[0].Value != v || math.IsNaN(v) && !math.IsNaN(m.Alerts[0].Value) {
			t.Error("the message of the caller was changed")
		}
		all, err := a.LoadAlerts(t.Context())
		if err != nil || all[0].Last.Why != one.Last.Why || math.IsInf(all[0].Last.Value, 0) {
			t.Errorf("%v: %+v, %v", v, all, err)
		}
	}
}

func TestAcknowledgementsEndWithTheAlertsOfATick(t *testing.T) {
	db, _ := open(t, t.TempDir())
	a := db.Alerts()
	one, other := firing("orders", tickAt), firing("payments", tickAt)
	one.Ack = &alerts.Ack{By: "ann", At: tickAt, Tier: dedup.Severe}
	other.Ack = one.Ack
	commit(t, a, alerts.Tick{Alerts: []alerts.Alert{one, other}})
	one.Ack = nil
	commit(t, a, alerts.Tick{Alerts: []alerts.Alert{one}})
	all, err := a.LoadAlerts(t.Context())
	if err != nil || len(all) != 2 || all[0].Ack != nil || all[1].Ack == nil || *all[1].Ack != *other.Ack {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestAnAcknowledgementThatEndedIsKeptWithWhyItDid(t *testing.T) {
	for _, tt := range []struct {
		name   string
		by     string
		change func(*alerts.Alert)
		why    alerts.AckEnd
		ended  time.Duration // after the tick that acknowledged it
		who    string
	}{
		{"its time was over", "", func(*alerts.Alert) {}, alerts.AckOver, time.Hour, ""},
		{"the alert ended", "", func(a *alerts.Alert) { a.State.Phase, a.State.Tier = alerts.PhaseNormal, dedup.Normal }, alerts.AckResolved, 2 * time.Hour, ""},
		{"it got worse", "", func(a *alerts.Alert) { a.State.Tier = dedup.Emergency }, alerts.AckWorse, 2 * time.Hour, ""},
		{"it was taken back", "bob", func(a *alerts.Alert) { a.Ack = nil }, alerts.AckTakenBack, 20 * time.Minute, "bob"},
		{"another one took its place", "bob", func(a *alerts.Alert) {
			a.Ack = &alerts.Ack{By: "bob", At: tickAt.Add(20 * time.Minute), Until: tickAt.Add(9 * time.Hour), Tier: dedup.Severe}
		}, alerts.AckReplaced, 20 * time.Minute, "bob"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			db, _ := open(t, t.TempDir())
			a := db.Alerts()
			one := firing("orders", tickAt)
			ack := alerts.Ack{By: "ann", Note: "<b>at it</b>", At: tickAt.Add(time.Microsecond), Until: tickAt.Add(time.Hour), Tier: dedup.Severe}
			one.Ack = &ack
			commit(t, a, alerts.Tick{At: tickAt, Alerts: []alerts.Alert{one}})
			commit(t, a, alerts.Tick{At: tickAt.Add(time.Minute), Alerts: []alerts.Alert{one}})
			if early, err := a.EndedAcks(t.Context(), one.Key, 10); err != nil || len(early) != 0 {
				t.Fatalf("while it holds: %+v, %v", early, err)
			}
			at := tickAt.Add(2 * time.Hour)
			if tt.by != "" {
				at = tickAt.Add(20 * time.Minute)
			}
			one.Ack = nil
			tt.change(&one)
			for range 2 { // one that is kept again is the same
				commit(t, a, alerts.Tick{At: at, By: tt.by, Alerts: []alerts.Alert{one}})
			}
			all, err := a.EndedAcks(t.Context(), one.Key, 10)
			if err != nil || len(all) != 1 {
				t.Fatalf("%+v, %v", all, err)
			}
			got := all[0]
			if got.By != "ann" || got.Note != ack.Note || !got.At.Equal(tickAt) || !got.Until.Equal(ack.Until) || got.Tier != ack.Tier ||
				got.Why != tt.why || got.EndedBy != tt.who || !got.Ended.Equal(tickAt.Add(tt.ended)) {
				t.Errorf("%+v", got)
			}
			if of, err := a.EndedAcks(t.Context(), alertKey("payments"), 10); err != nil || len(of) != 0 {
				t.Errorf("of another alert: %+v, %v", of, err)
			}
		})
	}
}

func TestTheHistoryIsReadByAlertOrSubjectInWholeTicks(t *testing.T) {
	db, _ := open(t, t.TempDir())
	a := db.Alerts()
	pipeline := func(name string) rule.Key { return rule.Key{Kind: rule.OfPipeline, Subject: name} }
	broker := rule.Key{Rule: "node_down", Kind: rule.OfBroker, Subject: "orders"}
	dashboard := rule.Key{Rule: "outbox_old", Kind: rule.OfDashboard}
	of := func(k rule.Key, at time.Time) alerts.Transition {
		e := edgeOf("", alerts.EdgeFired, at)
		e.Judgement.Key = k
		return e
	}
	named := dashboard
	named.Rule = "my_" + dashboard.Rule
	commit(t, a, alerts.Tick{At: tickAt, Edges: []alerts.Transition{of(dashboard, tickAt), of(named, tickAt)}})
	for i := range 6 {
		at := tickAt.Add(time.Duration(i) * time.Minute)
		second := alertKey("orders")
		second.Rule = "ack_latency"
		commit(t, a, alerts.Tick{At: at, Edges: []alerts.Transition{
			of(alertKey("orders"), at), of(second, at), of(alertKey("payments"), at), of(broker, at),
		}})
	}
	end := tickAt.Add(time.Hour)
	for name, c := range map[string]struct {
		of     rule.Key
		limit  int
		before time.Time
		want   int
	}{
		"all of a subject":                   {pipeline("orders"), 100, end, 12},
		"whole ticks":                        {pipeline("orders"), 3, end, 4},
		"older than the page before":         {pipeline("orders"), 100, tickAt.Add(2 * time.Minute), 4},
		"of all subjects":                    {rule.Key{}, 100, end, 26},
		"of a subject that has none":         {pipeline("%' OR 1 --"), 100, end, 0},
		"older than the oldest is gone":      {pipeline("orders"), 100, tickAt, 0},
		"of one alert":                       {alertKey("orders"), 100, end, 6},
		"so many of one alert":               {alertKey("orders"), 3, end, 3},
		"of a broker of the same name":       {rule.Key{Kind: rule.OfBroker, Subject: "orders"}, 100, end, 6},
		"of a kind that has no such subject": {rule.Key{Kind: rule.OfStore, Subject: "orders"}, 100, end, 0},
		"of the dashboard":                   {rule.Key{Kind: rule.OfDashboard}, 100, end, 2},
		"of an alert of the dashboard":       {dashboard, 100, end, 1},
	} {
		t.Run(name, func(t *testing.T) {
			past, err := a.History(t.Context(), c.of, c.limit, c.before)
			if err != nil || len(past) != c.want {
				t.Fatalf("%d, %v", len(past), err)
			}
			for i := 1; i < len(past); i++ {
				if past[i].At.After(past[i-1].At) {
					t.Error("not the newest first")
				}
			}
		})
	}
	if since, err := a.EdgesSince(t.Context(), tickAt.Add(4*time.Minute)); err != nil || len(since) != 8 || since[0].At.After(since[7].At) {
		t.Errorf("%d, %v", len(since), err)
	}
}

func TestTheHistoryIsBoundedInNumberAndAge(t *testing.T) {
	db, _ := open(t, t.TempDir())
	a := db.Alerts()
	if _, err := db.acts.ExecContext(t.Context(), `
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < ?)
		INSERT INTO alert_edges (at, key, subject, edge, body) SELECT ?, 'k' || i, 's', 'fired', '{}' FROM n`, maxEdges, tickAt.UnixMilli()); err != nil {
		t.Fatal(err)
	}
	old := edgeOf("old", alerts.EdgeFired, tickAt.Add(-keepEdges-time.Second))
	commit(t, a, alerts.Tick{Edges: []alerts.Transition{old, edgeOf("new", alerts.EdgeFired, tickAt)}})
	var n, newest, older int
	err := db.main.QueryRowContext(t.Context(), "SELECT count(*), count(*) FILTER (WHERE subject = 'new'), count(*) FILTER (WHERE subject = 'old') FROM alert_edges").Scan(&n, &newest, &older)
	if err != nil || n != maxEdges || newest != 1 || older != 0 {
		t.Error(n, newest, older, err)
	}
}

func TestSilencesAreListedUntilTheyEndOrAreExpired(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	a := db.Alerts()
	now := time.Now().Truncate(time.Millisecond).UTC()
	made := func(id string, from, to time.Duration) alerts.Silence {
		return alerts.Silence{
			ID: id, Matchers: []alerts.Matcher{{Name: "pipeline", Op: alerts.MatchEqual, Value: "<b>"}}, Author: "ann", Reason: "deploy",
			Starts: now.Add(from), Ends: now.Add(to),
		}
	}
	long, short, later, over := made("long", 0, 2*time.Hour), made("short", 0, time.Hour), made("later", time.Hour, 3*time.Hour), made("over", -time.Hour, -time.Minute)
	for _, s := range []alerts.Silence{long, short, later, over} {
		if err := a.AddSilence(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	a = reopen(t, dir)
	if got, err := a.Silences(t.Context()); err != nil || !reflect.DeepEqual(got, []alerts.Silence{short, long, later}) {
		t.Errorf("%+v, %v", got, err)
	}
	ended := now.Add(-time.Second)
	for _, id := range []string{"short", "over", "short"} {
		if err := a.ExpireSilence(t.Context(), id, "bob of "+id, ended); err != nil {
			t.Error(id, err)
		}
	}
	if err := a.ExpireSilence(t.Context(), "none", "bob", now); dedup.KindOf(err) != dedup.NotFound {
		t.Error(err)
	}
	if err := a.ExpireSilence(t.Context(), "short", "eve", ended.Add(time.Second)); err != nil {
		t.Error(err)
	}
	short.Ends, short.EndedBy = ended, "bob of short"
	if got, err := a.SilencesSince(t.Context(), now.Add(-2*time.Hour)); err != nil || !reflect.DeepEqual(got, []alerts.Silence{over, short, long, later}) {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := a.Silences(t.Context()); err != nil || len(got) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestATickIsGivenUpWithItsContext(t *testing.T) {
	db, _ := open(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := db.Alerts().CommitTick(ctx, alerts.Tick{At: tickAt, Alerts: []alerts.Alert{firing("orders", tickAt)}}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	wantKept(t, db.Alerts())
}
