package notify_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/alerts"
)

// hastens is how many times faster the example of docs/alerts.md is tested than it is used.
const hastens = 200

// documented returns the alertmanager.yml of docs/alerts.md, with its receivers at HOOKS and its times as short as tests need.
func documented(t *testing.T) string {
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
	m := startManager(t, documented(t))
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
	m := startManager(t, documented(t))
	channel := channelTo(t, m)
	var arrived []time.Time
	eventually(t, "signs of life that were handed on", "8", func() string {
		send(t, channel, today(watchdog()))
		for told := len(m.told("deadman")); len(arrived) < min(told, 8); {
			arrived = append(arrived, time.Now())
		}
		return fmt.Sprint(len(arrived))
	})
	var between []time.Duration
	for i := range arrived[1:] {
		between = append(between, arrived[i+1].Sub(arrived[i]))
	}
	slices.Sort(between)
	if typical := between[len(between)/2] * hastens; typical > 90*time.Second {
		t.Errorf("it is handed on every %s", typical)
	}

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
