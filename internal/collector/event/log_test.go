package event

import (
	"strconv"
	"testing"
	"time"
)

var start = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func TestALogKeepsTheNewestOfADay(t *testing.T) {
	var l Log
	l.Add(start, "alarm", "old")
	for i := range Kept + 10 {
		l.Add(start.Add(time.Hour+time.Duration(i)*time.Second), "alarm", strconv.Itoa(i))
	}
	all := Merge(&l)
	if len(all) != Kept || all[0].Text != "10" || all[Kept-1].Text != strconv.Itoa(Kept+9) {
		t.Errorf("%d events, from %q to %q", len(all), all[0].Text, all[len(all)-1].Text)
	}
	l.Add(start.Add(3*Age), "alarm", "new")
	if all = Merge(&l); len(all) != 1 || all[0].Text != "new" || all[0].Count != 1 {
		t.Errorf("after days %+v", all)
	}
}

func TestEventsOfABurstAreSpaced(t *testing.T) {
	var l Log
	for _, s := range []int{0, 30, 59, 60, 90, 125} {
		l.AddSpaced(start.Add(time.Duration(s)*time.Second), "eviction", strconv.Itoa(s))
	}
	l.AddSpaced(start.Add(126*time.Second), "alarm", "another kind")
	var got []string
	for _, e := range Merge(&l) {
		got = append(got, e.Text)
	}
	if len(got) != 4 || got[0] != "0" || got[1] != "60" || got[2] != "125" || got[3] != "another kind" {
		t.Errorf("told are %q", got)
	}
}

func TestLogsAreMergedByTimeIntoACopy(t *testing.T) {
	var a, b Log
	a.Add(start, "alarm", "first")
	a.Add(start.Add(2*time.Second), "alarm", "third")
	b.AddCounted(start.Add(time.Second), "alarm", 3, "second")
	frozen := b.Copy()
	b.Add(start.Add(3*time.Second), "alarm", "fourth")
	all := Merge(&a, nil, frozen)
	if len(all) != 3 || all[1].Text != "second" || all[1].Count != 3 || all[2].Text != "third" {
		t.Errorf("%+v", all)
	}
	all[0].Text = "changed"
	if again := Merge(&a); again[0].Text != "first" {
		t.Error("what was merged is no copy")
	}
	if Merge(&Log{}, nil) != nil {
		t.Error("nothing is something")
	}
}

func TestABurstIsToldAtItsBeginningAndAtItsEnd(t *testing.T) {
	var b Burst
	if more, _, _ := b.Close(start); more != 0 || !b.Add(2, start) {
		t.Error("the first are not told at once")
	}
	last := start.Add(2 * time.Minute)
	if b.Add(3, start.Add(time.Minute)) || b.Add(4, last) {
		t.Error("those of the next minutes are told at once")
	}
	if more, _, _ := b.Close(start.Add(together - time.Second)); more != 0 {
		t.Errorf("%d are told before its end", more)
	}
	if more, from, until := b.Close(start.Add(together)); more != 7 || !from.Equal(start) || !until.Equal(last) {
		t.Errorf("at its end %d more from %s to %s", more, from, until)
	}
	b.Add(1, start)
	if !b.Add(1, start.Add(-time.Hour)) {
		t.Error("a clock that was set back does not end it")
	}
}
