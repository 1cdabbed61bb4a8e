package deadletter_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
	"dedup-dashboard/lab/admintest"
)

var midday = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// sampleLetter is a letter that most terms of the tables below select.
func sampleLetter() deadletter.Letter {
	l := deadletter.Letter{
		ID: "order-1", Exception: "java.lang.IllegalStateException", Requeues: 2, Prediction: preflight.Prediction{Class: preflight.ClassBlocks},
	}
	l.Type, l.Body = "order created", []byte(`{"city":"Köln"}`)
	l.Headers = map[string]any{"tenant": "acme", "attempt": int32(3), "odd:name": "x", "table": map[string]any{"a": "b"}}
	l.Deaths = []message.Death{
		{Queue: "orders", Reason: "rejected", Exchange: "shop", RoutingKeys: []string{"order.created", "copy"}, Time: midday.Add(time.Hour)},
		{Queue: "orders", Reason: "expired", Time: midday},
	}
	return l
}

func TestFiltersSelectByEveryField(t *testing.T) {
	for text, want := range map[string]bool{
		``:                                      true,
		`reason:rejected`:                       true,
		`reason:expired`:                        false, // the newest death counts
		`source:orders`:                         true,
		`source:ord*`:                           true,
		`source:"ord*"`:                         false, // a quoted star is a star
		`exchange:shop route:order.created,*`:   true,
		`type:"order created"`:                  true,
		`type:"order "*`:                        true,
		`type:order`:                            false,
		`id:order-1`:                            true,
		`-id:order-1`:                           false,
		`exception:java.lang.*`:                 true,
		`class:blocks`:                          true,
		`class:runs`:                            false,
		`body:Köln`:                             true,
		`body:"\":\"K"`:                         true,
		`body:Bonn`:                             false,
		`header.tenant:acme`:                    true,
		`header.attempt:3`:                      true,
		`header."odd:name":x`:                   true,
		`header.table:b`:                        false,
		`header.absent:""`:                      true,
		`-header.tenant:""`:                     true,
		`after:2026-11-21`:                      true,
		`after:2026-11-21T12:00:01Z`:            true, // the newest death counts,
		`after:2026-11-21T13:00Z`:               true, // and its moment belongs to it
		`after:2026-11-21T13:00:01Z`:            false,
		`before:2026-11-21T13:00:00Z`:           false,
		`before:2026-11-21T13:00:01Z`:           true,
		`requeues>=2`:                           true,
		`requeues>=3`:                           false,
		`reason:rejected -class:runs id:order*`: true,
		`reason:rejected class:runs`:            false,
	} {
		f, err := deadletter.ParseFilter(text, midday)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := f.Matches(sampleLetter()); got != want {
			t.Errorf("%s selects the letter: %t", text, got)
		}
	}
}

func TestMistakesInFiltersAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		`orders`:                          `"orders" is no term; write field:value`,
		`:orders`:                         `"" is no term; write field:value`,
		`queue:orders`:                    `There is no field "queue"; use reason, source,`,
		`source:`:                         `source has no value; write source:"" for letters that have none`,
		`source:a"b`:                      `Quote the value of source`,
		`source:a*b`:                      `Quote the value of source`,
		`source:"a`:                       `A quote is not closed`,
		`source:"\q"`:                     `is no quoted value`,
		`source:"a"b`:                     `There must be a space behind the value of source`,
		`class:fine`:                      `There is no class "fine"`,
		`requeues:3`:                      `Write requeues>=n with a whole number n`,
		`requeues>=-1`:                    `Write requeues>=n with a whole number n`,
		`before:last week`:                `"last week" is no time for before; write 15:00, yesterday 15:00, 2h,`,
		`after:2026-11-21 25:00 id:a`:     `"2026-11-21 25:00" is no time for after`,
		`after:2026-11-21T12:00 08:00`:    `"2026-11-21T12:00 08:00" is no time for after`,
		`before:2026-11-21*`:              `is no time for before`,
		`body:""`:                         `Write body:text`,
		`body:a*`:                         `Write body:text`,
		`header.:a`:                       `Name the header: header.NAME:value`,
		"id:\xff":                         `A filter is text in UTF-8`,
		strings.Repeat("id:a ", 21):       `A filter has at most 20 terms`,
		"id:" + strings.Repeat("a", 1022): `A filter has at most 1024 bytes`,
	} {
		_, err := deadletter.ParseFilter(text, midday)
		if dedup.KindOf(err) != dedup.Invalid || !strings.Contains(dedup.PublicText(err), want) {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}

func TestAnHourWithoutATimeIsAFilterToo(t *testing.T) {
	l := sampleLetter()
	l.Deaths = nil
	groups := deadletter.GroupLetters([]deadletter.Letter{l, sampleLetter()}, deadletter.ByHour)
	if len(groups) != 2 {
		t.Fatalf("%+v", groups)
	}
	for _, g := range groups {
		f, err := deadletter.ParseFilter(g.Filter, midday)
		admintest.Must(t, err)
		if f.Matches(l) == f.Matches(sampleLetter()) {
			t.Errorf("%s does not tell them apart", g.Filter)
		}
	}
}

// anyText draws what a broker may hold: plain words, and words that a grammar could trip over.
func anyText() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"", "orders", "a b", `a"b`, `back\slash`, "star*", "-minus", "new\nline", "\xff\xfe", "\u202eright", "a:b", " lead", ",", "a,b"}),
		rapid.String(),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 600), func(b []byte) string { return string(b) }),
	)
}

func anyLetter() *rapid.Generator[deadletter.Letter] {
	return rapid.Custom(func(t *rapid.T) deadletter.Letter {
		l := deadletter.Letter{
			ID: anyText().Draw(t, "id"), Exception: anyText().Draw(t, "exception"), Size: rapid.IntRange(0, 9).Draw(t, "size"),
			Prediction: preflight.Prediction{Class: rapid.SampledFrom(preflight.Classes()).Draw(t, "class")},
		}
		l.Type, l.Exchange, l.RoutingKey = anyText().Draw(t, "type"), anyText().Draw(t, "exchange"), anyText().Draw(t, "key")
		for range rapid.IntRange(0, 2).Draw(t, "deaths") {
			d := message.Death{
				Queue: anyText().Draw(t, "queue"), Reason: anyText().Draw(t, "reason"), Exchange: anyText().Draw(t, "from"),
				RoutingKeys: rapid.SliceOfN(anyText(), 0, 3).Draw(t, "keys"),
			}
			if rapid.Bool().Draw(t, "timed") {
				d.Time = midday.Add(time.Duration(rapid.IntRange(-9000, 9000).Draw(t, "seconds")) * time.Second)
			}
			l.Deaths = append(l.Deaths, d)
		}
		return l
	})
}

func TestAGroupsFilterSelectsExactlyTheGroup(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.SliceOfN(anyLetter(), 0, 12).Draw(t, "letters")
		key := rapid.SampledFrom(deadletter.GroupKeys()).Draw(t, "key")
		sum := 0
		selected := make([]int, len(letters))
		for _, g := range deadletter.GroupLetters(letters, key) {
			sum += g.Count
			f, err := deadletter.ParseFilter(g.Filter, midday)
			if err != nil {
				t.Fatalf("%s: %v", g.Filter, err)
			}
			count := 0
			for i := range letters {
				if f.Matches(letters[i]) {
					count++
					selected[i]++
				}
			}
			if count != g.Count {
				t.Fatalf("%s selects %d, the group has %d", g.Filter, count, g.Count)
			}
		}
		if sum != len(letters) {
			t.Fatalf("%d of %d letters are in groups", sum, len(letters))
		}
		for i, n := range selected {
			if n != 1 {
				t.Fatalf("letter %d is in %d groups", i, n)
			}
		}
	})
}

func FuzzFilterIsReadAsItWasWritten(f *testing.F) {
	for _, text := range []string{
		"", "id:a", `-source:"a b"* reason:x`, "requeues>=3", "before:2026-11-21", `header."a\"b":"c"`, "body:x class:runs", "\x00", `id:""`, "after:yesterday 15:00 before:2 hours ago id:a",
		"before:2026-11-01 01:30 -after:15:00Z", `after:"9999-12-31 23:59"`, "after:2h30m", "-before:1800-01-01",
	} {
		f.Add(text)
	}
	letters := []deadletter.Letter{{}, sampleLetter()}
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		f.Fatal(err)
	}
	later := midday.Add(31 * time.Hour).In(newYork) // what was read once means the same to any reader at any time
	f.Fuzz(func(t *testing.T, text string) {
		first, err := deadletter.ParseFilter(text, midday)
		if err != nil {
			if dedup.KindOf(err) != dedup.Invalid {
				t.Fatal(err)
			}
			return
		}
		written := first.String()
		second, err := deadletter.ParseFilter(written, later)
		if err != nil {
			t.Fatalf("%q was written as %q: %v", text, written, err)
		}
		if second.String() != written {
			t.Fatalf("%q was written as %q and then as %q", text, written, second.String())
		}
		for _, l := range letters {
			if first.Matches(l) != second.Matches(l) {
				t.Fatalf("%q and %q select other letters", text, written)
			}
		}
	})
}

func ExampleParseFilter() {
	f, err := deadletter.ParseFilter(`  reason:rejected   source:"orders eu"* -class:skipped requeues>=1 after:2 hours ago`, midday)
	fmt.Println(f, err)
	// Output: reason:rejected source:"orders eu"* -class:skipped requeues>=1 after:2026-11-21T10:00:00Z <nil>
}

func TestTheTypeThatIsShownIsTheTypeThatAFilterSelects(t *testing.T) {
	for _, header := range []string{"__TypeId__", "NServiceBus.EnclosedMessageTypes", "rbs2-msg-type", "task", "type"} {
		l := deadletter.Letter{}
		l.Headers = map[string]any{header: "shop.OrderCreated"}
		if got := l.MessageType(); got != "shop.OrderCreated" {
			t.Errorf("%s is shown as %q", header, got)
		}
		groups := deadletter.GroupLetters([]deadletter.Letter{l}, deadletter.ByType)
		f, err := deadletter.ParseFilter(groups[0].Filter, midday)
		if err != nil || groups[0].Value != l.MessageType() || !f.Matches(l) {
			t.Errorf("%s: the group is %+v, %v", header, groups[0], err)
		}
	}
}
