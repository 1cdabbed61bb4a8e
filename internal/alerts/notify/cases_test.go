package notify_test

import (
	"fmt"
	"strings"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

func at(clock string) time.Time {
	t, err := time.Parse("2006-01-02 15:04:05", "2026-11-22 "+clock)
	if err != nil {
		panic(err)
	}
	return t
}

// duplicates is an alert of the duplicate rate of a pipeline.
func duplicates(pipeline string) alerts.NotifiedAlert {
	key := rule.Key{Rule: "duplicate_rate", Kind: rule.OfPipeline, Subject: pipeline}
	return alerts.NotifiedAlert{
		Key: key, Title: "duplicate rate", Firing: true, Edge: alerts.EdgeFired, Tier: dedup.Severe, Was: dedup.Normal,
		Labels: map[string]string{"pipeline": pipeline, "broker": "main", "store": "orders", "team": "shop", "cost-centre": "42"},
		Value:  0.04619364375, Limit: 0.03, Unit: dedup.Ratio, N: 10824, Window: 15 * time.Minute,
		Why:   "duplicate rate 4.62 %, at or above the severe limit of 3.00 % (500 of 10,824 messages in 15 m)",
		Cause: "a producer sends each message twice since 17:58", Step: "look at the producer shop-1 in the list of connections",
		Runbook:  "https://wiki.example/runbooks/duplicates?a=1&b=2",
		Link:     "https://dashboard.example/alerts/" + key.String(),
		StartsAt: at("18:00:00"),
	}
}

func edges(id string, list ...alerts.NotifiedAlert) alerts.Notification {
	return alerts.Notification{
		ID: id, Channel: "oncall", Kind: alerts.NotifyEdges, Group: "broker main, rule duplicate_rate",
		GroupLabels: map[string]string{"broker": "main", "rule": "duplicate_rate"}, At: at("18:02:05"), Alerts: list,
		ExternalURL: "https://dashboard.example/",
	}
}

func firing() alerts.Notification { return edges("n-firing", duplicates("orders")) }

// pending fires as a warning, and has reached the severe limit.
func pending() alerts.Notification {
	a := duplicates("orders")
	a.Tier, a.Reached, a.Began = dedup.Warning, dedup.Severe, at("17:58:00")
	return edges("n-pending", a)
}

func escalated() alerts.Notification {
	a := duplicates("orders")
	a.Edge, a.Tier, a.Was, a.Value, a.Limit = alerts.EdgeEscalated, dedup.Emergency, dedup.Severe, 0.1207, 0.10
	a.Why = "duplicate rate 12.07 %, above the emergency limit of 10.00 % (1,306 of 10,824 messages in 15 m)"
	a.TierSince = at("18:09:50")
	n := edges("n-escalated", a)
	n.At = at("18:10:00")
	return n
}

func resolved() alerts.Notification {
	a := duplicates("orders")
	a.Firing, a.Edge, a.Tier, a.Was, a.Value = false, alerts.EdgeResolved, dedup.Normal, dedup.Severe, 0.0041
	a.Why, a.Cause, a.Step = "duplicate rate 0.41 %, below the warning limit of 1.00 % (44 of 10,733 messages in 15 m)", "", ""
	a.EndsAt = at("18:42:00")
	n := edges("n-resolved", a)
	n.At = at("18:42:30")
	return n
}

// grouped has one alert that fires, one that is stale and one that is resolved.
func grouped() alerts.Notification {
	stale := duplicates("payments")
	stale.Edge, stale.Stale, stale.Tier, stale.Limit, stale.Value = "", true, dedup.Warning, 0.01, 0.0231
	stale.Missing = "store payments cannot be read: connection refused"
	return edges("n-grouped", escalated().Alerts[0], stale, resolved().Alerts[0])
}

func digest() alerts.Notification {
	n := edges("n-digest")
	n.Kind, n.LeftOut = alerts.NotifyDigest, 24
	for i := range 10 {
		a := duplicates(fmt.Sprintf("pipeline-%02d", i))
		if i < 3 {
			a.Tier, a.Value, a.Limit = dedup.Emergency, 0.15, 0.10
		}
		n.Alerts = append(n.Alerts, a)
	}
	return n
}

func flapping() alerts.Notification {
	a := duplicates("orders")
	a.Edge = ""
	n := edges("n-flapping", a)
	n.Kind = alerts.NotifyFlapping
	return n
}

func testMessage() alerts.Notification {
	n := edges("n-test")
	n.Kind, n.Text, n.Group, n.GroupLabels = alerts.NotifyTest, "anna asked for a test of the channel oncall", "", nil
	return n
}

func repeated() alerts.Notification {
	n := firing()
	n.ID, n.Repeated = "n-repeated", true
	return n
}

func watchdog() alerts.Notification {
	n := edges("n-watchdog")
	n.Kind, n.Group, n.GroupLabels = alerts.NotifyWatchdog, "", nil
	return n
}

func reminder() alerts.Notification {
	n := edges("n-reminder")
	n.Kind, n.Group, n.GroupLabels = alerts.NotifyReminder, "", nil
	n.Text = "The silence by anna ends in 15 min, at 2026-11-22 18:17 UTC; 1 alert still fires under it\n" +
		`Told again from then on: Duplicate rate of pipeline orders, severe. It covers pipeline="orders". Its reason: deploy` + "\nof the shop"
	return n
}

type example struct {
	name string
	n    alerts.Notification
}

func cases() []example {
	return []example{
		{"firing", firing()}, {"pending", pending()}, {"escalated", escalated()}, {"resolved", resolved()}, {"grouped", grouped()}, {"digest", digest()},
		{"flapping", flapping()}, {"test", testMessage()}, {"repeated", repeated()}, {"watchdog", watchdog()}, {"reminder", reminder()},
	}
}

// hostile puts a name wherever a text of others can be.
func hostile(name string) alerts.Notification {
	a := duplicates(name)
	a.Title, a.Why, a.Cause, a.Step = name, "queue "+name+" is full", "producer "+name, "look at "+name
	a.Labels = map[string]string{name: name, "pipeline": name}
	a.Link, a.Runbook = "https://dashboard.example/alerts/a(b)?x=<y>|z&c=d", "javascript:alert(1)"
	n := edges("n-"+name, a, a)
	n.Group, n.GroupLabels = name, map[string]string{"broker": name, name: name}
	n.ExternalURL = "https://dashboard.example/"
	return n
}

// hostileText puts a name into both lines of a message without alerts.
func hostileText(name string) alerts.Notification {
	n := reminder()
	n.ID, n.Text, n.GroupLabels = "t-"+strings.Repeat(name, 2), name+"\n"+name, map[string]string{"silence": name}
	return n
}
