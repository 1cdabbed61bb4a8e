package journal

import (
	"fmt"
	"testing"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/outbox"
)

// standingFor is a message that says what stands.
func standingFor(channel, id string) alerts.Notification {
	return alerts.Notification{ID: id, Channel: channel, Kind: alerts.NotifyStanding, Group: "stands", At: tickAt}
}

// storedMessages returns the messages that are in the outbox, by what became of them.
func storedMessages(t *testing.T, db *DB, channel string) string {
	t.Helper()
	rows, err := db.acts.QueryContext(t.Context(), "SELECT id, state FROM alert_outbox WHERE channel = ? ORDER BY seq", channel)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	text := ""
	for rows.Next() {
		var id, state string
		if err := rows.Scan(&id, &state); err != nil {
			t.Fatal(err)
		}
		text += id + " " + state + ", "
	}
	return text
}

func TestWhatStandsFillsNoOutbox(t *testing.T) {
	db, _ := open(t, t.TempDir())
	a := db.Alerts()
	commit(t, a, alerts.Tick{Due: []alerts.Notification{messageFor("am", "m", "g"), standingFor("other", "o")}})
	finish(t, a, claim(t, a, "am", tickAt).ID, outbox.Outcome{Result: outbox.DeliverySent, At: tickAt})
	for i := range 1440 {
		at := tickAt.Add(time.Duration(i) * time.Minute)
		commit(t, a, alerts.Tick{At: at, Due: []alerts.Notification{standingFor("am", fmt.Sprint("s", i))}})
		if i%2 == 0 {
			finish(t, a, claim(t, a, "am", at).ID, outbox.Outcome{Result: outbox.DeliverySent, At: at})
		} else {
			finish(t, a, claim(t, a, "am", at).ID, outbox.Outcome{Result: outbox.DeliveryFailed, At: at, Error: "401"})
		}
	}
	if got := storedMessages(t, db, "am"); got != "m sent, s1438 sent, s1439 failed, " {
		t.Error(got)
	}
	if got := storedMessages(t, db, "other"); got != "o due, " {
		t.Error(got)
	}
}

func TestWhatStandsTakesThePlaceOfWhatWaitsAndHasWaitedSinceThen(t *testing.T) {
	db, _ := open(t, t.TempDir())
	a := db.Alerts()
	commit(t, a, alerts.Tick{At: tickAt, Due: []alerts.Notification{standingFor("am", "s1")}})
	retry := tickAt.Add(3 * time.Minute)
	finish(t, a, claim(t, a, "am", tickAt).ID, outbox.Outcome{Result: outbox.DeliveryRetry, At: tickAt, Retry: retry, Error: "503"})
	commit(t, a, alerts.Tick{At: tickAt.Add(time.Minute), Due: []alerts.Notification{messageFor("am", "m", "g"), standingFor("am", "s2")}})
	if got := storedMessages(t, db, "am"); got != "m due, s2 due, " { // after what is new
		t.Fatal(got)
	}
	if got := claim(t, a, "am", tickAt.Add(time.Minute)); got.ID != "m" {
		t.Errorf("%s is not let past", got.ID)
	}
	stats, err := a.ChannelStats(t.Context())
	if err != nil || stats["am"].LastError != "503" || !stats["am"].Oldest.Equal(tickAt) {
		t.Errorf("%+v, %v", stats["am"], err)
	}
	finish(t, a, "m", outbox.Outcome{Result: outbox.DeliverySent, At: retry})
	got := claim(t, a, "am", retry)
	if got.ID != "s2" || got.Tries != 2 || !got.Made.Equal(tickAt) {
		t.Errorf("%+v", got)
	}
	// One that is under way is not replaced, and what comes of it later neither holds up nor doubles the next.
	commit(t, a, alerts.Tick{At: retry, Due: []alerts.Notification{standingFor("am", "s3")}})
	finish(t, a, "s2", outbox.Outcome{Result: outbox.DeliveryRetry, At: retry, Retry: retry, Error: "503"})
	commit(t, a, alerts.Tick{At: retry, Due: []alerts.Notification{standingFor("am", "s4")}})
	commit(t, a, alerts.Tick{At: retry, Due: []alerts.Notification{standingFor("am", "s4")}}) // of which nobody heard that it was kept
	if got := storedMessages(t, db, "am"); got != "m sent, s4 due, " {
		t.Error(got)
	}
}

func TestWhatStoodBeforeAStartIsNotSentAfterIt(t *testing.T) {
	db, _ := open(t, t.TempDir())
	a := db.Alerts()
	commit(t, a, alerts.Tick{At: tickAt, Due: []alerts.Notification{standingFor("am", "s1"), standingFor("ops", "s2"), messageFor("ops", "m", "g")}})
	claim(t, a, "am", tickAt)
	if found, err := a.Recover(t.Context(), []string{"am", "ops"}, tickAt); err != nil || found != (outbox.Recovered{}) {
		t.Fatalf("found %+v, %v", found, err)
	}
	if am, ops := storedMessages(t, db, "am"), storedMessages(t, db, "ops"); am != "" || ops != "m due, " {
		t.Errorf("there are %q and %q", am, ops)
	}
}
