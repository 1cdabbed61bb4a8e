package server

import (
	"strings"
	"testing"
	"unicode/utf8"

	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/dedup"
)

func TestAValueIsCutBetweenCharactersWhereItHasAny(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		n    int
		want int
	}{
		"a text":                         {strings.Repeat("a", 10), 4, 4},
		"in the midst of a character":    {"aaa\u20ac", 5, 3},
		"at the end of one":              {"\u20ac\u20ac", 3, 3},
		"bytes that begin no character":  {strings.Repeat("\x80", 10), 7, 7},
		"of which some do, far from it":  {"a" + strings.Repeat("\xbf", 20), 15, 15},
		"a text that is not too long":    {"abc", 3, 3},
		"no room at all":                 {"\x80\x80", 0, 0},
		"less room than a character has": {"\u20ac", 1, 0},
	} {
		if got := len(firstBytes(c.text, c.n)); got != c.want {
			t.Errorf("%s: %d bytes, want %d", name, got, c.want)
		}
	}
}

func TestALargeTableSaysHowLargeItIs(t *testing.T) {
	var list []any
	for range 5000 {
		list = append(list, strings.Repeat("x", 98))
	}
	text := nestedText(list) // 98 and the two bytes between any two
	if !strings.HasSuffix(text, "x…") || len(text) > shownHeaders+utf8.UTFMax || nestedSize(list) != 5000*100-2 {
		t.Errorf("%d bytes, ending in %q, of %d", len(text), text[len(text)-10:], nestedSize(list))
	}
	lines, note := headerLines(deadletter.Letter{DeadLetter: dedup.DeadLetter{Message: dedup.Message{Properties: dedup.Properties{Headers: map[string]any{"many": list}}}}})
	if len(lines) != 1 || lines[0].Size != "488.3 KiB" || lines[0].Cut != "The first 256 KiB of 488.3 KiB are shown." || note == "" {
		t.Errorf("%q, %q, %q", lines[0].Size, lines[0].Cut, note)
	}
	if small := []any{"a", map[string]any{"b": int64(1)}}; nestedText(small) != "a; b=1" {
		t.Errorf("a small one is %q", nestedText(small))
	}
}
