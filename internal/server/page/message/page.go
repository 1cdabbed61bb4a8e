package message

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"dedup-dashboard/internal/admin/deadletter"

	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
	"dedup-dashboard/internal/server/letter"
	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// letter answers the page of one dead letter, its body masked.
func (s pages) letter(r *web.Request) (web.Response, error) {
	query := r.URL.Query()
	key, err := letter.KeyOf(query)
	if err != nil {
		return nil, err
	}
	view, err := payloadView(query.Get("view"))
	if err != nil {
		return nil, err
	}
	found, err := s.whereSeen(r, key)
	if err != nil {
		return nil, err
	}
	if found != key {
		values := found.Values()
		if query.Has("view") {
			values.Set("view", view)
		}
		return web.Redirect{To: s.site.Base + "/dead-letters/message?" + values.Encode()}, nil
	}
	l, err := s.letters.Letter(r.Context(), r.Asker(), key.Scan, key.Ref)
	if err != nil {
		return nil, scanGone(err)
	}
	return s.letterPage(r, key, l, view, false)
}

// reveal answers the page of one dead letter with its body as it is. It is a POST, which no link can send, and leaves an entry in
// the audit; the address of the page never shows a body.
func (s pages) reveal(r *web.Request) (web.Response, error) {
	key, err := letter.KeyOf(r.PostForm)
	if err != nil {
		return nil, err
	}
	view, err := payloadView(r.PostForm.Get("view"))
	if err != nil {
		return nil, err
	}
	if key, err = s.whereSeen(r, key); err != nil {
		return nil, err
	}
	l, err := s.letters.Reveal(r.Context(), r.Asker(), key.Scan, key.Ref)
	if err != nil {
		return nil, scanGone(err)
	}
	return s.letterPage(r, key, l, view, true)
}

func payloadView(view string) (string, error) {
	switch view = cmp.Or(view, "auto"); view {
	case "auto", "text", "json", "hex":
		return view, nil
	}
	return "", list.Bad("view", "must be text, json or hex")
}

func (s pages) letterPage(r *web.Request, key letter.Key, l deadletter.Letter, view string, revealed bool) (web.Response, error) {
	scan, err := s.letters.Kept(r.Context(), r.Asker(), key.Scan)
	if err != nil {
		return nil, scanGone(err)
	}
	now, base := r.Now(), s.site.Base
	id := show.LongKey(l.ID)
	if l.ID == "" {
		id = show.Name("Message without an id")
	}
	v := templates.LetterView{
		Frame: s.site.Frame(r, "Dead letter "+show.ShortName(l.ID)), ID: id,
		Word: letter.ClassWord(l.Prediction.Class), Tier: letter.ClassTier(l.Prediction.Class), Meaning: letter.ClassMeaning(l.Prediction.Class),
		Reasons: predictionReasons(l, now), Deaths: deathLines(l, now), Props: propertyFacts(l, now),
		Crumbs:  append(letter.Crumbs(base, key.Pipeline, key.Queue), show.Crumb(cmp.Or(l.ID, "message"), "")),
		Scanned: "as " + show.ShortName(scan.By) + " saw it, " + show.Moment(scan.At, now).Text, Payload: s.payloadOf(l, r.Who, key, base, view, revealed),
		Act: s.letterAct(r, key, l), Notes: sinceLooked(scan, now, letter.QueueAddress(base, key.Pipeline, key.Queue)),
	}
	v.Headers, v.HeaderNote = headerLines(l)
	if l.Malformed != "" {
		v.Notes = append(v.Notes, show.Problem(dedup.Warning, "The death history cannot be read whole: "+show.EndSentence(l.Malformed), ""))
	}
	if deadletter.IsErrorEnvelope(l.Message) {
		v.Notes = append(v.Notes, show.Problem(dedup.Warning, envelopeNote, ""))
	}
	if l.ID != "" {
		v.Lookup = base + "/lookup?" + url.Values{"id": {l.ID}}.Encode()
	}
	v.Identity = s.identityFacts(l, key.Pipeline)
	v.Marker.Word, v.Marker.Href = letter.MarkerWord(l, scan, base)
	if l.Marker != nil {
		m := s.site.Masker.Masked(l.Marker.Marker, r.Who)
		v.Marker.State, v.Marker.Word = v.Marker.Word, "marker "+v.Marker.Word
		v.Marker.Life, v.Marker.Drawn = web.LifeOf(m, web.ClockOffset(*l.Marker), now), true
	} else {
		v.Marker.Word = "marker: " + v.Marker.Word
	}
	return web.Page{Component: templates.Letter(v)}, nil
}

const envelopeNote = "This is an error envelope of EasyNetQ: the message that failed stands inside its body. A requeue sends the envelope, which consumers do not understand. " +
	"Republish the message inside with EasyNetQ's own tool (Hosepipe), or have its producer send it again."

func predictionReasons(l deadletter.Letter, now time.Time) []templates.Text {
	var list []templates.Text
	for _, reason := range l.Prediction.Reasons {
		list = append(list, templates.Sentence(show.Capital(show.ReadableTimes(reason, now))))
	}
	if !l.Prediction.Until.IsZero() {
		list = append(list, templates.Sentence("Its marker ends at "+show.Moment(l.Prediction.Until, now).Full+"."))
	}
	return list
}

func (s pages) identityFacts(l deadletter.Letter, pipeline string) []templates.Fact {
	var facts show.Facts
	add := facts.Add
	if l.ID == "" {
		add("Id", "none: "+templates.Sentence(cmp.Or(l.NoID, "it has none")).Short)
	} else {
		add("Id", templates.Plain(l.ID, wholeLimit).Short)
	}
	if p, ok := s.snapshots.Snapshot().Pipeline(pipeline); ok {
		add("Taken from", show.ShortName(p.Pipeline.IDFrom))
	}
	if l.Marker != nil {
		add("Business key", templates.Plain(l.Marker.BusinessKey, wholeLimit).Short)
	}
	add("Goes back to", templates.Plain(l.Target, wholeLimit).Short)
	add("Because", templates.Sentence(l.TargetNote).Short)
	if l.Target == "" {
		add("Goes back to", "nowhere: "+templates.Sentence(cmp.Or(l.NoTarget, "its death history does not say")).Short)
	}
	if l.Requeues > 0 {
		add("Requeued before", show.HowOften(l.Requeues))
	}
	add("Not believed", templates.Sentence(l.Foreign).Short)
	add("Exception", templates.Plain(l.Exception, wholeLimit).Short)
	add("It said", templates.Plain(l.Failure, wholeLimit).Short)
	return facts
}

func deathLines(l deadletter.Letter, now time.Time) []templates.DeathLine {
	var lines []templates.DeathLine
	for i, d := range l.Deaths {
		if i == letter.MaxHeaders {
			break
		}
		line := templates.DeathLine{Reason: letter.DeathWord(show.ShortName(d.Reason)), Queue: show.Key(d.Queue), At: show.Moment(d.Time, now)}
		if d.Count > 1 {
			line.Count = templates.Number(d.Count) + " times"
		}
		route := "came by the default exchange"
		if d.Exchange != "" {
			route = "came by exchange " + d.Exchange
		}
		if len(d.RoutingKeys) > 0 {
			route += ", key " + strings.Join(d.RoutingKeys[:min(len(d.RoutingKeys), 8)], ", ")
		}
		line.Route = show.Part(route)
		if d.OriginalExpiration != "" {
			line.Note = " · had a time to live of " + show.ShortName(d.OriginalExpiration) + " ms"
		}
		lines = append(lines, line)
	}
	return lines
}

func propertyFacts(l deadletter.Letter, now time.Time) []templates.Fact {
	var facts show.Facts
	add := func(label, value string) { facts.Add(label, templates.Plain(value, wholeLimit).Short) }
	add("Content type", l.ContentType)
	add("Encoding", l.ContentEncoding)
	switch l.DeliveryMode {
	case 2:
		add("Delivery mode", "persistent")
	default:
		add("Delivery mode", "transient")
	}
	if l.Priority > 0 {
		add("Priority", fmt.Sprint(l.Priority))
	}
	add("Message id", l.MessageID)
	add("Correlation id", l.CorrelationID)
	add("Reply to", l.ReplyTo)
	add("Expiration", l.Expiration)
	add("Type", l.Type)
	add("User id", l.UserID)
	add("App id", l.AppID)
	switch {
	case l.Timestamp.IsZero():
	case message.Dated(l.Timestamp):
		add("Timestamp", show.Moment(l.Timestamp, now).Full)
	default:
		add("Timestamp", letter.WireTime(l.Timestamp))
	}
	add("Exchange here", cmp.Or(l.Exchange, "the default exchange"))
	add("Routing key here", l.RoutingKey)
	if l.Redelivered {
		add("Redelivered", "yes")
	}
	return facts
}

func (s pages) letterAct(r *web.Request, key letter.Key, l deadletter.Letter) templates.LetterAct {
	act := templates.LetterAct{
		Action: web.KeepZone(r, s.site.Base+"/dead-letters/plan"), Missing: templates.Sentence(letter.WhyNot(r, s.site, s.letters, key.Pipeline)), Parking: parked(l),
		Fields: []templates.Fact{{Label: "pipeline", Value: key.Pipeline}, {Label: "queue", Value: key.Queue}, {Label: "scan", Value: key.Scan}, {Label: "sel", Value: key.Ref}},
	}
	if p, ok := s.snapshots.Snapshot().Pipeline(key.Pipeline); ok && l.Target == "" && !act.Parking {
		act.Targets = letter.Targets(p)
	}
	act.NoDiscard, act.NoRestore = letter.NeedsAdmin(r.Who, "Discarding"), letter.NeedsAdmin(r.Who, "Restoring")
	switch {
	case !r.Who.Can(auth.Admin):
		act.NoEdit = "Editing a message needs the role " + auth.Admin.String() + "."
	case l.Size > maxEdit:
		act.NoEdit = "It cannot be edited: its body is larger than " + templates.Bytes(maxEdit) + "."
	case !l.Masked && l.Hidden == "" && !comesBack(l.Body):
		act.NoEdit = "It cannot be edited: its body is not text, or has lines with different endings."
	default:
		act.Edit = s.site.Base + "/dead-letters/edit?" + key.Values().Encode()
	}
	return act
}

// parked reports whether a letter waits in a parking queue.
func parked(l deadletter.Letter) bool {
	_, ok := dedup.ParkedFrom(l.Queue)
	return ok
}

// download answers with the bytes of a body as an attachment that no browser renders. It leaves an entry in the audit.
func (s pages) download(r *web.Request) (web.Response, error) {
	key, err := letter.KeyOf(r.URL.Query())
	if err != nil {
		return nil, err
	}
	if r.Method == http.MethodHead { // asks for no body, and leaves no entry
		return web.Attachment{Name: "body", Type: "application/octet-stream"}, nil
	}
	if key, err = s.whereSeen(r, key); err != nil {
		return nil, err
	}
	l, err := s.letters.Reveal(r.Context(), r.Asker(), key.Scan, key.Ref)
	if err != nil {
		return nil, scanGone(err)
	}
	if l.LeftOut != nil {
		return nil, web.Conflict("The body cannot be downloaded: " + l.Hidden)
	}
	return web.Attachment{Name: "message-" + key.Ref[:min(12, len(key.Ref))] + ".bin", Type: "application/octet-stream", Body: l.Body}, nil
}
