package server

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/web/templates"
)

// ackMany is what the list offers to acknowledge several alerts at once: the way to the boxes, and with them the form.
func ackMany(q alertsQuery, rows []templates.AlertRow, base string) templates.AckMany {
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

// tickOf is the key by which an alert can be ticked, and whether it is; empty where the list has no boxes, and for what cannot be
// acknowledged or is.
func tickOf(a *alerts.AlertView, q alertsQuery) (key string, ticked bool) {
	if !q.choose || !fires(a) || a.Ack != nil {
		return "", false
	}
	return a.Key.String(), q.all
}

// acknowledgeSelected acknowledges each of the alerts that were ticked, with one note and one end. What one of them refuses keeps
// none of the others.
func (s *Server) acknowledgeSelected(r *request) (response, error) {
	service, err := s.attending()
	if err != nil {
		return nil, err
	}
	if err := r.ParseForm(); err != nil {
		return nil, formError(err)
	}
	back := s.cfg.base() + "/alerts?choose=1"
	keys := slices.Compact(slices.Sorted(slices.Values(r.PostForm["key"])))
	if len(keys) == 0 || len(keys) > alertsPerPage {
		return nil, &ledBack{badParameter("key", "must name at least one alert and at most 50: tick the boxes of those to acknowledge"), back, "Back to the alerts"}
	}
	span, err := parseSpan(r.PostForm.Get("for"), maxAckDays)
	if err != nil {
		return nil, err
	}
	until, note := time.Now().Add(span), strings.TrimSpace(r.PostForm.Get("note"))
	v := templates.AckedView{Back: back}
	view := s.alerts.View.View()
	for _, key := range keys {
		a, err := alertAsked(view, key)
		name := templates.Plain(key, 2*nameLimit).Short
		if err == nil {
			name = within(titleOf(a)) + ", " + within(subjectOf(a.Key))
			err = service.Acknowledge(r.Context(), r.asker(), a.Key.String(), note, until)
		}
		if err != nil {
			v.Refused = append(v.Refused, templates.Problem{Tier: dedup.Severe.String(), Text: statement(name + ": " + dedup.PublicText(err))})
			continue
		}
		v.Done = append(v.Done, templates.Sentence(name))
	}
	if len(v.Refused) == 0 {
		return redirect{alertsQuery{states: []string{stateAcked}, page: 1}.address(s.cfg.base())}, nil
	}
	v.Frame = s.frame(r, "Acknowledge")
	return page{status: http.StatusConflict, component: templates.Acked(v)}, nil
}
