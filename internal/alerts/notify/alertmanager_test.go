package notify_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/notify"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/secret"
)

// A posted alert is one as Alertmanager reads it.
type posted struct {
	StartsAt, EndsAt time.Time
	Labels           map[string]string
	Annotations      map[string]string
	GeneratorURL     string
}

func postedTo(t *testing.T, in *inbox) []posted {
	t.Helper()
	var list []posted
	if err := json.Unmarshal(in.last(t).body, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

func TestAlertmanagerIsToldUntilWhenAnAlertFires(t *testing.T) {
	channel, inbox := httpRig("alertmanager").start(t, accepts)
	for _, tt := range []struct {
		n     alerts.Notification
		after time.Duration
	}{{firing(), 9 * time.Hour}, {watchdog(), 5 * time.Minute}, {testMessage(), 5 * time.Minute}} {
		if err := channel.Send(t.Context(), tt.n); err != nil {
			t.Fatal(err)
		}
		list := postedTo(t, inbox)
		if len(list) != 1 || !list[0].EndsAt.Equal(tt.n.At.Add(tt.after)) {
			t.Errorf("%s: %+v", tt.n.ID, list)
		}
	}
	if got := inbox.last(t).uri; !strings.HasSuffix(got, "/api/v2/alerts") {
		t.Errorf("posted to %s", got)
	}
}

func TestAlertmanagerIsToldTheEndOfTheTierThatAnAlertLeft(t *testing.T) {
	channel, inbox := httpRig("alertmanager").start(t, accepts)
	if err := channel.Send(t.Context(), escalated()); err != nil {
		t.Fatal(err)
	}
	list := postedTo(t, inbox)
	if len(list) != 2 || list[0].Labels["severity"] != "emergency" || list[1].Labels["severity"] != "severe" || !list[1].EndsAt.Equal(escalated().At.Add(-30*time.Second)) {
		t.Fatalf("%+v", list)
	}
	if err := channel.Send(t.Context(), resolved()); err != nil {
		t.Fatal(err)
	}
	if list = postedTo(t, inbox); len(list) != 1 || list[0].Labels["severity"] != "severe" || !list[0].EndsAt.Equal(at("18:42:00")) {
		t.Errorf("%+v", list)
	}
}

func TestAlertmanagerIsToldAgainWhatStandsWithoutThatItsEndMoves(t *testing.T) {
	channel, inbox := httpRig("alertmanager").start(t, accepts)
	fires, over := duplicates("orders"), resolved().Alerts[0]
	fires.Edge, fires.Was, over.Edge, over.Was = "", fires.Tier, "", dedup.Warning
	n := edges("n-standing", fires, over)
	n.Kind, n.At = alerts.NotifyStanding, at("18:50:00")
	if err := channel.Send(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	list := postedTo(t, inbox)
	if len(list) != 2 || list[0].Labels["severity"] != "severe" || !list[0].EndsAt.Equal(n.At.Add(9*time.Hour)) {
		t.Fatalf("%+v", list)
	}
	if list[1].Labels["severity"] != "warning" || !list[1].EndsAt.Equal(at("18:42:00")) {
		t.Errorf("%+v", list[1])
	}
}

func TestAMemberIsToldOfAnEndUntilItHasTakenItAndAWhileLonger(t *testing.T) {
	var gone atomic.Bool
	there := startHTTP(t, httpBehaviour(t, "alertmanager", accepts))
	away := startHTTP(t, func(http.ResponseWriter, *http.Request) answer {
		return answer{status: map[bool]int{true: 503, false: 200}[gone.Load()]}
	})
	c := httpConfig("alertmanager", there.hostport)
	c.URLs = append(c.URLs, httpConfig("alertmanager", away.hostport).URLs...)
	channel := open(t, c)
	for i, step := range []struct {
		gone        bool
		ended       time.Duration // so long ago
		there, away int           // how many alerts each is posted
	}{
		{true, 20 * time.Minute, 2, 2},
		{true, 20 * time.Minute, 1, 2},
		{false, 20 * time.Minute, 1, 2},
		{false, 20 * time.Minute, 1, 1},
		{false, 10 * time.Minute, 2, 2}, // its clock may be behind
	} {
		gone.Store(step.gone)
		n := today(standing(duplicates("payments")))
		n.Alerts = append(n.Alerts, endedAgo(step.ended))
		news := today(edges("n-news", duplicates("news"))) // which says nothing of what ended
		send(t, channel, news)
		send(t, channel, n)
		if got := []int{len(postedTo(t, there.inbox)), len(postedTo(t, away.inbox))}; got[0] != step.there || got[1] != step.away {
			t.Errorf("step %d: they were posted %v, want %d and %d", i, got, step.there, step.away)
		}
	}
}

func TestAlertmanagerIsNotToldThatWhatGotWorseIsResolved(t *testing.T) {
	channel, inbox := httpRig("alertmanager").start(t, accepts)
	left := endedAgo(time.Minute)
	left.GoesOn, left.Was = dedup.Emergency, dedup.Severe
	send(t, channel, today(standing(left)))
	one := postedTo(t, inbox)[0]
	if one.Annotations["summary"] != "[EMERGENCY] orders: duplicate rate, was severe" || one.Annotations["tier"] != "emergency, was severe" ||
		one.Labels["severity"] != "severe" || one.EndsAt.After(time.Now()) {
		t.Errorf("%+v", one)
	}
}

func TestAlertmanagerIsToldWhatAMessageOfFlappingSaysOfTheState(t *testing.T) {
	channel, inbox := httpRig("alertmanager").start(t, accepts)
	changed, over, never := flapping(), flapping(), flapping()
	changed.Alerts[0].Was = dedup.Warning
	over.Alerts[0].Firing, over.Alerts[0].Tier, over.Alerts[0].Was = false, dedup.Normal, dedup.Warning
	never.Alerts[0].Firing, never.Alerts[0].Tier, never.Alerts[0].Was = false, dedup.Normal, dedup.Normal
	for _, tt := range []struct {
		name string
		n    alerts.Notification
		ends map[string]bool // by severity, whether it is over
	}{
		{"the tier that was told ends when another one fires", changed, map[string]bool{"severe": false, "warning": true}},
		{"what is over ends", over, map[string]bool{"warning": true}},
	} {
		if err := channel.Send(t.Context(), tt.n); err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for _, one := range postedTo(t, inbox) {
			got[one.Labels["severity"]] = one.EndsAt.Before(tt.n.At)
		}
		if !maps.Equal(got, tt.ends) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.ends)
		}
	}
	if err := channel.Send(t.Context(), never); err != nil || len(postedTo(t, inbox)) != 0 {
		t.Errorf("it was told of what it never had: %v", err)
	}
}

func TestAlertmanagerTellsTwoRemindersApart(t *testing.T) {
	channel, inbox := httpRig("alertmanager").start(t, accepts)
	n := reminder()
	n.GroupLabels = map[string]string{"silence": "s-1", "severity": "mine"}
	if err := channel.Send(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	if one := postedTo(t, inbox)[0]; one.Labels["silence"] != "s-1" || one.Labels["severity"] != "warning" || !one.EndsAt.Equal(n.At.Add(5*time.Minute)) {
		t.Errorf("%+v", one)
	}
}

func TestOnlyAlertmanagerGroupsByItselfAndMustHearOfEverythingAgainEachFewMinutes(t *testing.T) {
	for _, kind := range notify.Types() {
		c := notify.Config{Type: kind}
		every, _ := c.Standing()
		if handsOff := kind == "alertmanager"; notify.GroupsItself(kind) != handsOff || (every > 0) != handsOff {
			t.Errorf("%s: groups itself %t, repeat %s", kind, notify.GroupsItself(kind), every)
		}
	}
	every, believed := (notify.Config{Type: "alertmanager", EndsAfter: 8 * time.Hour}).Standing()
	if every < time.Minute || every > 5*time.Minute || believed != 8*time.Hour {
		t.Errorf("told again every %s, and it believes for %s", every, believed)
	}
}

func TestAlertmanagerNeverGetsAnEndBeforeTheBeginning(t *testing.T) {
	channel, inbox := httpRig("alertmanager").start(t, accepts)
	n := resolved()
	n.Alerts[0].EndsAt = n.Alerts[0].StartsAt.Add(-time.Hour)
	if err := channel.Send(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	if one := postedTo(t, inbox)[0]; one.EndsAt.Before(one.StartsAt) {
		t.Errorf("%+v", one)
	}
}

func TestAlertmanagerLabelsAreValidNames(t *testing.T) {
	channel, inbox := httpRig("alertmanager").start(t, accepts)
	n := firing()
	n.Alerts[0].Labels = map[string]string{"cost-centre": "1", "cost_centre": "2", "__name__": "x", "9lives": "y", "": "z", "ä b": "w", "empty": "", "severity": "mine", "alertname": "mine"}
	if err := channel.Send(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	labels := postedTo(t, inbox)[0].Labels
	for name, want := range map[string]string{"cost_centre": "1", "name__": "x", "label_9lives": "y", "severity": "severe", "alertname": "duplicate_rate"} {
		if labels[name] != want {
			t.Errorf("%s is %q, want %q", name, labels[name], want)
		}
	}
	if _, ok := labels["empty"]; ok {
		t.Error("an empty label")
	}
}

func TestOneAlertmanagerThatTakesTheAlertsIsEnough(t *testing.T) {
	dead, alive := startHTTP(t, func(http.ResponseWriter, *http.Request) answer { return answer{status: 500} }), startHTTP(t, httpBehaviour(t, "alertmanager", accepts))
	c := httpConfig("alertmanager", dead.hostport)
	c.URLs = append(c.URLs, secret.New("http://"+alive.hostport))
	if err := open(t, c).Send(t.Context(), firing()); err != nil {
		t.Error(err)
	}
	if len(dead.inbox.all()) != 1 || len(alive.inbox.all()) != 1 {
		t.Error("not every member was told")
	}
}

func TestWhenEveryAlertmanagerFailsTheErrorIsForGoodOnlyIfAllAre(t *testing.T) {
	status := func(code int, after string) httpServer {
		return startHTTP(t, func(http.ResponseWriter, *http.Request) answer { return answer{status: code, retryAfter: after} })
	}
	for _, tt := range []struct {
		name      string
		members   []httpServer
		permanent bool
		after     time.Duration
	}{
		{"both refuse for good", []httpServer{status(400, ""), status(401, "")}, true, 0},
		{"one may take it later", []httpServer{status(400, ""), status(503, "9")}, false, 9 * time.Second},
		{"the shorter wait counts", []httpServer{status(503, "30"), status(503, "9"), status(400, "1")}, false, 9 * time.Second},
	} {
		c := httpConfig("alertmanager", tt.members[0].hostport)
		for _, m := range tt.members[1:] {
			c.URLs = append(c.URLs, secret.New("http://"+m.hostport))
		}
		d := deliveryError(t, open(t, c).Send(t.Context(), firing()))
		if d.Permanent != tt.permanent || d.RetryAfter != tt.after {
			t.Errorf("%s: permanent %t, after %s: %s", tt.name, d.Permanent, d.RetryAfter, d.Public)
		}
		for _, m := range tt.members {
			if !strings.Contains(d.Public, m.hostport) {
				t.Errorf("%s: %s is not in %s", tt.name, m.hostport, d.Public)
			}
		}
	}
}
