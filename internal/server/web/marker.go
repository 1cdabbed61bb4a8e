package web

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"net/url"
	"strings"
	"time"

	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/web/templates"
)

// JudgedMarker is a marker with its verdict, which is empty unless it is processing.
type JudgedMarker struct {
	dedup.Marker
	Verdict dedup.Verdict
	Reasons []string
	// Changed is what an operation of ours did to the marker after the list was read; nil for nothing.
	Changed *marker.Change
}

// EncodeKey writes a key for a hidden field of a form: browsers would change bytes that are not UTF-8, and line ends.
func EncodeKey(key string) string { return url.QueryEscape(key) }

// DecodeKey reads what EncodeKey wrote.
func DecodeKey(text string) (string, error) {
	key, err := url.QueryUnescape(text)
	if err != nil || key == "" {
		return "", Invalid("The form names a marker that cannot be read; load the page again")
	}
	return key, nil
}

// MarkerLine is one marker of a list. Times of the store are compared with its clock, which is off from ours by offset.
func MarkerLine(m JudgedMarker, base string, offset time.Duration, now time.Time) templates.MarkerLine {
	l := templates.MarkerLine{
		Anchor: Anchor(m.Store, cmp.Or(m.Key, m.TooLong)), Sel: EncodeKey(m.Key), Href: MarkerAddress(base, m.Store, m.Key),
		ID: show.Key(ShownID(m.Marker)), BusinessKey: show.Key(m.BusinessKey), Verdict: string(m.Verdict),
		Why: templates.Sentence(show.ReadableTimes(strings.Join(m.Reasons[:min(1, len(m.Reasons))], ""), now)), Life: LifeOf(m.Marker, offset, now),
		Owner: show.Name(m.Owner), Detail: show.Part(DetailText(m.Marker)),
	}
	if m.Status != "" && m.Status != string(m.State) {
		l.Status = show.Name(m.Status)
	}
	if m.Changed != nil {
		l.Changed = changeView(*m.Changed, base, now)
	}
	if m.Attempts != nil {
		l.Attempts = templates.Number(*m.Attempts)
	}
	return l
}

// changeView says what was done to a marker since the list was read.
func changeView(c marker.Change, base string, now time.Time) *templates.MarkerChange {
	v := &templates.MarkerChange{Result: string(c.Result), Cleared: c.Result == dedup.Cleared, Text: show.Ago(c.At, now)}
	if c.By != "" {
		v.Text += " by " + show.ShortName(c.By)
	}
	if c.Operation != "" {
		v.Href = OperationAddress(base, c.Operation)
	}
	return v
}

// ShownID is the id of a marker, and its key where the id could not be read.
func ShownID(m dedup.Marker) string { return m.Name() }

// Anchor names the row of a marker in the document, so that a live list knows its rows again.
func Anchor(store, key string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(store + "\x00" + key)) // a hash never fails to write
	return fmt.Sprintf("m-%x", h.Sum64())
}

// LifeOf compares the age of a marker with its time to live.
func LifeOf(m dedup.Marker, offset time.Duration, now time.Time) templates.Life {
	l := templates.Life{Age: "age unknown", Never: m.Expires.IsZero()}
	var full []string
	age := dedup.AgeOf(m, now, offset)
	exact := age.Known && !age.AtLeast
	switch {
	case exact:
		l.Age = templates.Span(age.Span)
		full = append(full, "since "+show.Moment(m.Since.Add(-offset), now).Full)
	case age.Known:
		l.Age = "≥ " + templates.Span(age.Span)
		full = append(full, "first seen "+show.Moment(m.FirstSeen, now).Full)
	}
	if l.Never {
		l.Left = "never expires"
		l.Drawn, l.Share = exact, 1000
		l.Full = strings.Join(full, ", ")
		return l
	}
	left := m.Expires.Sub(now.Add(offset))
	full = append(full, "expires "+show.Moment(m.Expires.Add(-offset), now).Full)
	l.Full = strings.Join(full, ", ")
	if left <= 0 {
		l.Over, l.Left = true, "expired "+templates.Span(-left)+" ago"
		l.Drawn, l.Share = exact, 1000
		return l
	}
	l.Left = templates.Span(left) + " left"
	if exact && age.Span+left > 0 {
		l.Drawn, l.Share = true, int(1000*age.Span/(age.Span+left))
		l.Left += " of " + templates.Span(age.Span+left)
	}
	return l
}

// ClockOffset is the store's clock minus ours when the marker was read.
func ClockOffset(g dedup.Sighting) time.Duration {
	if g.At.IsZero() || g.Clock.IsZero() {
		return 0
	}
	return g.Clock.Sub(g.At)
}

// Dump shows bytes in lines of sixteen.
func Dump(value []byte) []templates.DumpLine {
	var lines []templates.DumpLine
	for at := 0; at < len(value); at += 16 {
		part := value[at:min(at+16, len(value))]
		text := strings.Map(func(c rune) rune {
			if c < ' ' || c > '~' {
				return '.'
			}
			return c
		}, latin(part))
		lines = append(lines, templates.DumpLine{Offset: fmt.Sprintf("%04x", at), Hex: fmt.Sprintf("% x", part), Text: text})
	}
	return lines
}

// DetailText is what pages say of a masked marker: its detail, and the beginning of a value that could not be decoded as far
// as the mask left it.
func DetailText(m dedup.Marker) string {
	if m.Sample == "" {
		return m.Detail
	}
	return strings.TrimPrefix(m.Detail+": "+m.Sample, ": ")
}

// latin reads each byte as one character.
func latin(b []byte) string {
	r := make([]rune, len(b))
	for i, c := range b {
		r[i] = rune(c)
	}
	return string(r)
}
