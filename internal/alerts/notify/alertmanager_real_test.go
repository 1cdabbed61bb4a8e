package notify_test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/notify"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/servers"
)

func TestARealAlertmanagerShowsAnAlertAsWeToldIt(t *testing.T) {
	t.Parallel()
	m := startManager(t, quick)
	n := today(firing())
	send(t, channelTo(t, m), n)
	list := m.holds()
	if len(list) != 1 {
		t.Fatalf("it has %+v", list)
	}
	got := list[0]
	labels := map[string]string{"alertname": "duplicate_rate", "severity": "severe", "kind": "pipeline", "pipeline": "orders",
		"broker": "main", "store": "orders", "team": "shop", "cost_centre": "42"}
	if !maps.Equal(got.Labels, labels) {
		t.Errorf("labels %v, want %v", got.Labels, labels)
	}
	for name, want := range map[string]string{"edge": "fired", "tier": "severe", "value": "4.62 %", "runbook_url": n.Alerts[0].Runbook,
		"summary": "[SEVERE] orders: duplicate rate 4.62 % (limit 3.00 %), 500 of 10,824 in 15 m"} {
		if got.Annotations[name] != want {
			t.Errorf("annotation %s is %q, want %q", name, got.Annotations[name], want)
		}
	}
	if got.GeneratorURL != n.Alerts[0].Link || !got.StartsAt.Equal(n.Alerts[0].StartsAt) || !got.EndsAt.Equal(n.At.Add(9*time.Hour)) {
		t.Errorf("%s, from %s to %s", got.GeneratorURL, got.StartsAt, got.EndsAt)
	}
	eventually(t, "the receiver is told", "orders severe", func() string { return m.toldText("pager") })
}

func TestInARealAlertmanagerOnlyTheTierThatFiresStands(t *testing.T) {
	t.Parallel()
	m := startManager(t, quick)
	channel := channelTo(t, m)
	better := escalated()
	better.Alerts[0].Edge, better.Alerts[0].Was, better.Alerts[0].Tier = alerts.EdgeDeescalated, dedup.Emergency, dedup.Severe
	for _, step := range []struct {
		n           alerts.Notification
		holds, told string
	}{
		{firing(), "orders severe", "orders severe"},
		{escalated(), "orders emergency", "(orders severe), orders emergency"},
		{better, "orders severe", "(orders emergency), orders severe"},
		{resolved(), "", "(orders severe)"},
	} {
		before := len(m.told("pager"))
		send(t, channel, today(step.n))
		if got := m.keys(); got != step.holds {
			t.Errorf("it holds %q, want %q", got, step.holds)
		}
		eventually(t, "what the receiver is told", step.told, func() string {
			if now := m.told("pager"); len(now) > before {
				return now[before].text()
			}
			return ""
		})
	}
	if got := len(m.told("pager")); got != 4 {
		t.Errorf("it was told %d times: %s", got, m.toldText("pager"))
	}
}

func TestARealAlertmanagerLosesNobodysAlertForANeighboursName(t *testing.T) {
	t.Parallel()
	m := startManager(t, quick)
	names := append(hostileNames(), "a\"b\n<!channel>", "a.b", "a-b", "0day", "héé", "店", "", "__name__", "alertname", "severity",
		"{a=\"b\"}", strings.Repeat("x", 64<<10), strings.Repeat("界", 64<<10))
	n := edges("n-hostile")
	for i, name := range names {
		a := duplicates(fmt.Sprint("orders-", i))
		a.Title, a.Why, a.Cause, a.Step, a.Key.Rule = name, name, name, name, name
		a.Labels = map[string]string{name: name, "team": name, "": name, name + ".": name}
		subject := duplicates(fmt.Sprint(i, name))
		n.Alerts = append(n.Alerts, a, subject)
	}
	n = today(n)
	send(t, channelTo(t, m), n)
	if got := len(m.holds()); got != len(n.Alerts) {
		t.Errorf("it holds %d of %d", got, len(n.Alerts))
	}
}

func TestARealAlertmanagerTakesEveryAddressOfADashboard(t *testing.T) {
	t.Parallel()
	m := startManager(t, quick)
	n, links := edges("n-links"), map[string]string{
		"name": "https://dashboard.example/alerts/one?key=a%2Fb", "six": "http://[::1]:8080/alerts/one?key=a",
		"zone": "http://[fe80::1%25eth0]:8080/", "marks": "https://dashboard.example/a(b)[c]?x=<y>|z&d='e'`f`", "none": "",
		"host": "http://a<b>(c)'d\"|/", "brackets": "http://a[b]/", "script": "javascript:alert(1)",
		"percent": "https://dashboard.example/%41%zz", "unicode": "https://пример.example/店", "user": "https://a:b@c.example/",
		"port": "http://a:99999/", "empty port": "http://a:/", "long": "https://dashboard.example/" + strings.Repeat("x", 5000),
		"fragment": "https://dashboard.example/#a b",
	}
	for name, link := range links {
		a := duplicates(name)
		a.Link, a.Runbook = link, link
		n.Alerts = append(n.Alerts, a)
	}
	send(t, channelTo(t, m), today(n))
	list := m.holds()
	if len(list) != len(links) {
		t.Errorf("it holds %d of %d: %s", len(list), len(links), m.keys())
	}
	for _, h := range list {
		if name := h.Labels["pipeline"]; (name == "six" || name == "name") && h.GeneratorURL != links[name] {
			t.Errorf("%s leads to %s, want %s", name, h.GeneratorURL, links[name])
		}
	}
	test := today(testMessage())
	test.ExternalURL = links["six"]
	send(t, channelTo(t, m), test)
}

func TestPipelinesWhoseLongNamesBeginAlikeAreTwoAlertsInARealAlertmanager(t *testing.T) {
	t.Parallel()
	m := startManager(t, quick)
	long := strings.Repeat("orders-of-the-shop.", 12)
	send(t, channelTo(t, m), today(edges("n-long", duplicates(long+"a"), duplicates(long+"b"))))
	if got := len(m.holds()); got != 2 {
		t.Errorf("it holds %d", got)
	}
}

func TestWhatIsSilencedInARealAlertmanagerStaysSoWhateverItsTier(t *testing.T) {
	t.Parallel()
	m := startManager(t, quick)
	now := time.Now().UTC()
	m.ask(http.MethodPost, "/api/v2/silences", map[string]any{
		"matchers": []map[string]any{{"name": "pipeline", "value": "orders", "isRegex": false}}, "startsAt": now, "endsAt": now.Add(time.Hour),
		"createdBy": "anna", "comment": "a deploy",
	}, nil)
	channel := channelTo(t, m)
	loud := duplicates("payments")
	for i, one := range []alerts.NotifiedAlert{firing().Alerts[0], escalated().Alerts[0]} {
		loud.Labels = map[string]string{"broker": "main", "round": fmt.Sprint(i)}
		send(t, channel, today(edges(fmt.Sprint("n-", i), one, loud)))
		eventually(t, "what is silenced", "suppressed", func() string {
			for _, h := range m.holds() {
				if h.Labels["pipeline"] == "orders" {
					return h.Status.State
				}
			}
			return ""
		})
		eventually(t, "times that the other is told", fmt.Sprint(i+1), func() string { return fmt.Sprint(len(m.told("pager"))) })
	}
	if got := m.toldText("pager"); strings.Contains(got, "orders") {
		t.Error(got)
	}
}

func TestTheMembersOfARealClusterHaveEveryAlertAndTellItOnce(t *testing.T) {
	t.Parallel()
	hooks := startHTTP(t, func(http.ResponseWriter, *http.Request) answer { return answer{status: 200} })
	soon := func(o *servers.AlertmanagerOptions) {
		o.Cluster = true
		o.Args = []string{"--cluster.peer-timeout=15s", "--cluster.gossip-interval=20ms", "--cluster.settle-timeout=1s"}
	}
	first := startManagerFor(t, hooks, quick, soon)
	second := startManagerFor(t, hooks, quick, soon, func(o *servers.AlertmanagerOptions) { o.Peers = []string{first.ClusterAddr()} })
	channel := channelTo(t, first, second)
	send(t, channel, today(firing()))
	for _, m := range []*manager{first, second} {
		if got := m.keys(); got != "orders severe" {
			t.Errorf("a member has %q", got)
		}
	}
	// The second waits whether the first tells it. When it has told what it alone has, and later, it has decided of that.
	eventually(t, "what the receiver is told", "orders severe", func() string { return first.toldText("pager") })
	alone := duplicates("alone")
	alone.Labels = map[string]string{"broker": "other"}
	send(t, channelTo(t, second), today(edges("n-alone", alone)))
	eventually(t, "what the receiver is told", "orders severe; alone severe", func() string { return first.toldText("pager") })
	times := 0
	for _, h := range first.told("pager") {
		if strings.Contains(h.text(), "orders severe") {
			times++
		}
	}
	if times != 1 {
		t.Errorf("the two told of it %d times, want once", times)
	}

	first.Kill()
	alone.Firing, alone.Tier, alone.Was, alone.EndsAt = false, dedup.Normal, dedup.Severe, at("18:02:00")
	send(t, channel, today(edges("n-over", resolved().Alerts[0], alone)))
	eventually(t, "what stands", "", second.keys)
	if err := first.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	send(t, channel, today(standing(duplicates("payments"))))
	for _, m := range []*manager{first, second} {
		if got := m.keys(); got != "payments severe" {
			t.Errorf("a member has %q", got)
		}
	}
}

// patient waits for others long enough that a busy machine hands over two alerts meanwhile.
func patient() string { return strings.ReplaceAll(quick, "group_wait: 50ms", "group_wait: 2s") }

// justNow is an alert that fires since the notification was made: of an older one Alertmanager tells without waiting for others.
func justNow(pipeline string) alerts.NotifiedAlert {
	a := duplicates(pipeline)
	a.StartsAt = edges("").At
	return a
}

// standing says again what stands.
func standing(list ...alerts.NotifiedAlert) alerts.Notification {
	n := edges("n-standing", list...)
	n.Kind, n.Group, n.GroupLabels = alerts.NotifyStanding, "standing", nil
	for i := range n.Alerts {
		n.Alerts[i].Edge = ""
		if n.Alerts[i].Firing {
			n.Alerts[i].Was = n.Alerts[i].Tier
		}
	}
	return n
}

func TestARealAlertmanagerThatWasRestartedIsRightAgainAfterTheNextMessageOfWhatStands(t *testing.T) {
	t.Parallel()
	m := startManager(t, patient())
	channel := channelTo(t, m)
	send(t, channel, today(edges("n-two", justNow("orders"), justNow("payments"))))
	eventually(t, "what the receiver is told", "orders severe, payments severe", func() string { return m.toldText("pager") })
	if err := m.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := m.keys(); got != "" {
		t.Fatalf("it holds %q", got)
	}
	over := resolved().Alerts[0]
	over.StartsAt, over.EndsAt = at("18:00:00"), at("18:01:00")
	send(t, channel, today(standing(duplicates("payments"), over)))
	if got := m.keys(); got != "payments severe" {
		t.Errorf("it holds %q", got)
	}
	// What ended while it was away is told to be over, and what goes on is not told as new.
	eventually(t, "what the receiver is told", "orders severe, payments severe; (orders severe)",
		func() string { return m.toldText("pager") })
}

func TestARealAlertmanagerTakesTheWatchdogForAliveOnlyWhileItComes(t *testing.T) {
	t.Parallel()
	m := startManager(t, quick)
	channel := channelTo(t, m)
	late := today(watchdog())
	late.At = late.At.Add(-6 * time.Minute)
	send(t, channel, late)
	if got := len(m.holds()); got != 0 {
		t.Errorf("a watchdog of six minutes ago stands: %d", got)
	}
	for range 2 {
		n := today(watchdog())
		send(t, channel, n)
		list := m.holds()
		if len(list) != 1 || list[0].Labels["alertname"] != "watchdog" || !list[0].EndsAt.Equal(n.At.Add(5*time.Minute)) {
			t.Errorf("%+v", list)
		}
	}
}

func TestARealAlertmanagerTakesAThousandAlertsAtOnce(t *testing.T) {
	t.Parallel()
	m := startManager(t, quick)
	n := edges("n-thousand")
	for i := range 1000 {
		n.Alerts = append(n.Alerts, duplicates(fmt.Sprintf("pipeline-%04d", i)))
	}
	send(t, channelTo(t, m), today(n))
	if got := len(m.holds()); got != 1000 {
		t.Errorf("it holds %d", got)
	}
	eventually(t, "alerts of which the receiver is told", "1000", func() string {
		if told := m.told("pager"); len(told) > 0 {
			return fmt.Sprint(len(told[len(told)-1].Alerts))
		}
		return ""
	})
}

// TestWhatFiresOutlastsTheResolveTimeout posts an alert without an end beside ours: when Alertmanager has resolved that one, ours stands.
func TestWhatFiresOutlastsTheResolveTimeoutOfARealAlertmanager(t *testing.T) {
	t.Parallel()
	m := startManager(t, "global: {resolve_timeout: 1s}"+quick)
	send(t, channelTo(t, m), today(firing()))
	endless := []any{map[string]any{"labels": map[string]string{"alertname": "endless", "broker": "main", "pipeline": "endless", "severity": "warning"}}}
	// Nobody is told of the end of what was over before people heard of it: so it is posted until they have.
	eventually(t, "both are told", "true", func() string {
		m.ask(http.MethodPost, "/api/v2/alerts", endless, nil)
		told := m.toldText("pager")
		return fmt.Sprint(strings.Contains(told, "endless warning") && strings.Contains(told, "orders severe"))
	})
	eventually(t, "the other is told to be over", "true", func() string {
		return fmt.Sprint(strings.Contains(m.toldText("pager"), "(endless warning)"))
	})
	eventually(t, "what it holds", "orders severe", m.keys)
	if got := m.toldText("pager"); strings.Contains(got, "(orders") {
		t.Error(got)
	}
}

func TestWhatNobodyTellsOfAnyMoreIsResolvedByARealAlertmanagerAfterEndsAfter(t *testing.T) {
	t.Parallel()
	m := startManager(t, quick)
	c := notify.Config{Name: "handoff", Type: "alertmanager", URLs: []secret.Secret{secret.New(m.URL())}, EndsAfter: 10 * time.Minute}
	channel := open(t, c)
	// Each message has three seconds left of its life, so it is told again until people have heard of it: then the dashboard dies.
	eventually(t, "the receiver is told", "true", func() string {
		last := today(firing())
		last.At = last.At.Add(-10*time.Minute + 3*time.Second)
		send(t, channel, last)
		return fmt.Sprint(m.toldText("pager") != "")
	})
	eventually(t, "what it holds", "", m.keys)
	eventually(t, "what the receiver is told", "orders severe; (orders severe)", func() string { return m.toldText("pager") })
}

func TestAnEndThatIsAheadOfTheClockOfARealAlertmanagerCountsWhenItIsToldAgain(t *testing.T) {
	t.Parallel()
	m := startManager(t, quick)
	channel := channelTo(t, m)
	send(t, channel, today(firing()))
	over := today(resolved())
	over.At = over.At.Add(32 * time.Second) // our clock is two seconds further ahead than allowed for
	over.Alerts[0].EndsAt = over.At
	send(t, channel, over)
	again := standing(over.Alerts...)
	again.At = over.At
	eventually(t, "what it holds", "", func() string {
		send(t, channel, again)
		return m.keys()
	})
	eventually(t, "what the receiver is told", "orders severe; (orders severe)", func() string { return m.toldText("pager") })
}

func TestWhatEndedLongAgoIsNotListedByARealAlertmanagerWithEachMessageToPeople(t *testing.T) {
	t.Parallel()
	m := startManager(t, patient())
	channel := channelTo(t, m)
	send(t, channel, today(edges("n-two", justNow("orders"), justNow("payments"))))
	eventually(t, "what the receiver is told", "orders severe, payments severe", func() string { return m.toldText("pager") })
	over := endedAgo(20 * time.Minute)
	for i, step := range []struct {
		more string
		says string
	}{
		{"emails", "(orders severe), emails severe, payments severe"},
		{"refunds", "emails severe, payments severe, refunds severe"},
	} {
		list := []alerts.NotifiedAlert{duplicates("payments"), duplicates("emails"), duplicates(step.more)}[:2+i]
		n := today(standing(list...))
		n.Alerts = append(n.Alerts, over)
		send(t, channel, n)
		eventually(t, "the last message", step.says, func() string {
			told := m.told("pager")
			return told[len(told)-1].text()
		})
	}
}

// endedAgo is an alert as it is said again after its end.
func endedAgo(span time.Duration) alerts.NotifiedAlert {
	over := standing(resolved().Alerts[0]).Alerts[0]
	over.EndsAt = time.Now().Add(-span)
	over.StartsAt = over.EndsAt.Add(-time.Hour)
	return over
}
