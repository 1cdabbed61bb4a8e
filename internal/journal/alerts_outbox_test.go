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

func claim(t *testing.T, a *Alerts, channel string, at time.Time) outbox.Outgoing {
	t.Helper()
	out, err := a.Claim(t.Context(), channel, at)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func finish(t *testing.T, a *Alerts, id string, o outbox.Outcome) {
	t.Helper()
	if o.At.IsZero() {
		o.At = tickAt
	}
	if err := a.Finish(t.Context(), id, o); err != nil {
		t.Fatal(err)
	}
}

func recovered(t *testing.T, a *Alerts, channels ...string) outbox.Recovered {
	t.Helper()
	r, err := a.Recover(t.Context(), channels, tickAt.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestMessagesOfAChannelAreClaimedInTheirOrderAndHoldUpNoOtherGroup(t *testing.T) {
	db, _ := open(t, t.TempDir())
	a := db.Alerts()
	commit(t, a, alerts.Tick{Due: []alerts.Notification{
		messageFor("ops", "a1", "a"), messageFor("ops", "a2", "a"), telling("b1", "b", "emails"), messageFor("ops", "digest", ""), telling("b2", "b", "emails"),
		messageFor("pager", "p", "a"),
	}})
	later := tickAt.Add(time.Minute)
	var order []string
	step := func(o outbox.Outcome) {
		t.Helper()
		out := claim(t, a, "ops", tickAt)
		order = append(order, out.ID)
		if out.ID != "" {
			finish(t, a, out.ID, o)
		}
	}
	step(outbox.Outcome{Result: outbox.DeliveryRetry, Retry: later, Error: "503"}) // a1 waits, and what follows it in its group
	step(outbox.Outcome{Result: outbox.DeliverySent})                              // b1
	step(outbox.Outcome{})                                                         // the digest tells of all groups
	again := claim(t, a, "ops", later)
	order = append(order, again.ID)
	finish(t, a, again.ID, outbox.Outcome{Result: outbox.DeliveryFailed, Error: "400"})
	for range 4 {
		step(outbox.Outcome{Result: outbox.DeliverySent})
	}
	if got := strings.Join(order, " "); got != "a1 b1  a1 a2 digest b2 " {
		t.Errorf("%q", got)
	}
	if again.Tries != 2 || again.Repeated {
		t.Errorf("%+v", again)
	}
	if got := claim(t, a, "pager", tickAt); got.ID != "p" {
		t.Errorf("the other channel got %q", got.ID)
	}
}

func TestAMessageThatIsUnderWaySurvivesACrashAndIsSentOnceMore(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	commit(t, db.Alerts(), alerts.Tick{Due: []alerts.Notification{messageFor("ops", "m", "g"), messageFor("ops", "n", "g"), messageFor("gone", "o", "g")}})
	if got := claim(t, db.Alerts(), "ops", tickAt); got.ID != "m" || got.Repeated {
		t.Fatalf("%+v", got)
	}
	for i, want := range []struct {
		recovered outbox.Recovered
		next      string
		repeated  bool
	}{
		{outbox.Recovered{Repeated: 1, Orphans: 1}, "m", true},
		{outbox.Recovered{Unknown: 1}, "n", false},
		{outbox.Recovered{Repeated: 1}, "n", true},
		{outbox.Recovered{Unknown: 1}, "", false},
	} {
		a := reopen(t, dir)
		if got := recovered(t, a, "ops", "other"); got != want.recovered {
			t.Errorf("restart %d: %+v", i, got)
		}
		if got := claim(t, a, "ops", tickAt); got.ID != want.next || got.Repeated != want.repeated {
			t.Errorf("restart %d: %q, repeated %t", i, got.ID, got.Repeated)
		}
	}
	a := reopen(t, dir)
	if got := recovered(t, a); got != (outbox.Recovered{}) {
		t.Errorf("%+v", got)
	}
	stats, err := a.ChannelStats(t.Context())
	if err != nil || !strings.Contains(stats["ops"].LastError, "may have been delivered") || !strings.Contains(stats["gone"].LastError, "No such channel") {
		t.Errorf("%+v, %v", stats, err)
	}
}

func TestAClaimThatNobodyHeardOfIsMadeAgain(t *testing.T) {
	db, _ := open(t, t.TempDir())
	a := db.Alerts()
	commit(t, a, alerts.Tick{Due: []alerts.Notification{messageFor("ops", "m", "g")}})
	claim(t, a, "ops", tickAt) // whose answer was lost
	if got := claim(t, a, "ops", tickAt); got.ID != "m" || got.Repeated {
		t.Errorf("%+v", got)
	}
}

func TestASignOfLifeTakesThePlaceOfOneThatWasNotDelivered(t *testing.T) {
	db, _ := open(t, t.TempDir())
	a := db.Alerts()
	sign := func(id, channel string) alerts.Notification {
		return alerts.Notification{ID: id, Channel: channel, Kind: alerts.NotifyWatchdog, Group: "life", Text: "alive"}
	}
	commit(t, a, alerts.Tick{Due: []alerts.Notification{sign("w1", "ops"), messageFor("ops", "m", "g"), sign("v1", "other")}})
	claim(t, a, "ops", tickAt) // w1 is under way
	commit(t, a, alerts.Tick{Due: []alerts.Notification{sign("w2", "ops")}})
	commit(t, a, alerts.Tick{Due: []alerts.Notification{sign("w3", "ops")}})
	finish(t, a, "w1", outbox.Outcome{Result: outbox.DeliverySent})
	var order []string
	for range 3 {
		out := claim(t, a, "ops", tickAt)
		order = append(order, out.ID)
		finish(t, a, out.ID, outbox.Outcome{Result: outbox.DeliverySent})
	}
	if got := strings.Join(order, " "); got != "m w3 " {
		t.Errorf("%q", got)
	}
	if got := claim(t, a, "other", tickAt); got.ID != "v1" {
		t.Errorf("%q", got.ID)
	}
}

func TestAMessageThatIsPlannedAgainAfterItWasDeliveredIsNotDeliveredAgain(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	a := db.Alerts()
	reminder := messageFor("ops", "r", "silence")
	reminder.Kind, reminder.Text = alerts.NotifyReminder, "ends in 15 min"
	commit(t, a, alerts.Tick{Due: []alerts.Notification{reminder}})
	finish(t, a, claim(t, a, "ops", tickAt).ID, outbox.Outcome{Result: outbox.DeliverySent})
	a = reopen(t, dir)
	reminder.Text = "ends in 12 min"
	commit(t, a, alerts.Tick{At: tickAt.Add(3 * time.Minute), Due: []alerts.Notification{reminder}})
	if got := claim(t, a, "ops", tickAt.Add(time.Hour)); got.ID != "" {
		t.Errorf("%s is delivered again", got.ID)
	}
}

func TestAMessageThatCannotBeReadHoldsUpNone(t *testing.T) {
	db, _ := open(t, t.TempDir())
	a := db.Alerts()
	commit(t, a, alerts.Tick{Due: []alerts.Notification{messageFor("ops", "m", "g"), messageFor("ops", "n", "g")}})
	if _, err := db.acts.ExecContext(t.Context(), "UPDATE alert_outbox SET body = '{' WHERE id = 'm'"); err != nil {
		t.Fatal(err)
	}
	if out, err := a.Claim(t.Context(), "ops", tickAt); err == nil {
		t.Errorf("%+v", out)
	}
	if got := claim(t, a, "ops", tickAt); got.ID != "n" {
		t.Errorf("%q", got.ID)
	}
}

func TestTheStatsSayHowChannelsFare(t *testing.T) {
	db, _ := open(t, t.TempDir())
	a := db.Alerts()
	if stats, err := a.ChannelStats(t.Context()); err != nil || len(stats) != 0 {
		t.Errorf("%+v, %v", stats, err)
	}
	for i := range 4 {
		commit(t, a, alerts.Tick{At: tickAt.Add(time.Duration(i) * time.Minute), Due: []alerts.Notification{messageFor("ops", fmt.Sprint("m", i), fmt.Sprint(i))}})
	}
	end := time.Now().Truncate(time.Millisecond).UTC()
	for _, o := range []outbox.Outcome{
		{Result: outbox.DeliverySent, At: end.Add(-3 * time.Minute)},
		{Result: outbox.DeliveryRetry, At: end.Add(-2 * time.Minute), Retry: end.Add(time.Hour), Error: "503"},
		{Result: outbox.DeliveryFailed, At: end.Add(-time.Minute), Error: "400"},
	} {
		finish(t, a, claim(t, a, "ops", end).ID, o)
	}
	stats, err := a.ChannelStats(t.Context())
	want := outbox.ChannelStats{
		Channel: "ops", Depth: 2, Oldest: tickAt.Add(time.Minute), LastSuccess: end.Add(-3 * time.Minute), LastError: "400", LastErrorAt: end.Add(-time.Minute),
	}
	if err != nil || stats["ops"] != want {
		t.Errorf("%+v, %v", stats, err)
	}
	b, err := a.Backlog(t.Context())
	if err != nil || b.Waiting != 2 || !b.Oldest.Equal(want.Oldest) || b.Channel != "ops" || b.Error != "503" || b.Failed != 1 || strings.Join(b.Errors, "; ") != "ops: 400" {
		t.Errorf("%+v, %v", b, err)
	}
}

// about makes a message tell of the alerts of these rules.
func about(n alerts.Notification, rules ...string) alerts.Notification {
	n.Alerts = nil
	for _, name := range rules {
		n.Alerts = append(n.Alerts, alerts.NotifiedAlert{Key: rule.Key{Rule: name, Kind: rule.OfDashboard}, Firing: true, Tier: dedup.Severe})
	}
	return n
}

func TestAChannelThatRefusesForGoodFailsUntilItTakesAMessage(t *testing.T) {
	db, _ := open(t, t.TempDir())
	a := db.Alerts()
	now := time.Now().Truncate(time.Millisecond).UTC()
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	send := func(n alerts.Notification, at time.Time, result outbox.DeliveryResult, why string) {
		t.Helper()
		commit(t, a, alerts.Tick{At: at, Due: []alerts.Notification{n}})
		out := claim(t, a, n.Channel, at)
		if out.ID != n.ID {
			t.Fatalf("claimed %q, want %q", out.ID, n.ID)
		}
		finish(t, a, out.ID, outbox.Outcome{Result: result, At: at, Error: why})
	}
	expect := func(when string, want ...string) {
		t.Helper()
		b, err := a.Backlog(t.Context(), "pager", "ops")
		if err != nil || b.Failed != int64(len(want)) || !slices.Equal(b.Errors, want) {
			t.Errorf("%s: %d given up, %q, %v; want %q", when, b.Failed, b.Errors, err, want)
		}
	}
	expect("before anything was sent")
	send(messageFor("ops", "o1", "g"), ago(6*time.Hour), outbox.DeliverySent, "")
	send(messageFor("gone", "x1", "g"), ago(6*time.Hour), outbox.DeliveryFailed, "404")
	send(messageFor("pager", "p1", "g"), ago(5*time.Hour), outbox.DeliveryFailed, "404")
	expect("given up for long, by a channel that has taken none since", "pager: 404")
	send(about(messageFor("pager", "p2", "h"), alerts.RuleDeliveryFailed), ago(4*time.Hour), outbox.DeliveryFailed, "410")
	send(about(messageFor("pager", "p3", "h"), alerts.RuleDeliveryFailed, alerts.RuleOutboxOld), ago(time.Minute), outbox.DeliveryFailed, "410")
	expect("that it fails cannot be told there either", "pager: 404")
	send(about(messageFor("pager", "p4", "h"), alerts.RuleDeliveryFailed, "disk_nearly_full"), ago(2*time.Hour), outbox.DeliveryFailed, "500")
	expect("a message that tells of something else beside", "pager: 500")
	if b, err := a.Backlog(t.Context(), "ops"); err != nil || b.Failed != 0 {
		t.Errorf("once the channel was removed: %+v, %v", b, err)
	}
	taken := alerts.Notification{ID: "t1", Channel: "pager", Kind: alerts.NotifyTest, At: ago(time.Minute), Text: "a trial"}
	if err := a.Took(t.Context(), taken, ago(time.Minute)); err != nil {
		t.Fatal(err)
	}
	expect("after a trial")
	send(messageFor("pager", "p5", "g"), ago(30*time.Second), outbox.DeliveryFailed, "503")
	send(about(messageFor("pager", "p6", "h"), alerts.RuleDeliveryFailed), ago(20*time.Second), outbox.DeliverySent, "")
	expect("somebody was not told within the hour, though it takes messages", "pager: 503")
}

func TestAMessageThatTellsOfOldMessagesMakesNoneOld(t *testing.T) {
	db, _ := open(t, t.TempDir())
	a := db.Alerts()
	commit(t, a, alerts.Tick{Due: []alerts.Notification{about(messageFor("pager", "p1", "g"), alerts.RuleOutboxOld)}})
	if b, err := a.Backlog(t.Context(), "pager"); err != nil || b.Waiting != 1 || !b.Oldest.IsZero() {
		t.Errorf("%+v, %v; want one that waits, and no oldest", b, err)
	}
	later := tickAt.Add(time.Hour)
	commit(t, a, alerts.Tick{At: later, Due: []alerts.Notification{messageFor("ops", "o1", "g")}})
	if b, err := a.Backlog(t.Context(), "pager"); err != nil || b.Waiting != 2 || !b.Oldest.Equal(later) || b.Channel != "ops" || b.Error != "" {
		t.Errorf("%+v, %v; want the one that tells of something", b, err)
	}
}

func TestAMessageOfWhichNobodyKnowsWhetherItArrivedCountsAsFailed(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	commit(t, db.Alerts(), alerts.Tick{Due: []alerts.Notification{messageFor("ops", "m", "g")}})
	claim(t, db.Alerts(), "ops", tickAt)
	now := time.Now()
	for range 2 { // stopped twice while it was under way
		a := reopen(t, dir)
		if _, err := a.Recover(t.Context(), []string{"ops"}, now); err != nil {
			t.Fatal(err)
		}
		claim(t, a, "ops", now)
	}
	b, err := reopen(t, dir).Backlog(t.Context())
	if err != nil || b.Waiting != 0 || b.Failed != 1 || len(b.Errors) != 1 || !strings.HasPrefix(b.Errors[0], "ops: The dashboard was stopped twice") {
		t.Errorf("%+v, %v", b, err)
	}
}

func TestTheOutboxAndTheLogOfWhatWasSentAreBounded(t *testing.T) {
	db, _ := open(t, t.TempDir())
	a := db.Alerts()
	old := alerts.Sent{Channel: "ops", Key: alertKey("old"), Tier: dedup.Warning, At: tickAt}
	commit(t, a, alerts.Tick{Due: []alerts.Notification{messageFor("ops", "old", "g"), messageFor("ops", "open", "h")}, Sent: []alerts.Sent{old}})
	finish(t, a, claim(t, a, "ops", tickAt).ID, outbox.Outcome{Result: outbox.DeliverySent})
	late := tickAt.Add(keepTold + time.Second)
	commit(t, a, alerts.Tick{At: late, Due: []alerts.Notification{messageFor("ops", "new", "g")}, Sent: []alerts.Sent{{Channel: "ops", Key: alertKey("new"), Tier: dedup.Warning, At: late}}})
	var left string
	if err := db.main.QueryRowContext(t.Context(), "SELECT group_concat(id, ' ') FROM (SELECT id FROM alert_outbox ORDER BY seq)").Scan(&left); err != nil || left != "open new" {
		t.Errorf("%q, %v", left, err)
	}
	if log, err := a.SentLog(t.Context()); err != nil || len(log) != 1 || log[0].Key != alertKey("new") {
		t.Errorf("%+v, %v", log, err)
	}
}

func TestWhatAChannelWasToldIsKnownForAsLongAsTheAlertIs(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	sent := func(pipeline string, tier dedup.Tier, at time.Time) alerts.Sent {
		return alerts.Sent{Channel: "ops", Key: alertKey(pipeline), Tier: tier, At: at}
	}
	commit(t, db.Alerts(), alerts.Tick{
		Alerts: []alerts.Alert{firing("fires", tickAt), firing("over", tickAt)},
		Sent:   []alerts.Sent{sent("fires", dedup.Severe, tickAt), sent("over", dedup.Severe, tickAt), sent("gone", dedup.Severe, tickAt)},
	})
	late := tickAt.Add(keepTold + time.Hour)
	over := alerts.Alert{Key: alertKey("over"), State: alerts.State{Tier: dedup.Normal, Since: late}} // of which the channel has not heard
	for _, at := range []time.Time{late, late.Add(time.Hour)} {
		commit(t, db.Alerts(), alerts.Tick{At: at, Alerts: []alerts.Alert{over}, Sent: []alerts.Sent{sent("other", dedup.Warning, at)}})
	}
	a := reopen(t, dir)
	told := func() string {
		t.Helper()
		log, err := a.SentLog(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var keys []string
		for _, s := range log {
			keys = append(keys, s.Key.Subject)
		}
		return strings.Join(keys, " ")
	}
	if got := told(); got != "fires other over" {
		t.Errorf("known of %q", got)
	}
	wantKept(t, a, "fires", "over")
	commit(t, a, alerts.Tick{At: late.Add(2 * time.Hour), Sent: []alerts.Sent{sent("over", dedup.Normal, late)}})
	if got := told(); got != "fires other" {
		t.Errorf("known of %q once its end was told", got)
	}
	wantKept(t, a, "fires")
}

func TestWhatAChannelWasToldIsForgottenWhenItIsNotConfigured(t *testing.T) {
	db, _ := open(t, t.TempDir())
	a := db.Alerts()
	told := func(channel string) alerts.Sent {
		return alerts.Sent{Channel: channel, Key: alertKey("orders"), Tier: dedup.Severe, At: tickAt, Began: tickAt, Peak: dedup.Severe}
	}
	commit(t, a, alerts.Tick{Sent: []alerts.Sent{told("ops"), told("pager")}})
	for _, c := range []struct {
		channels []string
		left     int
	}{{[]string{"ops", "pager"}, 2}, {[]string{"ops", "new"}, 1}, {nil, 0}} {
		recovered(t, a, c.channels...)
		log, err := a.SentLog(t.Context())
		if err != nil || len(log) != c.left || c.left > 0 && log[0].Channel != "ops" {
			t.Errorf("with %v: %+v, %v", c.channels, log, err)
		}
	}
}

func TestWithoutAnyChannelEveryMessageIsAnOrphan(t *testing.T) {
	db, _ := open(t, t.TempDir())
	a := db.Alerts()
	commit(t, a, alerts.Tick{Due: []alerts.Notification{messageFor("ops", "m", "g"), messageFor("pager", "n", "g")}})
	if got := recovered(t, a); got != (outbox.Recovered{Orphans: 2}) {
		t.Errorf("%+v", got)
	}
}

func TestWhatMayHaveArrivedAndIsTriedAgainIsRepeated(t *testing.T) {
	db, _ := open(t, t.TempDir())
	a := db.Alerts()
	commit(t, a, alerts.Tick{Due: []alerts.Notification{messageFor("ops", "m", "g")}})
	for i, c := range []struct{ doubtful, repeated bool }{{false, false}, {true, false}, {false, true}, {false, true}} {
		out := claim(t, a, "ops", tickAt)
		if out.ID != "m" || out.Repeated != c.repeated {
			t.Errorf("delivery %d: %q, repeated %t", i, out.ID, out.Repeated)
		}
		finish(t, a, out.ID, outbox.Outcome{Result: outbox.DeliveryRetry, Retry: tickAt, Error: "no answer", Doubtful: c.doubtful})
	}
}
