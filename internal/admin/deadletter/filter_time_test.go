package deadletter_test

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
	"dedup-dashboard/lab/admintest"
)

// diedAt is a letter that died at these times, the newest first.
func diedAt(times ...time.Time) deadletter.Letter {
	l := deadletter.Letter{}
	for _, at := range times {
		l.Deaths = append(l.Deaths, message.Death{Queue: "orders", Reason: "rejected", Time: at})
	}
	return l
}

// TestAFilterTakesTheZoneOfWhoWroteIt is the trap of a page that shows 11:57 to 12:12 and reads 12:07 as UTC: it selected all in New
// York, and none in Shanghai.
func TestAFilterTakesTheZoneOfWhoWroteIt(t *testing.T) {
	for _, name := range []string{"America/New_York", "Asia/Shanghai", "UTC"} {
		zone, err := time.LoadLocation(name)
		admintest.Must(t, err)
		from := time.Date(2026, 11, 23, 11, 57, 0, 0, zone)
		now := from.Add(time.Hour)
		for _, written := range []string{"after:2026-11-23T12:07", "after:2026-11-23 12:07", "after:12:07", "after:today 12:07", "after:50m", "after:50 minutes ago",
			"after:" + from.Add(10*time.Minute).Format(time.RFC3339), "after:" + from.Add(10*time.Minute).UTC().Format("2006-01-02T15:04Z"),
			"after:yesterday after:12:07 before:now id:\"\""} {
			f, err := deadletter.ParseFilter(written, now)
			admintest.Must(t, err)
			n := 0
			for minute := range 16 {
				if f.Matches(diedAt(from.Add(time.Duration(minute) * time.Minute).UTC())) {
					n++
				}
			}
			if n != 6 {
				t.Errorf("%s in %s selects %d of 16, of which 6 died at 12:07 or later; it was read as %s", written, name, n, f)
			}
		}
	}
}

func TestAFilterOfTimesIsFrozenWithItsOffset(t *testing.T) {
	newYork, err := time.LoadLocation("America/New_York")
	admintest.Must(t, err)
	f, err := deadletter.ParseFilter("after:12:07 -before:2h type:a", time.Date(2026, 11, 23, 13, 0, 0, 0, newYork))
	admintest.Must(t, err)
	if want := "after:2026-11-23T12:07:00-05:00 -before:2026-11-23T11:00:00-05:00 type:a"; f.String() != want || f.Absolute() {
		t.Errorf("it is kept as %s; absolute as it was written: %t", f, f.Absolute())
	}
	again, err := deadletter.ParseFilter(f.String(), time.Now())
	admintest.Must(t, err)
	if again.String() != f.String() || !again.Absolute() {
		t.Errorf("it is read again as %s, absolute: %t", again, again.Absolute())
	}
	times := again.Times()
	if len(times) != 2 || !times[0].From || times[0].Unknown || !times[1].From || !times[1].Unknown {
		t.Errorf("its times are %+v", times)
	}
}

func TestATimeThatComesTwiceOrNeverIsNotGuessed(t *testing.T) {
	newYork, err := time.LoadLocation("America/New_York")
	admintest.Must(t, err)
	now := time.Date(2026, 11, 1, 9, 0, 0, 0, newYork)
	for written, want := range map[string]string{
		"after:01:30":             "after:01:30 has no clear meaning. The clocks of America/New_York showed it twice on 1 Nov 2026: write 2026-11-01T01:30:00-04:00 or 2026-11-01T01:30:00-05:00",
		"before:2026-03-08 02:30": "they went from 02:00 to 03:00 on 8 Mar 2026",
	} {
		if _, err := deadletter.ParseFilter(written, now); dedup.KindOf(err) != dedup.Invalid || !strings.Contains(dedup.PublicText(err), want) {
			t.Errorf("%s: %v", written, err)
		}
	}
}

// TestWhatDiedAgainIsSelectedByItsNewestDeath is a message that was requeued and died again: it is of the new outage.
func TestWhatDiedAgainIsSelectedByItsNewestDeath(t *testing.T) {
	first, again := midday, midday.Add(6*time.Minute)
	l := diedAt(again, first)
	for written, want := range map[string]bool{"after:2026-11-21T12:05Z": true, "before:2026-11-21T12:05Z": false} {
		f, err := deadletter.ParseFilter(written, midday)
		admintest.Must(t, err)
		if f.Matches(l) != want {
			t.Errorf("%s selects what died at %s and again at %s: %t", written, first, again, !want)
		}
	}
	groups := deadletter.GroupLetters([]deadletter.Letter{l}, deadletter.ByHour)
	if g := groups[0]; !g.First.Equal(again) || !g.Last.Equal(again) {
		t.Errorf("its group is dated %s to %s", g.First, g.Last)
	}
	// A time that no calendar has is not known, and its group can be selected all the same.
	absurd := diedAt(time.Unix(1<<55, 0))
	f, err := deadletter.ParseFilter(deadletter.GroupLetters([]deadletter.Letter{absurd}, deadletter.ByHour)[0].Filter, midday)
	if err != nil || !f.Matches(absurd) || !absurd.LastDied().IsZero() {
		t.Errorf("of an absurd time: %s, %v, died %s", f, err, absurd.LastDied())
	}
}
