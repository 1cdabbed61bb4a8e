package notify

import (
	"context"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/dedup"
)

func TestWhatIsTooManyWaitsAndIsNotDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pace{most: 20, length: time.Minute}
		began := time.Now()
		for i := range 45 {
			if err := p.wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			if want := time.Duration(i/20) * time.Minute; time.Since(began) != want {
				t.Fatalf("number %d passed after %s, want %s", i+1, time.Since(began), want)
			}
		}
	})
}

func TestWaitingEndsWithItsContextAndTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pace{most: 1, length: time.Minute}
		if err := p.wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if err := p.wait(ctx); err == nil || time.Since(began) != time.Second {
			t.Fatalf("%v after %s", err, time.Since(began))
		}
		if err := p.wait(t.Context()); err != nil || time.Since(began) != time.Minute {
			t.Fatalf("%v after %s", err, time.Since(began))
		}
	})
}

func TestNoSpanHasMoreThanItsShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := pace{most: rapid.IntRange(1, 5).Draw(t, "most"), length: time.Minute}
		now := time.Unix(0, 0)
		var passed []time.Time
		for _, step := range rapid.SliceOfN(rapid.IntRange(0, 40), 1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(step) * time.Second)
			if p.take(now) == 0 {
				passed = append(passed, now)
			}
		}
		for i := p.most; i < len(passed); i++ {
			if passed[i].Sub(passed[i-p.most]) < p.length {
				t.Fatalf("%d passed within %s", p.most+1, passed[i].Sub(passed[i-p.most]))
			}
		}
	})
}

// What was cleaned has nothing left to clean, so that texts can be put together of clean ones.
func TestACleanTextIsOneShortLineThatPrints(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "bytes")) + rapid.String().Draw(t, "text")
		got := clean(text, 50)
		if clean(got, 1000) != got {
			t.Fatalf("%q is cleaned to %q and then to %q", text, got, clean(got, 1000))
		}
		if n := len([]rune(got)); n > 50*12 {
			t.Fatalf("%d characters", n)
		}
	})
}

func TestWhatIsInvisibleIsShown(t *testing.T) {
	for text, want := range map[string]string{
		"orders":                   "orders",
		"bad \xff\xc3 utf-8":       `bad \xff\xc3 utf-8`,
		"\ufffd is a character":    "\ufffd is a character",
		"a\r\n\tb\u2028c\u00a0d":   "a   b c d",
		"rtl \u202e\u200b\x00\x1b": `rtl \u202e\u200b\x00\x1b`,
		"管道 é ü":                   "管道 é ü",
	} {
		if got := clean(text, 100); got != want {
			t.Errorf("%q is cleaned to %q, want %q", text, got, want)
		}
	}
	if got := clean("abcdef", 3); got != "abc…" {
		t.Errorf("%q", got)
	}
}

func TestOnlyAnAddressForABrowserIsALink(t *testing.T) {
	for text, want := range map[string]string{
		"https://a.example/b?c=d&e=f":     "https://a.example/b?c=d&e=f",
		"http://a.example/(x)?<y>|[z]":    "http://a.example/%28x%29?%3Cy%3E%7C%5Bz%5D",
		"javascript:alert(1)":             "",
		"https://user:pw@a.example/":      "",
		"https://a.example/\u202eb":       "",
		"https://a.example/b c":           "",
		"//a.example/":                    "",
		"https:///nowhere":                "",
		"":                                "",
		"https://a.example/" + longText(): "",
	} {
		if got := safeLink(text); got != want {
			t.Errorf("%q is linked as %q, want %q", text, got, want)
		}
	}
}

func longText() string { return strings.Repeat("x", 2000) }

func TestSpansAndValuesAreWrittenAsThePagesDo(t *testing.T) {
	for want, got := range map[string]string{
		"0 s": span(-time.Second), "45 s": span(45 * time.Second), "2 m 5 s": span(125 * time.Second), "1 h": span(time.Hour),
		"24 h": span(24 * time.Hour), "3 h 10 m": span(190*time.Minute + 7*time.Second), "4 d 2 h": span(98 * time.Hour),
		"unknown": value(math.NaN(), dedup.Ratio), "0.01 %": value(0.0001, dedup.Ratio), "5 ms": value(0.005, dedup.Seconds),
		"1.20 s": value(1.2, dedup.Seconds), "2 m": value(120, dedup.Seconds), "1,234,567": value(1234567, dedup.Count),
		"12.50 per hour": value(12.5, dedup.PerHour), "1 GiB": value(1<<30, dedup.Bytes), "900 B": value(900, dedup.Bytes), "-5": value(-5, dedup.Count),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
