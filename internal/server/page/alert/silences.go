package alert

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

const (
	// endedShown is how many silences that have ended are listed, endedSince how far back.
	endedShown = 100
	endedSince = 30 * 24 * time.Hour
	// silenceSoon is how long before its end a silence is said to end soon.
	silenceSoon = 15 * time.Minute
)

// silencesPage answers the list of silences.
func (s pages) silencesPage(r *web.Request) (web.Response, error) {
	v := templates.SilencesView{Frame: s.site.Frame(r, "Silences")}
	if v.Off = s.alertsOffWhy(); v.Off != "" {
		return web.Page{Component: templates.Silences(v)}, nil
	}
	now, view, base := r.Now(), s.deps.View.View(), s.site.Base
	v.EmptyActive = "Every alert that fires is told, as routes and channels say."
	if v.WhyNot = s.whyNoAttending(r); v.WhyNot == "" {
		v.New = base + "/silences/new"
	}
	for _, one := range sortedSilences(view.Silences) {
		expire := ""
		if v.New != "" {
			expire = base + "/silences/" + url.PathEscape(one.ID) + "/expire"
		}
		switch {
		case one.Expired(now):
		case one.Active(now):
			v.Active = append(v.Active, silenceRow(one, view, expire, now))
		default:
			v.Coming = append(v.Coming, silenceRow(one, view, expire, now))
		}
	}
	s.endedSilences(r, &v, view, now)
	return web.Page{Component: templates.Silences(v)}, nil
}

// sortedSilences are silences by their end, the first to end first.
func sortedSilences(all []alerts.Silence) []alerts.Silence {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b alerts.Silence) int { return a.Ends.Compare(b.Ends) })
	return all
}

// endedSilences lists the silences that have ended, newest first, with who ended them.
func (s pages) endedSilences(r *web.Request, v *templates.SilencesView, view *alerts.View, now time.Time) {
	ended, err := s.readEnded(r.Context(), now)
	switch {
	case err != nil:
		s.deps.Log.Warn("silences cannot be read", "err", err)
		v.EndedNote = "Silences that have ended cannot be read from the journal at the moment."
		return
	case s.deps.Records == nil:
		v.EndedNote = "Silences that have ended are not kept: the dashboard was started without a journal of alerts."
		return
	case len(ended) == 0:
		v.EndedNote = "No silence has ended in the last 30 days. The audit has all that were ever made."
		return
	}
	v.EndedNote = "Those of the last 30 days are shown, " + templates.Number(endedShown) + " at most. The audit has all."
	for _, one := range ended {
		row := silenceRow(one, view, "", now)
		row.Covers = ""
		if who := one.EndedBy; who != "" {
			row.EndedBy = templates.Sentence("ended by " + show.Within(who))
		}
		v.Ended = append(v.Ended, row)
	}
}

func (s pages) readEnded(ctx context.Context, now time.Time) ([]alerts.Silence, error) {
	if s.deps.Records == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, recordsTimeout)
	defer cancel()
	all, err := s.deps.Records.Silences(ctx, now.Add(-endedSince))
	if err != nil {
		return nil, err
	}
	ended := slices.DeleteFunc(sortedSilences(all), func(one alerts.Silence) bool { return !one.Expired(now) })
	slices.Reverse(ended)
	return ended[:min(len(ended), endedShown)], nil
}

// silenceRow is one silence in a list.
func silenceRow(one alerts.Silence, view *alerts.View, expire string, now time.Time) templates.SilenceRow {
	row := templates.SilenceRow{
		ID: show.Name(one.ID), Author: show.Name(one.Author), Reason: show.Part(one.Reason),
		Starts: show.Moment(one.Starts, now), Ends: show.Moment(one.Ends, now), Expire: expire,
	}
	for _, m := range one.Matchers {
		row.Matchers = append(row.Matchers, show.LongKey(m.String()))
	}
	if one.ExpiresSoon(now, silenceSoon) {
		row.Soon = "ends " + show.Ago(one.Ends, now)
	}
	quiet := 0
	for _, a := range view.Alerts {
		if isState(a, stateSilenced) && slices.Contains(a.Silences, one.ID) {
			quiet++
		}
	}
	if one.Active(now) {
		row.Covers = "keeps " + show.Counted(quiet, "alert") + " quiet now"
	}
	return row
}

// endSilence ends the silence that the address names.
func (s pages) endSilence(r *web.Request) error {
	id := r.PathValue("id")
	if unescaped, err := url.PathUnescape(id); err == nil {
		id = unescaped
	}
	return s.deps.Attend.Expire(r.Context(), r.Asker(), id)
}

// expireSilence ends a silence.
func (s pages) expireSilence(r *web.Request) (web.Response, error) {
	if err := s.endSilence(r); err != nil {
		return nil, err
	}
	return web.Redirect{To: s.site.Base + "/silences"}, nil
}

// newSilence answers the form of a new silence and, where it is asked, what that would cover.
func (s pages) newSilence(r *web.Request) (web.Response, error) {
	frame := s.site.Frame(r, "New silence")
	if why := s.alertsOffWhy(); why != "" {
		return web.Page{Component: templates.SilenceForm(templates.SilenceFormView{Frame: frame, Off: why})}, nil
	}
	now := r.Now()
	f := readSilenceForm(r.URL.Query())
	v := s.silenceForm(r, f, frame)
	if f.preview {
		if err := s.preview(r, &v, f, now); err != nil {
			v.Error = templates.Sentence(show.ErrorText(err))
		}
	}
	return web.Page{Component: templates.SilenceForm(v)}, nil
}

// preview adds what the silence of the form would cover, and the button that makes it, where that may be. It needs no reason.
func (s pages) preview(r *web.Request, v *templates.SilenceFormView, f silenceForm, now time.Time) error {
	one, err := f.silence(r.Who.Name, now)
	if err != nil {
		return err
	}
	one.Reason = "to be given"
	if err := one.Validate(); err != nil {
		return err
	}
	v.Asked, v.Seen, v.Coverage = true, f.marks(), coverage(one, s.deps.View.View(), s.deps.Snapshots.Snapshot(), now, v.Frame.Base)
	v.Coverage.Line += f.endDoubt(now)
	if v.WhyNot == "" {
		v.Make = v.Frame.Base + "/silences"
	}
	return nil
}

// makeSilence makes the silence of the form, if its reader saw what these very fields cover; else that is shown first. One that is not
// valid is shown with what is wrong.
func (s pages) makeSilence(r *web.Request) (web.Response, error) {
	now := r.Now()
	f := readSilenceForm(r.PostForm)
	wrong := func(err error) (web.Response, error) {
		if dedup.KindOf(err) != dedup.Invalid {
			return nil, err
		}
		v := s.silenceForm(r, f, s.site.Frame(r, "New silence"))
		if f.seen == f.marks() {
			_ = s.preview(r, &v, f, now) // where it cannot be shown, the error says why
		}
		v.Error = templates.Sentence(show.ErrorText(err))
		return web.Page{Status: http.StatusUnprocessableEntity, Component: templates.SilenceForm(v)}, nil
	}
	one, err := f.silence(r.Who.Name, now)
	if err != nil {
		return wrong(err)
	}
	if err := one.Validate(); err != nil {
		return wrong(err)
	}
	if f.seen != f.marks() {
		v := s.silenceForm(r, f, s.site.Frame(r, "New silence"))
		if err := s.preview(r, &v, f, now); err != nil {
			return wrong(err)
		}
		v.Unseen = "It is not made yet: see first what it covers as it is filled in now."
		return web.Page{Status: http.StatusUnprocessableEntity, Component: templates.SilenceForm(v)}, nil
	}
	if _, err := s.deps.Attend.Silence(r.Context(), r.Asker(), askedSilence(one)); err != nil {
		return wrong(err)
	}
	return web.Redirect{To: s.site.Base + "/silences"}, nil
}

// coverage is what a silence would cover, as pages show it.
func coverage(one alerts.Silence, view *alerts.View, snap *dedup.Snapshot, now time.Time, base string) templates.SilenceCoverage {
	const subjectsShown = 50
	found := alerts.Preview(one, view, snap)
	c := templates.SilenceCoverage{}
	if found.Warning != "" {
		c.Warning = show.Statement(found.Warning)
	}
	for _, k := range found.Alerts {
		if a, ok := view.Alert(k); ok && len(c.Alerts) < alertsPerPage {
			c.Alerts = append(c.Alerts, alertRow(view, a, now, base))
		}
	}
	c.Line = "It keeps " + show.Counted(len(found.Alerts), "alert") + " quiet now, and can cover alerts of " + show.Counted(len(found.Subjects), "pipeline, broker or store")
	if n := len(found.Subjects); n != 1 {
		c.Line = "It keeps " + show.Counted(len(found.Alerts), "alert") + " quiet now, and can cover alerts of " + templates.Number(n) + " pipelines, brokers and stores"
	}
	c.Line += ", until " + show.InBothZones(one.Ends.Truncate(time.Second), now) + "."
	c.Subjects = list.Map(found.Subjects[:min(len(found.Subjects), subjectsShown)], show.LongName)
	if more := len(found.Subjects) - len(c.Subjects); more > 0 {
		c.More = "And " + templates.Number(more) + " more."
	}
	return c
}
