package journal

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/outbox"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// telling is a message for the channel ops that tells of the alerts of these pipelines.
func telling(id, group string, pipelines ...string) alerts.Notification {
	n := messageFor("ops", id, group)
	n.Alerts = nil
	for _, p := range pipelines {
		n.Alerts = append(n.Alerts, alerts.NotifiedAlert{Key: alertKey(p), Firing: true, Tier: dedup.Severe})
	}
	return n
}

// tried begins a delivery at a time, which has to be that of a message, and which fails; it is tried again a second later.
func tried(t *testing.T, a *Alerts, id string, at time.Time) {
	t.Helper()
	if out := claim(t, a, "ops", at); out.ID != id {
		t.Fatalf("claimed %q, want %q", out.ID, id)
	}
	finish(t, a, id, outbox.Outcome{Result: outbox.DeliveryRetry, At: at, Retry: at.Add(time.Second), Error: "500"})
}

func TestAMessageThatIsNeverTakenHoldsUpOthersForAWhileOnly(t *testing.T) {
	for name, c := range map[string]struct{ stuck, later alerts.Notification }{
		"a digest":                {telling("stuck", "", "orders"), telling("later", "g", "emails")},
		"one of the same group":   {telling("stuck", "g", "orders"), telling("later", "g", "emails")},
		"one of the same alert":   {telling("stuck", "g", "orders"), telling("later", "g", "orders")},
		"what a digest waits for": {telling("stuck", "g", "orders"), telling("later", "", "emails")},
	} {
		t.Run(name+" that is refused again and again", func(t *testing.T) {
			db, _ := open(t, t.TempDir())
			a, at := db.Alerts(), tickAt
			commit(t, a, alerts.Tick{Due: []alerts.Notification{c.stuck, c.later}})
			for i := range holdTries {
				if i > 0 {
					if got := claim(t, a, "ops", at.Add(-time.Millisecond)); got.ID != "" {
						t.Fatalf("%s does not wait for it", got.ID)
					}
				}
				tried(t, a, "stuck", at)
				at = at.Add(time.Second)
			}
			if got := claim(t, a, "ops", at.Add(-time.Millisecond)); got.ID != "later" {
				t.Errorf("claimed %q", got.ID)
			}
		})
		t.Run(name+" that is seldom tried", func(t *testing.T) {
			db, _ := open(t, t.TempDir())
			a := db.Alerts()
			commit(t, a, alerts.Tick{Due: []alerts.Notification{c.stuck, c.later}})
			claim(t, a, "ops", tickAt)
			finish(t, a, "stuck", outbox.Outcome{Result: outbox.DeliveryRetry, At: tickAt, Retry: tickAt.Add(time.Hour), Error: "no answer", Doubtful: true})
			if got := claim(t, a, "ops", tickAt.Add(holdFor-time.Millisecond)); got.ID != "" {
				t.Errorf("%s does not wait for it", got.ID)
			}
			if got := claim(t, a, "ops", tickAt.Add(holdFor)); got.ID != "later" {
				t.Errorf("claimed %q", got.ID)
			}
		})
	}
}

func TestASignOfLifeNeitherWaitsForADigestNorHoldsOneUp(t *testing.T) {
	db, _ := open(t, t.TempDir())
	a := db.Alerts()
	life := alerts.Notification{ID: "life", Channel: "ops", Kind: alerts.NotifyWatchdog, Group: "life", Text: "alive"}
	commit(t, a, alerts.Tick{Due: []alerts.Notification{telling("d1", "", "orders"), life, telling("d2", "", "orders")}})
	var order []string
	for _, id := range []string{"d1", "life"} {
		out := claim(t, a, "ops", tickAt)
		order = append(order, out.ID)
		finish(t, a, id, outbox.Outcome{Result: outbox.DeliveryRetry, Retry: tickAt.Add(time.Duration(len(order)) * time.Minute), Error: "503"})
	}
	out := claim(t, a, "ops", tickAt.Add(time.Minute))
	order = append(order, out.ID)
	finish(t, a, out.ID, outbox.Outcome{Result: outbox.DeliverySent})
	order = append(order, claim(t, a, "ops", tickAt.Add(time.Minute)).ID)
	if got := strings.Join(order, " "); got != "d1 life d1 d2" {
		t.Errorf("%q", got)
	}
}

func TestTheLastThatAChannelHearsOfAnAlertIsTheNewest(t *testing.T) {
	sent := outbox.Outcome{Result: outbox.DeliverySent}
	for name, c := range map[string]struct {
		later alerts.Notification
		came  outbox.Outcome
		want  string // what is told of the one that was overtaken; empty when it is dropped
	}{
		"what a later one told is left out":             {telling("later", "g", "orders"), sent, "emails and 2 more"},
		"in another group too":                          {telling("later", "h", "emails"), sent, "orders and 2 more"},
		"what it only counted is too":                   {telling("later", "g", "emails", "a"), sent, "orders and 1 more"},
		"one that names none goes on to count":          {telling("later", "", "emails", "orders"), sent, " and 2 more"},
		"one of which nothing is left is dropped":       {telling("later", "", "emails", "orders", "a", "b"), sent, ""},
		"what may have arrived is left out":             {telling("later", "g", "orders"), outbox.Outcome{Result: outbox.DeliveryRetry, Doubtful: true, Retry: tickAt.Add(time.Hour)}, "emails and 2 more"},
		"and what was given up but may have":            {telling("later", "g", "orders"), outbox.Outcome{Result: outbox.DeliveryFailed, Doubtful: true}, "emails and 2 more"},
		"what surely did not arrive is told":            {telling("later", "g", "orders"), outbox.Outcome{Result: outbox.DeliveryFailed}, "orders emails and 2 more"},
		"and what will be told later":                   {telling("later", "g", "orders"), outbox.Outcome{Result: outbox.DeliveryRetry, Retry: tickAt.Add(time.Hour)}, "orders emails and 2 more"},
		"what other channels were told changes nothing": {func() alerts.Notification { n := telling("later", "g", "orders"); n.Channel = "pager"; return n }(), sent, "orders emails and 2 more"},
	} {
		t.Run(name, func(t *testing.T) {
			db, _ := open(t, t.TempDir())
			a, at := db.Alerts(), tickAt
			stuck := telling("stuck", "g", "orders", "emails")
			stuck.Kind, stuck.LeftOut, stuck.Counted = alerts.NotifyDigest, 2, []rule.Key{alertKey("a"), alertKey("b")}
			commit(t, a, alerts.Tick{Due: []alerts.Notification{telling("before", "g", "orders", "emails")}})
			finish(t, a, claim(t, a, "ops", at).ID, sent)
			commit(t, a, alerts.Tick{Due: []alerts.Notification{stuck}})
			for range holdTries {
				tried(t, a, "stuck", at)
				at = at.Add(time.Second)
			}
			commit(t, a, alerts.Tick{Due: []alerts.Notification{c.later}})
			finish(t, a, claim(t, a, c.later.Channel, at.Add(-time.Millisecond)).ID, c.came)
			got := claim(t, a, "ops", at)
			if c.want == "" {
				if stats, err := a.ChannelStats(t.Context()); got.ID != "" || err != nil || stats["ops"].Depth != 0 {
					t.Errorf("%+v; %+v, %v", got, stats, err)
				}
				return
			}
			var told []string
			for _, one := range got.Alerts {
				told = append(told, one.Key.Subject)
			}
			if text := fmt.Sprintf("%s and %d more", strings.Join(told, " "), got.LeftOut); got.ID != "stuck" || text != c.want || got.LeftOut != len(got.Counted) {
				t.Errorf("%s tells of %s, %v", got.ID, text, got.Counted)
			}
		})
	}
}

func TestAMessageThatIsDroppedHoldsUpNone(t *testing.T) {
	db, _ := open(t, t.TempDir())
	a, at := db.Alerts(), tickAt
	commit(t, a, alerts.Tick{Due: []alerts.Notification{telling("fired", "g", "orders")}})
	for range holdTries {
		tried(t, a, "fired", at)
		at = at.Add(time.Second)
	}
	commit(t, a, alerts.Tick{Due: []alerts.Notification{telling("resolved", "g", "orders")}})
	finish(t, a, claim(t, a, "ops", at.Add(-time.Millisecond)).ID, outbox.Outcome{Result: outbox.DeliverySent})
	commit(t, a, alerts.Tick{At: at, Due: []alerts.Notification{telling("next", "g", "orders")}})
	if got := claim(t, a, "ops", at); got.ID != "next" || !slices.EqualFunc(got.Alerts, []string{"orders"}, func(n alerts.NotifiedAlert, p string) bool { return n.Key.Subject == p }) {
		t.Errorf("%+v", got)
	}
}

func TestAClockThatIsSetBackHoldsUpNoMessage(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"a day": 24 * time.Hour, "some minutes": 5 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			db, _ := open(t, dir)
			a, before := db.Alerts(), tickAt.Add(ahead)
			commit(t, a, alerts.Tick{At: before, Due: []alerts.Notification{telling("tried", "g", "orders"), telling("new", "h", "emails")}})
			tried(t, a, "tried", before) // and put off to a second later
			if got := claim(t, a, "ops", tickAt); got.ID != "new" {
				t.Errorf("claimed %q", got.ID)
			}
			finish(t, a, "new", outbox.Outcome{Result: outbox.DeliverySent})
			if got := claim(t, a, "ops", tickAt); got.ID != "tried" {
				t.Errorf("claimed %q", got.ID)
			}
			finish(t, a, "tried", outbox.Outcome{Result: outbox.DeliveryRetry, At: tickAt, Retry: tickAt.Add(time.Minute), Error: "503"})
			if got := claim(t, a, "ops", tickAt.Add(time.Minute-time.Millisecond)); got.ID != "" {
				t.Errorf("%s does not wait as long as it was put off since", got.ID)
			}
			if got := claim(t, a, "ops", tickAt.Add(time.Minute)); got.ID != "tried" {
				t.Errorf("claimed %q", got.ID)
			}
		})
	}
}

func TestTheTimesOfWhatWaitsAreNotAheadAfterAStart(t *testing.T) {
	db, _ := open(t, t.TempDir())
	a, start, ahead := db.Alerts(), tickAt.Add(time.Minute), tickAt.Add(24*time.Hour)
	commit(t, a, alerts.Tick{At: ahead, Due: []alerts.Notification{telling("tried", "g", "orders"), telling("done", "h", "shop"), telling("new", "i", "emails")}})
	tried(t, a, "tried", ahead)
	finish(t, a, claim(t, a, "ops", ahead).ID, outbox.Outcome{Result: outbox.DeliverySent, At: ahead})
	commit(t, a, alerts.Tick{Due: []alerts.Notification{telling("put off", "f", "shop")}}) // the clock was set back
	finish(t, a, claim(t, a, "ops", tickAt).ID, outbox.Outcome{Result: outbox.DeliveryRetry, Retry: tickAt.Add(time.Hour), Error: "try again in 1 h"})
	if got := recovered(t, a, "ops"); got != (outbox.Recovered{}) {
		t.Errorf("%+v", got)
	}
	for id, want := range map[string][3]int64{
		"put off": {tickAt.UnixMilli(), tickAt.Add(time.Hour).UnixMilli(), tickAt.UnixMilli()},
		"tried":   {start.UnixMilli(), start.UnixMilli(), start.UnixMilli()},
		"new":     {start.UnixMilli(), start.UnixMilli(), 0},
		"done":    {ahead.UnixMilli(), ahead.UnixMilli(), 0},
	} {
		var got [3]int64
		err := db.main.QueryRowContext(t.Context(), "SELECT made_at, due_at, coalesce(error_at, 0) FROM alert_outbox WHERE id = ?", id).Scan(&got[0], &got[1], &got[2])
		if err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", id, got, err, want)
		}
	}
}
