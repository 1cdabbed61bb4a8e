package server

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/dedup"
	markerpage "dedup-dashboard/internal/server/page/marker"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/static"
)

// cleared clears the first orphan and returns its key and the address of the operation, after change if it is not nil.
func (s *site) cleared(change func(key string)) (key, operation string) {
	s.t.Helper()
	sel := s.firstOf(dedup.Orphan)
	key, _ = url.QueryUnescape(sel)
	at := s.plan(url.Values{"store": {"orders"}, "do": {"clear-selected"}, "sel": {sel}})
	if change != nil {
		change(key)
	}
	res := s.as("admin", "POST", at+"/execute", url.Values{"reason": {"consumer 2 was killed"}}.Encode())
	operation = res.Header.Get("Location")
	s.ended(operation)
	return key, operation
}

func (s *site) putMarker(key string, state dedup.State) {
	since := time.Now().Add(-time.Minute)
	s.shelf.Put(dedup.Sighting{
		Marker: dedup.Marker{Store: "orders", ID: strings.TrimPrefix(key, "msg:"), Key: key, State: state, Status: string(state), Since: since, Expires: since.Add(time.Hour)},
		Server: "demo", Type: "string", Value: []byte(state), ExpiresMillis: since.Add(time.Hour).UnixMilli(),
	})
}

func TestAnOperationSaysWhatIsThereNowAndOffersToUndoOnlyWhatCanBeRestored(t *testing.T) {
	s := stocked(t, nil)
	key, operation := s.cleared(nil)
	doc := s.page("admin", operation)
	if got := oneLine(doc.Find(".c-now")); got != "no marker" || doc.Find("form.undo").Length() != 1 {
		t.Errorf("now %q, %d ways to undo", got, doc.Find("form.undo").Length())
	}
	s.putMarker(key, dedup.Done)
	doc = s.page("admin", operation)
	if got := oneLine(doc.Find(".c-now")); !strings.HasPrefix(got, "done since ") {
		t.Errorf("now %q", got)
	}
	if text := oneLine(doc.Find("main")); doc.Find("form.undo").Length() != 0 || !strings.Contains(text, "Nothing is left to undo: its message has a marker again.") {
		t.Errorf("it offers to undo: %.500s", text)
	}
	s.shelf.Down = true
	doc = s.page("admin", operation)
	if text := oneLine(doc.Find("main")); oneLine(doc.Find(".c-now")) != "unknown" || doc.Find("form.undo").Length() != 0 || !strings.Contains(text, "as soon as the store answers") {
		t.Errorf("with the store down: %.700s", text)
	}
}

func TestALookupTellsOfAMarkerThatWasCleared(t *testing.T) {
	s := stocked(t, nil)
	key, operation := s.cleared(nil)
	lookup := "/lookup?" + url.Values{"id": {key}}.Encode() // the shelf does not say what keys an id would have
	doc := s.page("operator", lookup)
	if told := oneLine(doc.Find(".timeline")); !strings.Contains(told, "action") || doc.Find(`.timeline a[href*="`+operation+`"]`).Length() == 0 {
		t.Errorf("the timeline is %q", told)
	}
	doc = s.page("viewer", lookup) // who may not see actions
	if told := oneLine(doc.Find("section[aria-labelledby=timeline-title]")); doc.Find(".timeline").Length() != 0 || !strings.Contains(told, "no marker now") || !strings.Contains(told, "in the audit alone") {
		t.Errorf("a viewer is told %q", told)
	}
}

// past is a service whose operations ended some time ago.
type past struct {
	markerpage.Service
	ago time.Duration
}

func (p *past) Operation(ctx context.Context, who admin.Caller, id string) (marker.Operation, error) {
	o, err := p.Service.Operation(ctx, who, id)
	o.Ended = time.Now().Add(-p.ago)
	return o, err
}

func TestAnOperationThatHasEndedGoesOnReadingWhatIsThereNow(t *testing.T) {
	s := stocked(t, nil)
	_, operation := s.cleared(nil)
	service := &past{Service: s.keeper.Service}
	s.keeper.Service = service
	for _, c := range []struct {
		what  string
		ended time.Duration
		reads bool
		says  string
	}{
		{"that ended a minute ago reads on", time.Minute, true, ", and is read again every few seconds."},
		{"that ended long ago says when it read", 2*time.Minute + time.Second, false, "Read again"},
	} {
		service.ago = c.ended
		page := s.body(s.as("admin", "GET", operation, ""))
		if follows := strings.Contains(page, `http-equiv="refresh" content="5`); follows != c.reads || strings.Contains(page, `http-equiv="refresh"`) != c.reads {
			t.Errorf("an operation %s: it asks again: %t", c.what, follows)
		}
		if follows := strings.Contains(page, "/events?topics=operation"); static.HasBundle() && follows != c.reads {
			t.Errorf("an operation %s: it follows: %t", c.what, follows)
		}
		if !strings.Contains(page, "What is there now was read at") || !strings.Contains(page, c.says) {
			t.Errorf("an operation %s: the page lacks %q", c.what, c.says)
		}
	}
}

func TestAnOperationThatFoundItsMarkerChangedIsNotSaidToBeDoneInPart(t *testing.T) {
	s := stocked(t, nil)
	_, operation := s.cleared(func(key string) { s.putMarker(key, dedup.Done) })
	if text := oneLine(s.page("admin", operation).Find("main")); !strings.Contains(text, "Nothing was changed: the marker was not there any more as reviewed.") {
		t.Errorf("the operation says %.500s", text)
	}
	if got := oneLine(s.page("admin", "/operations").Find("tbody tr").First()); !strings.Contains(got, "nothing changed") || strings.Contains(got, "in part") {
		t.Errorf("the list says %q", got)
	}
	audit := oneLine(s.page("admin", "/audit?outcome=changed").Find(".entries tbody"))
	if !strings.Contains(audit, "nothing changed") || strings.Contains(audit, "failed") {
		t.Errorf("the audit says %q", audit)
	}
}

func TestTheAuditHasOneRowForAnOperationAndTheTrailBeneathIt(t *testing.T) {
	s := stocked(t, nil)
	at := s.plan(url.Values{"store": {"orders"}, "do": {"clear-all"}, "list": {"processing"}})
	res := s.as("admin", "POST", at+"/execute", url.Values{"reason": {"consumer 2 was killed"}}.Encode())
	operation := res.Header.Get("Location")
	s.ended(operation)
	doc := s.page("operator", "/audit")
	rows := doc.Find(".entries tbody tr")
	first := oneLine(rows.First())
	if rows.Length() != 2 || !strings.Contains(first, "12 cleared") || !strings.Contains(first, "consumer 2 was killed") || !strings.Contains(first, "succeeded") {
		t.Errorf("%d rows, the first %q", rows.Length(), first)
	}
	if got := rows.First().Find("a[href^='/operations/']").AttrOr("href", ""); got != operation {
		t.Errorf("the row leads to %q, want %q", got, operation)
	}
	trail := s.page("operator", rows.First().Find("a").Last().AttrOr("href", ""))
	if got := trail.Find(".entries tbody tr").Length(); got != 26 {
		t.Errorf("the trail has %d entries, want 26: 2 of the operation and 2 of each of 12 markers", got)
	}
	if text := oneLine(trail.Find(".entries")); show.IsoTime.MatchString(text) {
		t.Errorf("the trail shows a time as machines write it: %.300s", text)
	}
	for path, want := range map[string]int{
		"/audit?who=a": 2, "/audit?who=nobody": 0, "/audit?action=plan_clear": 1, "/audit?outcome=succeeded": 1, "/audit?outcome=planned&who=a": 1,
		"/audit?from=2020-01-01": 2, "/audit?to=2020-01-01": 0, "/audit?view=entries": 27, "/audit?store=payments": 0,
	} {
		if got := s.page("operator", path).Find(".entries tbody tr").Length(); got != want {
			t.Errorf("%s has %d rows, want %d", path, got, want)
		}
	}
	var body struct {
		Operations []struct {
			Outcome, Result string
			Ended           *time.Time
		}
	}
	s.decode(s.as("operator", "GET", "/api/v1/audit?view=operations&outcome=succeeded", ""), 200, &body)
	if len(body.Operations) != 1 || body.Operations[0].Result != "12 cleared" || body.Operations[0].Outcome != "succeeded" || body.Operations[0].Ended == nil {
		t.Errorf("the API gives %+v", body)
	}
}

// busy is a service whose markers are all under way.
type busy struct{ markerpage.Service }

func (b busy) Look(ctx context.Context, who admin.Caller, store, key string) (marker.Judged, error) {
	j, err := b.Service.Look(ctx, who, store, key)
	j.UnderWay = "OP1"
	return j, err
}

func TestAMarkerThatIsBeingChangedLeadsToItsOperationAndHasNoControls(t *testing.T) {
	s := stocked(t, nil)
	key, _ := url.QueryUnescape(s.firstOf(dedup.Orphan))
	s.keeper.Service = busy{s.keeper.Service}
	doc := s.page("admin", web.MarkerAddress("", "orders", key))
	if doc.Find("form.act-bar").Length() != 0 || doc.Find("a[href='/operations/OP1']").Length() != 1 {
		t.Errorf("%s", oneLine(doc.Find("main")))
	}
}
