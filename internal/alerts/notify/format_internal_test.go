package notify

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
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
