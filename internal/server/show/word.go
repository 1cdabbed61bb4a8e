package show

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/web/templates"
)

// Counted writes a number of things: "1 broker", "2 brokers".
func Counted[N templates.Amount](n N, thing string) string {
	return templates.Number(n) + " " + Plural(n, thing, thing+"s")
}

// Plural is the word, or the form of a verb, for a number of things.
func Plural[N templates.Amount](n N, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Capital begins a sentence.
func Capital(s string) string {
	if s == "" {
		return s
	}
	r, size := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError { // what is no text stays, to be shown as what it is
		return s
	}
	return string(unicode.ToUpper(r)) + s[size:]
}

// EndSentence ends a text that has no end yet with a full stop.
func EndSentence(s string) string {
	if s == "" || strings.ContainsAny(s[len(s)-1:], ".?!") {
		return s
	}
	return s + "."
}

// ErrorText is what may be shown of an error, as a sentence.
func ErrorText(err error) string { return EndSentence(dedup.PublicText(err)) }

// Statement is a text that stands alone: it begins with a capital and ends with a full stop.
func Statement(s string) templates.Text { return templates.Sentence(WholeSentence(s)) }

// WholeSentence begins a text with a capital and ends it with a full stop.
func WholeSentence(s string) string { return EndSentence(Capital(s)) }

// Listed joins words as people do: "a, b and c".
func Listed(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// CompareText orders texts as people do, whatever their case.
func CompareText(a, b string) int { return cmp.Compare(strings.ToLower(a), strings.ToLower(b)) }

// SortedLabels lists labels as facts, in the order of their names.
func SortedLabels(labels map[string]string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		out = append(out, name+"="+labels[name])
	}
	return out
}

// LowerFirst begins a sentence with a small letter, to stand within another one.
func LowerFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// Clean makes a foreign string fit to be shown in one line: characters that cannot be seen, or that turn the direction of
// text around them, become their escapes, and it ends after max characters.
func Clean(s string, maximum int) string {
	var b strings.Builder
	n := 0
	for _, c := range s {
		if n == maximum {
			b.WriteString("…")
			break
		}
		n++
		if c == unicode.ReplacementChar || !unicode.IsPrint(c) {
			quoted := strconv.QuoteRuneToASCII(c)
			b.WriteString(quoted[1 : len(quoted)-1])
			continue
		}
		b.WriteRune(c)
	}
	return b.String()
}

// ReadableTimes writes the times in a text as pages write them, in the zone of the reader.
func ReadableTimes(text string, now time.Time) string {
	return IsoTime.ReplaceAllStringFunc(text, func(iso string) string {
		at, err := time.Parse(time.RFC3339Nano, iso)
		if err != nil {
			return iso
		}
		return Moment(at, now).Text
	})
}

// Texts are sentences with their times in the zone of the reader.
func Texts(list []string, now time.Time) []templates.Text {
	out := make([]templates.Text, 0, len(list))
	for _, s := range list {
		out = append(out, templates.Sentence(ReadableTimes(s, now)))
	}
	return out
}

// InBothZones writes a time in the zone of now and in UTC.
func InBothZones(at, now time.Time) string {
	utc := at.UTC().Format(momentLayout) + " UTC"
	if now.Location() == time.UTC {
		return utc
	}
	return at.In(now.Location()).Format(momentLayout+" MST") + " (" + ZoneWord(now) + ") = " + utc
}

// ZoneWord is the name of the zone of now.
func ZoneWord(now time.Time) string { return now.Location().String() }

// IsoTime finds the times that the audit and plans hold in texts, in UTC.
var IsoTime = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z`)

// momentLayout writes a time so that it can be compared with another one of another day.
const momentLayout = "2 Jan 2006 15:04:05.999999999"

// TierWords says what a parameter that is a tier must be.
const TierWords = "must be normal, warning, severe, emergency or unknown"

// TiersWorstFirst are the tiers, the worst first.
func TiersWorstFirst() []dedup.Tier {
	return []dedup.Tier{dedup.Emergency, dedup.Severe, dedup.Warning, dedup.TierUnknown, dedup.Normal}
}

// A Share is a number of things that were counted already, with what they are.
type Share struct {
	N    int
	Word string
}

// OfThem names those that are none of zero: " (1 of them acknowledged, 2 silenced)".
func OfThem(shares []Share) string { return ofAll("", " of them", shares) }

// OfThese is OfThem after counts of more than one kind, of which all that are meant are told by their number: " (of these 11: 2 acknowledged)".
func OfThese(all int, shares []Share) string {
	return ofAll("of these "+templates.Number(all)+": ", "", shares)
}

func ofAll(before, of string, shares []Share) string {
	var parts []string
	for _, s := range shares {
		if s.N > 0 {
			parts = append(parts, templates.Number(s.N)+of+s.Word)
			of = ""
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + before + strings.Join(parts, ", ") + ")"
}

// HowOften writes a small number of times.
func HowOften(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	default:
		return strconv.Itoa(n) + " times"
	}
}

// Pipelines writes a number of pipelines.
func Pipelines(n int) string { return Counted(n, "pipeline") }
