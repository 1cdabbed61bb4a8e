package message

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/move"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
	"dedup-dashboard/internal/server/letter"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

const (
	// maxEdit is the largest body that a form takes.
	maxEdit = 256 << 10
	// spareHeaders is how many new headers the form takes at once.
	spareHeaders = 2
)

// editForm answers the form that edits one message before it is requeued. The form holds the body as it is: asking for it reveals the
// message, for admins alone, and every time the audit says so.
func (s pages) editForm(r *web.Request) (web.Response, error) {
	key, err := letter.KeyOf(r.URL.Query())
	if err != nil {
		return nil, err
	}
	key, l, err := s.editable(r, key)
	if err != nil {
		return nil, err
	}
	return web.Page{Component: templates.Edit(s.editView(r, key, l))}, nil
}

// editable returns the letter if it can be edited, and where it was found.
func (s pages) editable(r *web.Request, key letter.Key) (letter.Key, deadletter.Letter, error) {
	var l deadletter.Letter
	if why := letter.WhyNot(r, s.site, s.letters, key.Pipeline); why != "" {
		return key, l, web.Conflict(why)
	}
	key, err := s.whereSeen(r, key)
	if err != nil {
		return key, l, err
	}
	if l, err = s.letters.Reveal(r.Context(), r.Asker(), key.Scan, key.Ref); err != nil {
		return key, l, scanGone(err)
	}
	if l.LeftOut != nil || len(l.Body) > maxEdit || !comesBack(l.Body) {
		return key, l, web.Invalid("This message cannot be edited: its body is not text, has lines with different endings, or is larger than " + templates.Bytes(maxEdit))
	}
	return key, l, nil
}

func (s pages) editView(r *web.Request, key letter.Key, l deadletter.Letter) templates.EditView {
	base := s.site.Base
	v := templates.EditView{
		Frame: s.site.Frame(r, "Edit a message"), ID: show.Key(l.ID), Action: base + "/dead-letters/edit", Fields: key.Fields(), Back: key.Address(base),
		Body: string(l.Body), Rows: min(max(6, strings.Count(string(l.Body), "\n")+len(l.Body)/120+2), 24), Type: l.ContentType, Message: l.MessageID, IDRule: s.idRule(key.Pipeline),
		Crumbs: append(letter.Crumbs(base, key.Pipeline, key.Queue), show.Crumb(l.ID, key.Address(base)), show.Crumb("Edit", "")),
		Notes: []templates.Problem{
			show.Problem(dedup.TierUnknown, "The edited message is sent to its queue, and the original leaves the dead-letter queue when the broker has confirmed it.", ""),
		},
	}
	if l.ID == "" {
		v.ID = show.Name("a message without an id")
	}
	for i, name := range slices.Sorted(maps.Keys(l.Headers)) {
		typ, value := letter.HeaderText(l.Headers[name])
		if i >= letter.MaxHeaders {
			break
		}
		if move.LockedHeader(name) {
			if name != message.HeaderDeaths {
				v.Locked = append(v.Locked, templates.HeaderLine{Name: show.Key(name), Type: typ, Value: show.Part(value), Rule: headerRule(name)})
			}
			continue
		}
		h := templates.EditHeader{Number: len(v.Headers), Name: show.Key(name), Key: web.EncodeKey(name), Value: value, Type: typ, Sensitive: sensitiveHeader(name, s.idFrom(key.Pipeline))}
		if !editableType(l.Headers[name]) || !comesBack([]byte(value)) || strings.ContainsAny(value, "\r\n") || len(value) > 4096 {
			h.Fixed = show.Key(value).Short + " (a " + typ + " stays as it is, or is removed)"
		}
		v.Headers = append(v.Headers, h)
	}
	for i := range spareHeaders {
		v.Spare = append(v.Spare, templates.SpareHeader{Number: i})
	}
	return v
}

func (s pages) idFrom(pipeline string) string {
	if p, ok := s.snapshots.Snapshot().Pipeline(pipeline); ok {
		return p.Pipeline.IDFrom
	}
	return ""
}

// idRule says where the pipeline takes the id from, and so which change of the message changes it.
func (s pages) idRule(pipeline string) string {
	from := s.idFrom(pipeline)
	switch {
	case from == "message_id" || from == "":
		return "This pipeline takes the id from here: another id is another message to its consumers, and no marker of the old one applies to it."
	case strings.HasPrefix(from, "header:"):
		return "This pipeline takes the id from the header " + show.ShortName(strings.TrimPrefix(from, "header:")) + ": the message id can be changed without consequence for it."
	case strings.HasPrefix(from, "json:"):
		return "This pipeline takes the id from " + show.ShortName(strings.TrimPrefix(from, "json:")) + " in the body: a change there makes it another message."
	default:
		return "This pipeline takes the id from the whole body: any change of the body makes it another message, whose marker does not exist yet."
	}
}

// sensitiveHeader reports whether consumers or brokers act on a header, so that a change of it changes more than content.
func sensitiveHeader(name, idFrom string) bool {
	if strings.EqualFold("header:"+name, idFrom) {
		return true
	}
	low := strings.ReplaceAll(strings.ToLower(name), "stacktrace", "") // which is no trace to follow
	for _, word := range []string{"retry", "retries", "attempt", "delay", "trace", "auth", "token", "tenant", "schedule", "idempotency", "__typeid__"} {
		if strings.Contains(low, word) {
			return true
		}
	}
	return false
}

// edit plans the requeue of one edited message and leads to its review.
func (s pages) edit(r *web.Request) (web.Response, error) {
	key, err := letter.KeyOf(r.PostForm)
	if err != nil {
		return nil, err
	}
	key, l, err := s.editable(r, key)
	if err != nil {
		return nil, err
	}
	edit, err := editOf(r.PostForm, l)
	if err != nil {
		return nil, err
	}
	wrong := mistakeIn(r.PostForm, edit, l)
	if wrong.text == "" {
		var to web.Response
		if to, err = s.planner().Plan(r, move.Request{Do: admin.Requeue, Pipeline: key.Pipeline, Queue: key.Queue, Scan: key.Scan, Refs: []string{key.Ref}, Edit: &edit}); err == nil {
			return to, nil
		}
		if dedup.KindOf(err) != dedup.Invalid {
			return nil, err
		}
		wrong.text = show.ErrorText(err)
	}
	v := s.editView(r, key, l)
	refill(&v, r.PostForm, edit)
	if v.Wrong.Field, v.Wrong.Text, v.Wrong.Ask = wrong.field, wrong.text, wrong.ask; wrong.field == "" {
		v.Error = wrong.text
	}
	return web.Page{Status: http.StatusUnprocessableEntity, Component: templates.Edit(v)}, nil
}

// refill puts what was typed into a form.
func refill(v *templates.EditView, form url.Values, edit move.Edit) {
	v.Body, v.Type, v.Message = strings.ToValidUTF8(form.Get("body"), "\ufffd"), form.Get("content_type"), form.Get("message_id")
	for i, h := range v.Headers {
		name, _ := web.DecodeKey(h.Key)
		if value, ok := edit.Headers[name]; ok {
			v.Headers[i].Value = value
		}
		v.Headers[i].Remove = slices.Contains(edit.Remove, name)
	}
	for i := range v.Spare {
		n := strconv.Itoa(i)
		v.Spare[i].Name, v.Spare[i].Value = form.Get("new-"+n), form.Get("new-value-"+n)
	}
}

// An editMistake is what is wrong with an edit, and at which field; the text is empty when nothing is.
type editMistake struct {
	field, text string
	// ask offers to go on all the same.
	ask bool
}

// mistakeIn finds the first mistake in what was typed.
func mistakeIn(form url.Values, e move.Edit, l deadletter.Letter) editMistake {
	if m := headerMistake(form, l); m.text != "" {
		return m
	}
	for _, field := range []string{"content_type", "message_id"} {
		if len(form.Get(field)) > web.MaxRef {
			return editMistake{field: field, text: "It has at most 255 bytes."}
		}
	}
	if !e.Changes(l.Message) {
		return editMistake{text: "Nothing is changed: the message would be sent as it is. Change something, or go back and preview its requeue."}
	}
	if doubt := e.Doubt(l.Message); doubt != "" && form.Get("body_as_it_is") != "1" {
		return editMistake{field: "body", text: show.WholeSentence(doubt), ask: true}
	}
	return editMistake{}
}

// headerMistake finds the first mistake in the names of new headers.
func headerMistake(form url.Values, l deadletter.Letter) editMistake {
	seen := map[string]bool{}
	for i := range spareHeaders {
		field := "new-" + strconv.Itoa(i)
		name := strings.TrimSpace(form.Get(field))
		_, there := l.Headers[name]
		why := ""
		switch {
		case name == "" && form.Get("new-value-"+strconv.Itoa(i)) != "":
			why = "The value needs the name of a header."
		case name == "":
			continue
		case len(name) > web.MaxRef:
			why = "The name of a header has at most 255 bytes."
		case move.LockedHeader(name):
			why = show.Within(name) + " is a header that the broker or this dashboard writes."
		case there:
			why = show.Within(name) + " is there already: change its value above."
		case seen[name]:
			why = show.Within(name) + " stands here twice."
		}
		if why != "" {
			return editMistake{field: field, text: why}
		}
		seen[name] = true
	}
	return editMistake{}
}

// editOf reads what a form changes of a message: only what differs is set.
func editOf(form url.Values, l deadletter.Letter) (move.Edit, error) {
	body := strings.ReplaceAll(form.Get("body"), "\r\n", "\n") // forms send lines with both
	if strings.Contains(string(l.Body), "\r\n") {
		body = strings.ReplaceAll(body, "\n", "\r\n")
	}
	e := move.Edit{Headers: map[string]string{}}
	if body != string(l.Body) {
		e.Body = []byte(body)
	}
	e.ContentType, e.NoContentType = property(form, "content_type", l.ContentType)
	e.MessageID, e.NoMessageID = property(form, "message_id", l.MessageID)
	for i := 0; i < letter.MaxHeaders; i++ {
		n := strconv.Itoa(i)
		if !form.Has("was-" + n) {
			break
		}
		name, err := web.DecodeKey(form.Get("was-" + n))
		if err != nil {
			return e, err
		}
		switch {
		case form.Get("remove-"+n) == "1":
			e.Remove = append(e.Remove, name)
		case form.Has("value-" + n):
			if _, was := letter.HeaderText(l.Headers[name]); was != form.Get("value-"+n) {
				e.Headers[name] = form.Get("value-" + n)
			}
		}
	}
	for i := range spareHeaders {
		n := strconv.Itoa(i)
		if name := strings.TrimSpace(form.Get("new-" + n)); name != "" {
			e.Headers[name] = form.Get("new-value-" + n)
		}
	}
	return e, nil
}

// property reads a field that was shown with a value: what it is now, empty when it stays as it was, and whether it was cleared.
func property(form url.Values, name, was string) (is string, cleared bool) {
	is = strings.TrimSpace(form.Get(name))
	if is == strings.TrimSpace(was) {
		return "", false
	}
	return is, is == "" && form.Has(name)
}

// editableType reports whether a value can be written as text and keeps its type.
func editableType(v any) bool {
	switch v.(type) {
	case string, []byte, bool, int8, uint8, int16, uint16, int32, uint32, int64, float32, float64:
		return true
	}
	return false
}
