package templates

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestHiddenCharactersBecomeVisible(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"plain text stays", "orders.dlq ünï 管道", "orders.dlq ünï 管道"},
		{"a bidi override is shown", "a\u202ecod.exe", `a\u202ecod.exe`},
		{"an isolate is shown", "\u2066x\u2069", `\u2066x\u2069`},
		{"a terminal escape is shown", "\x1b[31m", `\u001b[31m`},
		{"a null is shown", "a\x00b", `a\u0000b`},
		{"line feeds and tabs are shown", "a\nb\tc", `a\nb\tc`},
		{"a byte that is not UTF-8 is shown", "a\xffb", `a\xffb`},
		{"a zero width joiner is shown", "a\u200db", `a\u200db`},
		{"a no-break space is shown", "a\u00a0b", `a\u00a0b`},
		{"a tag character is shown", "\U000e0041", `\U000e0041`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Visible(tt.in); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestALongTextIsCutInTheMiddleAndWholeInItsTitle(t *testing.T) {
	got := Plain("abcdefghijklmnopqrstuvwxyz", 11)
	if got.Short != "abcde…vwxyz" || got.Full != "abcdefghijklmnopqrstuvwxyz" {
		t.Errorf("got %+v", got)
	}
	if got := Plain(strings.Repeat("x", 1<<20), 40); len(got.Full) > 4*fullLimit {
		t.Errorf("a megabyte leaves a title of %d bytes", len(got.Full))
	}
}

func TestASentenceIsNeverCutAndAMegabyteStaysOffThePage(t *testing.T) {
	said := strings.Repeat("Its interval is 12.31–42.87 %, and 30.56 % of 318 messages were duplicates. ", 12)
	if got := Sentence(said); got.Short != said || got.Full != said {
		t.Errorf("a sentence of %d characters became %q", len(said), got.Short)
	}
	if got := Sentence(strings.Repeat("x\u202e", 1<<20)); len(got.Short) > 2*sentenceLimit || got.Short != got.Full {
		t.Errorf("a megabyte leaves %d and %d bytes", len(got.Short), len(got.Full))
	}
}

func TestAnyBytesBecomePrintableTextWithinTheLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		limit := rapid.IntRange(3, 80).Draw(t, "limit")
		got := Plain(in, limit)
		if n := utf8.RuneCountInString(got.Short); n > limit {
			t.Fatalf("%d characters, limit %d", n, limit)
		}
		for _, r := range got.Short + got.Full {
			if !unicode.IsPrint(r) {
				t.Fatalf("%q is not printable", r)
			}
		}
	})
}

func FuzzVisible(f *testing.F) {
	f.Add("a\u202eb\xff\x00")
	f.Fuzz(func(t *testing.T, in string) {
		out := Visible(in)
		if !utf8.ValidString(out) || strings.ContainsFunc(out, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%q gives %q", in, out)
		}
	})
}
