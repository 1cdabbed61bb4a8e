package server

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"net/url"
	"strings"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// judgedMarker is a marker with its verdict, which is empty unless it is processing.
type judgedMarker struct {
	dedup.Marker
	verdict dedup.Verdict
	reasons []string
	// changed is what an operation of ours did to the marker after the list was read; nil for nothing.
	changed *admin.Change
}

// markerJudge gives the verdict on a processing marker with its reasons.
type markerJudge func(dedup.Marker, dedup.Evidence, dedup.Scheme) (dedup.Verdict, []string)

// of adds the verdict to a processing marker, from what the broker says of the pipelines of its store, and masks the marker
// for who asks.
func (judge markerJudge) of(m dedup.Marker, st *dedup.StoreStatus, who web.Reader) judgedMarker {
	j := judgedMarker{Marker: who.Masked(m, who.Who)}
	switch {
	case m.State != dedup.Processing:
	case judge == nil:
		j.verdict = dedup.CannotTell
	default:
		j.verdict, j.reasons = judge(m, st.Evidence, st.Scheme)
	}
	return j
}

// encodeKey writes a key for a hidden field of a form: browsers would change bytes that are not UTF-8, and line ends.
func encodeKey(key string) string { return url.QueryEscape(key) }

// decodeKey reads what encodeKey wrote.
func decodeKey(text string) (string, error) {
	key, err := url.QueryUnescape(text)
	if err != nil || key == "" {
		return "", web.Invalid("The form names a marker that cannot be read; load the page again")
	}
	return key, nil
}

// markerLine is one marker of a list. Times of the store are compared with its clock, which is off from ours by offset.
func markerLine(m judgedMarker, base string, offset time.Duration, now time.Time) templates.MarkerLine {
	l := templates.MarkerLine{
		Anchor: anchor(m.Store, cmp.Or(m.Key, m.TooLong)), Sel: encodeKey(m.Key), Href: web.MarkerAddress(base, m.Store, m.Key),
		ID: templates.Plain(shownID(m.Marker), show.KeyLimit), BusinessKey: templates.Plain(m.BusinessKey, show.KeyLimit), Verdict: string(m.verdict),
		Why: templates.Sentence(show.ReadableTimes(strings.Join(m.reasons[:min(1, len(m.reasons))], ""), now)), Life: lifeOf(m.Marker, offset, now),
		Owner: templates.Plain(m.Owner, show.NameLimit), Detail: templates.Plain(detailText(m.Marker), show.PartLimit),
	}
	if m.Status != "" && m.Status != string(m.State) {
		l.Status = templates.Plain(m.Status, show.NameLimit)
	}
	if m.changed != nil {
		l.Changed = changeView(*m.changed, base, now)
	}
	if m.Attempts != nil {
		l.Attempts = templates.Number(float64(*m.Attempts))
	}
	return l
}

// changeView says what was done to a marker since the list was read.
func changeView(c admin.Change, base string, now time.Time) *templates.MarkerChange {
	v := &templates.MarkerChange{Result: string(c.Result), Cleared: c.Result == dedup.Cleared, Text: show.Ago(c.At, now)}
	if c.By != "" {
		v.Text += " by " + templates.Plain(c.By, show.NameLimit).Short
	}
	if c.Operation != "" {
		v.Href = web.OperationAddress(base, c.Operation)
	}
	return v
}

// shownID is the id of a marker, and its key where the id could not be read.
func shownID(m dedup.Marker) string { return m.Name() }

// anchor names the row of a marker in the document, so that a live list knows its rows again.
func anchor(store, key string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(store + "\x00" + key)) // a hash never fails to write
	return fmt.Sprintf("m-%x", h.Sum64())
}

// lifeOf compares the age of a marker with its time to live.
func lifeOf(m dedup.Marker, offset time.Duration, now time.Time) templates.Life {
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
