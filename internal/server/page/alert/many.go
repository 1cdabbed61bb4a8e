package alert

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// ackMany is what the list offers to acknowledge several alerts at once: the way to the boxes, and with them the form.
func ackMany(q query, rows []templates.AlertRow, base string) templates.AckMany {
	boxes := func(choose, all bool) string {
		q := q
		q.choose, q.all = choose, all
		return q.address(base)
	}
	if !q.choose {
		return templates.AckMany{Choose: boxes(true, false)}
	}
	m := templates.AckMany{All: boxes(true, true), Back: boxes(false, false), Durations: spans("4h")}
	if slices.ContainsFunc(rows, func(r templates.AlertRow) bool { return r.Key != "" }) {
		m.Make = base + "/alerts/acknowledge-selected"
	}
	return m
}

// tickOf is the key by which an alert can be ticked, at which tier it is shown, and whether it is ticked; empty where the list has no
// boxes, and for what cannot be acknowledged or is.
func tickOf(a *alerts.AlertView, q query) (key, shown string, ticked bool) {
	if !q.choose || !show.Fires(a) || a.Ack != nil {
		return "", "", false
	}
	return a.Key.String(), shownAs(a), q.all
}

// seenTier reads the tier at which an alert was shown to whom acknowledges it; unknown where that is not said.
func seenTier(word string) (dedup.Tier, error) {
	if word == "" {
		return dedup.TierUnknown, nil
	}
	t, ok := dedup.ParseTier(word)
	if !ok || t < dedup.Warning {
		return t, list.Bad("tier", "must be the one at which the alert was seen: warning, severe or emergency")
	}
	return t, nil
}

// seenTiers reads those of several alerts, by key. The list gives each as severe rule/kind/subject.
func seenTiers(given []string) (map[string]dedup.Tier, error) {
	seen := map[string]dedup.Tier{}
	for _, text := range given {
		word, key, _ := strings.Cut(text, " ")
		t, err := seenTier(word)
		if err != nil {
			return nil, err
		}
		seen[key] = t
	}
	return seen, nil
}

// worseThanSeen returns an alert as it is now, and whether it was refused because that is worse than what was seen of it.
func (s pages) worseThanSeen(k rule.Key, seen dedup.Tier, refused error) (*alerts.AlertView, bool) {
	a, ok := s.deps.View.View().Alert(k)
	return a, ok && dedup.KindOf(refused) == dedup.Conflict && alerts.WorseThanSeen(a.State, seen)
}

// acknowledgeSelected acknowledges each of the alerts that were ticked, with one note and one end. What one of them refuses keeps
// none of the others.
func (s pages) acknowledgeSelected(r *web.Request) (web.Response, error) {
	back := s.site.Base + "/alerts?choose=1"
	keys := slices.Compact(slices.Sorted(slices.Values(r.PostForm["key"])))
	if len(keys) == 0 || len(keys) > alertsPerPage {
		return nil, &web.LedBack{Err: list.Bad("key", "must name at least one alert and at most 50: tick the boxes of those to acknowledge"), Href: back, Word: "Back to the alerts"}
	}
	span, err := parseSpan(r.PostForm.Get("for"), maxAckDays)
	if err != nil {
		return nil, err
	}
	seen, err := seenTiers(r.PostForm["tier"])
	if err != nil {
		return nil, err
	}
	v := s.acknowledgeEach(r, keys, seen, time.Now().Add(span))
	if len(v.Refused) == 0 {
		return web.Redirect{To: query{states: []string{stateAcked}}.address(s.site.Base)}, nil
	}
	v.Heading, v.Back, v.BackWord = "Not all were acknowledged", back, "Back to the alerts"
	return s.ackedPage(r, v), nil
}

// acknowledgeEach acknowledges alerts, and says what became of each.
func (s pages) acknowledgeEach(
	r *web.Request, keys []string, seen map[string]dedup.Tier, until time.Time,
) templates.AckedView {
	var v templates.AckedView
	var worse []*alerts.AlertView
	view, note := s.deps.View.View(), strings.TrimSpace(r.PostForm.Get("note"))
	for _, key := range keys {
		a, err := alertAsked(view, key)
		if err != nil {
			v.Refused = append(v.Refused, notAcked(show.LongName(key).Short, err))
			continue
		}
		err = s.deps.Attend.Acknowledge(r.Context(), r.Asker(), a.Key.String(), note, seen[key], until)
		if err == nil {
			v.Done = append(v.Done, templates.Sentence(ackName(a)))
			continue
		}
		v.Refused = append(v.Refused, refusedAck(s.site.Base, a, err))
		if now, got := s.worseThanSeen(a.Key, seen[key], err); got {
			worse = append(worse, now)
		}
	}
	v.Again = s.ackAgain(r, worse)
	return v
}

func ackName(a *alerts.AlertView) string {
	return show.Within(show.AlertTitle(a)) + ", " + show.Within(subjectOf(a.Key))
}

// notAcked says why an alert was not acknowledged.
func notAcked(name string, err error) templates.Problem {
	return show.Problem(dedup.Severe, show.WholeSentence(name+": "+dedup.PublicText(err)), "")
}

// refusedAck says why an alert was not acknowledged, and leads to it.
func refusedAck(base string, a *alerts.AlertView, err error) templates.Problem {
	p := notAcked(ackName(a), err)
	p.Href, p.Link = show.AlertAddress(base, a.Key), "Look at it"
	return p
}

// ackAgain is the form that acknowledges alerts which got worse as they are now; empty without any.
func (s pages) ackAgain(r *web.Request, worse []*alerts.AlertView) templates.AckAgain {
	if len(worse) == 0 {
		return templates.AckAgain{}
	}
	again := templates.AckAgain{
		Make: s.site.Base + "/alerts/acknowledge-selected", Button: "Acknowledge " + worse[0].State.Tier.String(),
		Note: strings.TrimSpace(r.PostForm.Get("note")), Durations: spans(r.PostForm.Get("for")),
	}
	if len(worse) > 1 {
		again.Button = "Acknowledge them as they are now"
	}
	for _, a := range worse {
		again.Keys, again.Tiers = append(again.Keys, a.Key.String()), append(again.Tiers, shownAs(a))
	}
	return again
}

// shownAs is what a form says of the tier at which it shows an alert, among others: see seenTiers.
func shownAs(a *alerts.AlertView) string { return a.State.Tier.String() + " " + a.Key.String() }

// ackedPage says what became of acknowledgements of which some were refused.
func (s pages) ackedPage(r *web.Request, v templates.AckedView) web.Response {
	v.Frame = s.site.Frame(r, "Acknowledge")
	return web.Page{Status: http.StatusConflict, Component: templates.Acked(v)}
}
