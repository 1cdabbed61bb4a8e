package journal

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

func TestARowThatCannotBeReadIsPassedOverAndLoggedOnce(t *testing.T) {
	silence := func(id string) alerts.Silence {
		return alerts.Silence{
			ID: id, Matchers: []alerts.Matcher{{Name: "pipeline", Op: alerts.MatchEqual, Value: id}}, Author: "ann", Reason: "deploy",
			Starts: time.Now(), Ends: time.Now().Add(time.Hour),
		}
	}
	subjects := func(past []alerts.Transition, err error) (string, error) {
		var all []string
		for _, e := range past {
			all = append(all, e.Judgement.Key.Subject)
		}
		return strings.Join(all, " "), err
	}
	for name, c := range map[string]struct {
		spoil string
		read  func(a *Alerts) (string, error)
		id    string
	}{
		"an alert": {"UPDATE alert_states SET body = %s WHERE key LIKE '%%bad'", func(a *Alerts) (string, error) {
			all, err := a.LoadAlerts(t.Context())
			if len(all) != 1 {
				return fmt.Sprint(all), err
			}
			return all[0].Key.Subject, err
		}, alertKey("bad").String()},
		"an edge in the history": {"UPDATE alert_edges SET body = %s WHERE key LIKE '%%bad'", func(a *Alerts) (string, error) {
			return subjects(a.History(t.Context(), rule.Key{}, 10, tickAt.Add(time.Hour)))
		}, alertKey("bad").String()},
		"an edge at the start": {"UPDATE alert_edges SET body = %s WHERE key LIKE '%%bad'", func(a *Alerts) (string, error) {
			return subjects(a.EdgesSince(t.Context(), tickAt.Add(-time.Hour)))
		}, alertKey("bad").String()},
		"a silence": {"UPDATE alert_silences SET body = %s WHERE id = 'bad'", func(a *Alerts) (string, error) {
			all, err := a.Silences(t.Context())
			if len(all) != 1 {
				return fmt.Sprint(all), err
			}
			return all[0].ID, err
		}, "bad"},
		"what a channel was told": {"UPDATE alert_sent SET key = trim('bad' || substr(%s, 1, 0)) WHERE key LIKE '%%bad'", func(a *Alerts) (string, error) {
			all, err := a.SentLog(t.Context())
			if len(all) != 1 {
				return fmt.Sprint(all), err
			}
			return all[0].Key.Subject, err
		}, "ops bad"},
	} {
		for how, body := range map[string]string{
			"is no JSON": `'{'`, "is of another kind": `'{"State": "firing", "Kind": 1, "Matchers": "all"}'`, "is of something else": `'{}'`, "is nothing": `'null'`,
		} {
			t.Run(name+" that "+how, func(t *testing.T) {
				db, log := open(t, t.TempDir())
				a := db.Alerts()
				tick := alerts.Tick{}
				for _, p := range []string{"bad", "good"} {
					tick.Alerts, tick.Edges = append(tick.Alerts, firing(p, tickAt)), append(tick.Edges, edgeOf(p, alerts.EdgeFired, tickAt))
					tick.Sent = append(tick.Sent, alerts.Sent{Channel: "ops", Key: alertKey(p), Tier: dedup.Severe, At: tickAt})
					if err := a.AddSilence(t.Context(), silence(p)); err != nil {
						t.Fatal(err)
					}
				}
				commit(t, a, tick)
				if _, err := db.acts.ExecContext(t.Context(), fmt.Sprintf(c.spoil, body)); err != nil {
					t.Fatal(err)
				}
				for range 3 {
					if got, err := c.read(a); err != nil || got != "good" {
						t.Errorf("%q, %v", got, err)
					}
				}
				if got := log.String(); strings.Count(got, "level=WARN") != 1 || !strings.Contains(got, c.id) {
					t.Errorf("%q", got)
				}
			})
		}
	}
}
