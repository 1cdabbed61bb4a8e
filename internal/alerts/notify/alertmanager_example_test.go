package notify_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/alerts"
)

// documented returns the alertmanager.yml of docs/alerts.md, with its receivers at HOOKS and its times so many times shorter.
func documented(t *testing.T, hastens time.Duration) string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)```yaml\n(# alertmanager.yml:.*?)```").FindSubmatch(page)
	if found == nil {
		t.Fatal("docs/alerts.md has no alertmanager.yml")
	}
	text := regexp.MustCompile(`https://([a-z]+)\.example\.com/[a-z]+`).ReplaceAllString(string(found[1]), "http://HOOKS/$1")
	return regexp.MustCompile(`(_(?:wait|interval): )([0-9]+[smh])`).ReplaceAllStringFunc(text, func(setting string) string {
		name, span, _ := strings.Cut(setting, ": ")
		long, err := time.ParseDuration(span)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%s: %dms", name, (long / hastens).Milliseconds())
	})
}

func TestTheExampleOfARealAlertmanagerTellsTheChatAllAndThePagerWhatIsSevere(t *testing.T) {
	t.Parallel()
	m := startManager(t, documented(t, 200))
	channel := channelTo(t, m)
	warning := firing()
	warning.Alerts[0] = pending().Alerts[0]
	warning.Alerts[0].StartsAt, warning.Alerts[0].Reached = warning.At, 0
	worse := escalated()
	worse.Alerts[0].Was = warning.Alerts[0].Tier
	for _, step := range []struct {
		n           alerts.Notification
		chat, pager string
	}{
		{warning, "orders warning", ""},
		{worse, "orders warning; (orders warning), orders emergency", "orders emergency"},
		{edges("n-over", endedAs(worse)), "orders warning; (orders warning), orders emergency; (orders emergency)",
			"orders emergency; (orders emergency)"},
	} {
		send(t, channel, today(step.n))
		eventually(t, "what the chat is told", step.chat, func() string { return m.toldText("chat") })
		eventually(t, "what the pager is told", step.pager, func() string { return m.toldText("pager") })
	}
}

// endedAs is the end of the alert of a message.
func endedAs(n alerts.Notification) alerts.NotifiedAlert {
	over := resolved().Alerts[0]
	over.Was = n.Alerts[0].Tier
	return over
}

func TestTheExampleOfARealAlertmanagerHandsTheWatchdogOnEachMinute(t *testing.T) {
	t.Parallel()
	const hastens = 100
	m := startManager(t, documented(t, hastens))
	channel := channelTo(t, m)
	// A busy machine may hand some on late, so four in a row are waited for. If only every other one came, none would be near enough.
	var arrived []time.Time
	eventually(t, "signs of life are handed on each minute", "true", func() string {
		send(t, channel, today(watchdog()))
		for told := len(m.told("deadman")); len(arrived) < told; {
			arrived = append(arrived, time.Now())
		}
		last := len(arrived) - 1
		return fmt.Sprint(last >= 3 && arrived[last].Sub(arrived[last-3])*hastens < 3*90*time.Second)
	})

	// Its end must not be handed on: who waits for a sign of life would take that for one. The others take longer, and hear of none.
	last := today(watchdog())
	last.At = last.At.Add(-10 * time.Minute)
	send(t, channel, last)
	for _, n := range []alerts.Notification{firing(), resolved()} {
		before := len(m.told("chat"))
		send(t, channel, today(n))
		eventually(t, "the chat is told", fmt.Sprint(before+1), func() string { return fmt.Sprint(len(m.told("chat"))) })
	}
	got, others := m.toldText("deadman"), m.toldText("chat")+m.toldText("pager")
	if len(m.holds()) != 0 || strings.Contains(got, "(") || strings.Contains(others, " warning") {
		t.Errorf("it holds %s; told %q, the chat %q, the pager %q", m.keys(), got, m.toldText("chat"), m.toldText("pager"))
	}
}
