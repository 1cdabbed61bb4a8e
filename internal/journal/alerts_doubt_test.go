package journal

import (
	"testing"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/outbox"
	"dedup-dashboard/internal/dedup"
)

// toldOps returns that ops was told of an alert at a time.
func toldOps(name string, at time.Time) alerts.Sent {
	return alerts.Sent{Channel: "ops", Key: alertKey(name), Tier: dedup.Severe, At: at, Began: tickAt, Peak: dedup.Severe}
}

// digestOf tells that orders fired, that shop rose, counts others, and was made at tickAt.
func digestOf(counted ...string) alerts.Notification {
	n := messageFor("ops", "m", "g")
	n.Alerts = []alerts.NotifiedAlert{
		{Key: alertKey("orders"), Firing: true, Tier: dedup.Severe, Edge: alerts.EdgeFired},
		{Key: alertKey("shop"), Firing: true, Tier: dedup.Severe, Edge: alerts.EdgeEscalated},
	}
	for _, name := range counted {
		n.Counted = append(n.Counted, alertKey(name))
	}
	return n
}

// wantDoubts compares what is in doubt, by the subject of the alert.
func wantDoubts(t *testing.T, a *Alerts, age time.Duration, want map[string]alerts.Doubt) {
	t.Helper()
	log, err := a.SentLog(t.Context())
	if err != nil || len(log) == 0 {
		t.Fatalf("%+v, %v", log, err)
	}
	for _, s := range log {
		doubt, doubtful := want[s.Key.Subject]
		if s.Doubt != doubt || s.Tier != dedup.Severe || doubtful && tickAt.Sub(s.At) != age {
			t.Errorf("%s: %d, told %s before; want %d, %s", s.Key, s.Doubt, tickAt.Sub(s.At), doubt, age)
		}
	}
}

func TestWhatMayNeverHaveArrivedCountsAsToldLongAgo(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	commit(t, db.Alerts(), alerts.Tick{
		Due: []alerts.Notification{digestOf("counted", "since")},
		Sent: []alerts.Sent{
			toldOps("orders", tickAt), toldOps("shop", tickAt), toldOps("counted", tickAt), toldOps("other", tickAt.Add(-time.Hour)),
			toldOps("since", tickAt.Add(time.Second)),
		},
	})
	doubts := map[string]alerts.Doubt{"orders": alerts.Unsure, "shop": alerts.Unsure, "counted": alerts.Unsure}
	for _, want := range []map[string]alerts.Doubt{{}, doubts, doubts} { // once more, then in doubt, then settled
		claim(t, db.Alerts(), "ops", tickAt)
		a := reopen(t, dir)
		recovered(t, a, "ops")
		wantDoubts(t, a, doubtedAge, want)
	}
}

func TestWhatWasGivenUpCountsAsLostUnlessItMayHaveArrived(t *testing.T) {
	for name, c := range map[string]struct {
		doubtful []bool // of the deliveries, the last of which fails for good
		first    alerts.Doubt
	}{
		"refused at once":                {[]bool{false}, alerts.Lost},
		"refused again and again":        {[]bool{false, false}, alerts.Lost},
		"not answered, and then refused": {[]bool{true, false}, alerts.Unsure},
		"not answered at last":           {[]bool{false, true}, alerts.Unsure},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			db, _ := open(t, dir)
			a := db.Alerts()
			commit(t, a, alerts.Tick{
				Due: []alerts.Notification{digestOf("counted", "since")},
				Sent: []alerts.Sent{
					toldOps("orders", tickAt), toldOps("shop", tickAt), toldOps("counted", tickAt), toldOps("since", tickAt.Add(time.Second)),
				},
			})
			for i, doubtful := range c.doubtful {
				o := outbox.Outcome{Result: outbox.DeliveryRetry, Retry: tickAt, Error: "no", Doubtful: doubtful}
				if i == len(c.doubtful)-1 {
					o.Result = outbox.DeliveryFailed
				}
				finish(t, a, claim(t, a, "ops", tickAt).ID, o)
			}
			wantDoubts(t, reopen(t, dir), 0, map[string]alerts.Doubt{"orders": c.first, "counted": c.first, "shop": alerts.Unsure})
		})
	}
}

func TestADoubtLastsUntilItIsToldAnew(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	doubted := toldOps("orders", tickAt)
	doubted.Doubt = alerts.Lost
	commit(t, db.Alerts(), alerts.Tick{Sent: []alerts.Sent{doubted}})
	a := reopen(t, dir)
	wantDoubts(t, a, 0, map[string]alerts.Doubt{"orders": alerts.Lost})
	commit(t, a, alerts.Tick{Sent: []alerts.Sent{toldOps("orders", tickAt)}})
	wantDoubts(t, a, 0, map[string]alerts.Doubt{"orders": alerts.Certain})
}
