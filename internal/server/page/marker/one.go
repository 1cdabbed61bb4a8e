package marker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
	"time"

	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// dumpBytes is how much of a value a page shows as bytes, at most.
const dumpBytes = 1024

// oneMarker answers the page of one marker, read live.
func (s *pages) oneMarker(r *web.Request) (web.Response, error) {
	store, key := r.URL.Query().Get("store"), r.URL.Query().Get("key")
	snap := s.deps.Snapshots.Snapshot()
	st, ok := snap.Store(store)
	switch {
	case store == "" || key == "":
		return nil, web.Invalid("Name a marker as ?store=NAME&key=KEY")
	case !ok:
		return nil, web.NotFound("There is no store named " + show.ShortName(store))
	}
	service, err := s.service()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), browseTimeout)
	defer cancel()
	got, err := service.Look(ctx, r.Asker(), store, key)
	gone := dedup.KindOf(err) == dedup.NotFound
	if dedup.KindOf(err) == dedup.Unavailable {
		return s.silentStore(r, store, err, templates.Resend{}), nil
	}
	if err != nil && !gone {
		return nil, err
	}
	now := r.Now()
	got.Store, got.Key = store, key
	got.Marker = s.site.Masker.Masked(got.Marker, r.Who)
	frame := s.site.Frame(r, "Marker "+show.ShortName(web.ShownID(got.Marker)))
	v := templates.MarkerView{
		Frame: frame, ID: show.LongKey(web.ShownID(got.Marker)), Gone: gone, ReadAt: show.Moment(now, now),
		Crumbs: append(pipelineCrumbs(frame.Base, snap, store), show.Crumb(web.ShownID(got.Marker), "")),
		Self:   web.MarkerAddress(frame.Base, store, key), History: s.site.HistoryLines(r, got.History, now),
		Lookup: frame.Base + "/lookup?" + url.Values{"id": {web.ShownID(got.Marker)}}.Encode(),
	}
	if gone {
		text := "There is no marker with this key: it expired or was cleared, or the key is misspelt."
		v.GoneWord = "none"
		if len(got.History) > 0 {
			v.GoneWord, text = "gone", "There is no marker with this key any more: what was done to it from here stands below."
		}
		v.Notes = append(v.Notes, show.Problem(dedup.TierUnknown, text, ""))
		v.Facts = []templates.Fact{{Label: "Key", Value: show.LongKey(key).Short}, {Label: "Store", Value: store}}
		return web.Page{Component: templates.OneMarker(v)}, nil
	}
	s.describeMarker(&v, r, st, got, now)
	return web.Page{Component: templates.OneMarker(v)}, nil
}

// describeMarker fills the page of a marker that is there.
func (s *pages) describeMarker(v *templates.MarkerView, r *web.Request, st *dedup.StoreStatus, got marker.Judged, now time.Time) {
	offset := web.ClockOffset(got.Sighting)
	v.State, v.Verdict, v.Reasons = string(got.State), string(got.Verdict), show.Texts(got.Reasons, now)
	v.Life = web.LifeOf(got.Marker, offset, now)
	v.ReadAt = show.Moment(got.At, now)
	v.Facts = markerFacts(got, st, offset, now)
	v.Detail = show.Part(web.DetailText(got.Marker))
	v.Value = valueView(s.site.Masker, got.Sighting, r.Who)
	if got.Retry != nil {
		v.Retry = []templates.Fact{
			{Label: "Key", Value: show.Key(got.Retry.Key).Short}, {Label: "Failures", Value: show.ShortName(got.Retry.Value)},
			{Label: "Expires", Value: expiryText(got.Retry.ExpiresMillis, offset, now)},
		}
	}
	v.Act = templates.MarkerAct{
		Missing: templates.Sentence(s.whyNoControls(r, got.Store)), Action: v.Frame.Base + "/markers/plan", Store: got.Store, Sel: web.EncodeKey(got.Key),
		TTLs: ttlChoices(st, got.State), Clear: got.State != dedup.StateUnknown, Retry: got.Retry != nil, Expiry: got.State != dedup.StateUnknown && got.ExpiresMillis == dedup.NoExpiry,
	}
	if got.UnderWay != "" {
		v.Act.UnderWay = web.OperationAddress(v.Frame.Base, got.UnderWay)
	}
	switch got.State {
	case dedup.StateUnknown:
		v.Act.Why = "A marker that cannot be decoded is never changed."
	case dedup.Done:
		v.Act.Why = "The work of this message was done: without its marker a copy of it would be processed a second time."
	}
}

func markerFacts(got marker.Judged, st *dedup.StoreStatus, offset time.Duration, now time.Time) []templates.Fact {
	var facts show.Facts
	add := func(label, value string) { facts.Add(label, templates.Sentence(value).Short) }
	add("Key", got.Key)
	add("Business key", got.BusinessKey)
	if got.Status != string(got.State) {
		add("Status", got.Status)
	}
	add("Owner", got.Owner)
	if got.Attempts != nil {
		add("Failures so far", templates.Number(*got.Attempts))
	}
	if got.Since.IsZero() {
		add("Since", "not known: the store keeps no time of it")
	} else {
		add("Since", show.Moment(got.Since.Add(-offset), now).Full)
	}
	add("Expires", expiryText(got.ExpiresMillis, offset, now))
	add("Store", st.Name+", "+show.SchemeText(st.Scheme))
	add("Pipelines", strings.Join(st.Pipelines, ", "))
	return facts
}

// expiryText is an exact expiry by the store's clock, in ours.
func expiryText(millis int64, offset time.Duration, now time.Time) string {
	if millis == dedup.NoExpiry {
		return "never"
	}
	if millis == 0 {
		return ""
	}
	at := time.UnixMilli(millis).Add(-offset)
	return show.Moment(at, now).Full + ", " + show.Ago(at, now)
}

// valueView is the value of a marker as the role allows: its type, size and hash for viewers, its shape for operators, all
// of it for admins.
func valueView(m web.Masker, g dedup.Sighting, who auth.Principal) templates.ValueView {
	sum := sha256.Sum256(g.Value)
	v := templates.ValueView{Type: show.ShortName(g.Type), Size: templates.Number(len(g.Value)) + " bytes", Hash: m.Hash(who, hex.EncodeToString(sum[:])), HashName: web.HashName(who)}
	switch {
	case !who.Can(auth.Operator):
		v.Masked = "The value is shown to operators with its letters and digits masked, and to admins as it is."
		return v
	case !who.Can(auth.Admin):
		v.Masked = "Letters and digits are masked; admins see the value as it is."
		v.Text = templates.Plain(web.MaskValue(g.Value, string(g.State), g.Status), web.ValueChars)
		return v
	}
	v.Text = templates.Plain(string(g.Value[:min(len(g.Value), 4*web.ValueChars)]), web.ValueChars)
	v.Dump = web.Dump(g.Value[:min(len(g.Value), dumpBytes)])
	if len(g.Value) > dumpBytes {
		v.Cut = fmt.Sprintf("The first %s of %s bytes are shown.", templates.Number(dumpBytes), templates.Number(len(g.Value)))
	}
	return v
}
