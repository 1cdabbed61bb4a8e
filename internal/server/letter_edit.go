package server

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
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
func (s *Server) editForm(r *request) (response, error) {
	key, err := letterKeyOf(r.URL.Query())
	if err != nil {
		return nil, err
	}
	key, l, err := s.editable(r, key)
	if err != nil {
		return nil, err
	}
	return page{component: templates.Edit(s.editView(r, key, l))}, nil
}

// editable returns the letter if it can be edited, and where it was found.
func (s *Server) editable(r *request, key letterKey) (letterKey, admin.Letter, error) {
	var l admin.Letter
	service, err := s.letters()
	if err != nil {
		return key, l, err
	}
	if why := s.whyNoMoves(r, key.pipeline); why != "" {
		return key, l, conflict(why)
	}
	if key, err = s.whereSeen(r, service, key); err != nil {
		return key, l, err
	}
	if l, err = service.Reveal(r.Context(), r.asker(), key.scan, key.ref); err != nil {
		return key, l, scanGone(err)
	}
	if len(l.Body) > maxEdit || !comesBack(l.Body) {
		return key, l, invalid("This message cannot be edited: its body is not text, has lines with different endings, or is larger than " + templates.Bytes(maxEdit))
	}
	return key, l, nil
}

func (s *Server) editView(r *request, key letterKey, l admin.Letter) templates.EditView {
	base := s.cfg.base()
	v := templates.EditView{
		Frame: s.frame(r, "Edit a message"), ID: templates.Plain(l.ID, keyLimit), Action: base + "/dead-letters/edit", Fields: key.fields(), Back: key.address(base),
		Body: string(l.Body), Rows: min(max(6, strings.Count(string(l.Body), "\n")+len(l.Body)/120+2), 24), Type: l.ContentType, Message: l.MessageID, IDRule: s.idRule(key.pipeline),
		Crumbs: append(deadCrumbs(base, key.pipeline, key.queue), templates.Crumb{Label: templates.Plain(l.ID, nameLimit), Href: key.address(base)}, templates.Crumb{Label: templates.Plain("Edit", nameLimit)}),
		Notes: []templates.Problem{{
			Tier: dedup.TierUnknown.String(), Text: templates.Sentence("The edited message is sent to its queue, and the original leaves the dead-letter queue when the broker has confirmed it."),
		}},
	}
	if l.ID == "" {
		v.ID = templates.Plain("a message without an id", nameLimit)
	}
	for i, name := range sortedHeaders(l.Headers) {
		typ, value := headerText(l.Headers[name])
		if i >= maxHeaders {
			break
		}
		if admin.LockedHeader(name) {
			if name != dedup.HeaderDeaths {
				v.Locked = append(v.Locked, templates.HeaderLine{Name: templates.Plain(name, keyLimit), Type: typ, Value: templates.Plain(value, partLimit), Rule: headerRule(name)})
			}
			continue
		}
		h := templates.EditHeader{Number: len(v.Headers), Name: templates.Plain(name, keyLimit), Key: encodeKey(name), Value: value, Type: typ, Sensitive: sensitiveHeader(name, s.idFrom(key.pipeline))}
		if !editableType(l.Headers[name]) || !comesBack([]byte(value)) || strings.ContainsAny(value, "\r\n") || len(value) > 4096 {
			h.Fixed = templates.Plain(value, keyLimit).Short + " (a " + typ + " stays as it is, or is removed)"
		}
		v.Headers = append(v.Headers, h)
	}
	for i := range spareHeaders {
		v.Spare = append(v.Spare, i)
	}
	return v
}

func (s *Server) idFrom(pipeline string) string {
	if p, ok := s.snapshots.Snapshot().Pipeline(pipeline); ok {
		return p.Pipeline.IDFrom
	}
	return ""
}

// idRule says where the pipeline takes the id from, and so which change of the message changes it.
func (s *Server) idRule(pipeline string) string {
	from := s.idFrom(pipeline)
	switch {
	case from == "message_id" || from == "":
		return "This pipeline takes the id from here: another id is another message to its consumers, and no marker of the old one applies to it."
	case strings.HasPrefix(from, "header:"):
		return "This pipeline takes the id from the header " + templates.Plain(strings.TrimPrefix(from, "header:"), nameLimit).Short + ": the message id can be changed without consequence for it."
	case strings.HasPrefix(from, "json:"):
		return "This pipeline takes the id from " + templates.Plain(strings.TrimPrefix(from, "json:"), nameLimit).Short + " in the body: a change there makes it another message."
	default:
		return "This pipeline takes the id from the whole body: any change of the body makes it another message, whose marker does not exist yet."
	}
}

// sensitiveHeader reports whether consumers or brokers act on a header, so that a change of it changes more than content.
func sensitiveHeader(name, idFrom string) bool {
	if strings.EqualFold("header:"+name, idFrom) {
		return true
	}
	low := strings.ToLower(name)
	for _, word := range []string{"retry", "retries", "attempt", "delay", "trace", "auth", "token", "tenant", "schedule", "idempotency", "__typeid__"} {
		if strings.Contains(low, word) {
			return true
		}
	}
	return false
}

// edit plans the requeue of one edited message and leads to its review.
func (s *Server) edit(r *request) (response, error) {
	if err := r.ParseForm(); err != nil {
		return nil, formError(err)
	}
	key, err := letterKeyOf(r.PostForm)
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
	service, err := s.letters()
	if err != nil {
		return nil, err
	}
	plan, err := service.PlanMove(r.Context(), r.asker(), admin.MoveRequest{
		Do: admin.Requeue, Pipeline: key.pipeline, Queue: key.queue, Scan: key.scan, Refs: []string{key.ref}, Edit: &edit,
	})
	if err == nil {
		return redirect{moveAddress(s.cfg.base(), plan.ID)}, nil
	}
	if dedup.KindOf(err) != dedup.Invalid {
		return nil, err
	}
	v := s.editView(r, key, l)
	v.Body, v.Type, v.Message, v.Error = strings.ToValidUTF8(r.PostForm.Get("body"), "\ufffd"), r.PostForm.Get("content_type"), r.PostForm.Get("message_id"), endSentence(dedup.PublicText(err))
	for i, h := range v.Headers {
		name, _ := decodeKey(h.Key)
		if value, ok := edit.Headers[name]; ok {
			v.Headers[i].Value = value
		}
	}
	return page{http.StatusUnprocessableEntity, templates.Edit(v)}, nil
}

// editOf reads what a form changes of a message: only what differs is set.
func editOf(form url.Values, l admin.Letter) (admin.Edit, error) {
	body := strings.ReplaceAll(form.Get("body"), "\r\n", "\n") // forms send lines with both
	if strings.Contains(string(l.Body), "\r\n") {
		body = strings.ReplaceAll(body, "\n", "\r\n")
	}
	e := admin.Edit{Headers: map[string]string{}}
	if body != string(l.Body) {
		e.Body = []byte(body)
	}
	e.ContentType, e.NoContentType = property(form, "content_type", l.ContentType)
	e.MessageID, e.NoMessageID = property(form, "message_id", l.MessageID)
	for i := 0; i < maxHeaders; i++ {
		n := strconv.Itoa(i)
		if !form.Has("was-" + n) {
			break
		}
		name, err := decodeKey(form.Get("was-" + n))
		if err != nil {
			return e, err
		}
		switch {
		case form.Get("remove-"+n) == "1":
			e.Remove = append(e.Remove, name)
		case form.Has("value-" + n):
			if _, was := headerText(l.Headers[name]); was != form.Get("value-"+n) {
				e.Headers[name] = form.Get("value-" + n)
			}
		}
	}
	for i := range spareHeaders {
		n := strconv.Itoa(i)
		if name := strings.TrimSpace(form.Get("new-" + n)); name != "" {
			if admin.LockedHeader(name) {
				return e, badParameter("new-"+n, "is a header that the broker or this dashboard writes")
			}
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

// diffOf says what an edit changes of a message.
func diffOf(e admin.Edit, l admin.Letter, p admin.MovePlan) *templates.EditDiff {
	d := &templates.EditDiff{ID: idNote(l.ID, p)}
	add := func(label, was, is string, cleared bool) {
		if cleared {
			d.Headers = append(d.Headers, templates.Fact{Label: label, Value: orNothing(was) + " → removed"})
		} else if is != "" && was != is {
			d.Headers = append(d.Headers, templates.Fact{Label: templates.Plain(label, nameLimit).Short, Value: orNothing(was) + " → " + orNothing(is)})
		}
	}
	add("Content type", l.ContentType, e.ContentType, e.NoContentType)
	add("Message id", l.MessageID, e.MessageID, e.NoMessageID)
	for _, name := range e.Remove {
		_, was := headerText(l.Headers[name])
		d.Headers = append(d.Headers, templates.Fact{Label: templates.Plain(name, nameLimit).Short, Value: orNothing(was) + " → removed"})
	}
	for _, name := range sortedKeys(e.Headers) {
		_, was := headerText(l.Headers[name])
		d.Headers = append(d.Headers, templates.Fact{Label: templates.Plain(name, nameLimit).Short, Value: orNothing(was) + " → " + orNothing(e.Headers[name])})
	}
	if e.Body != nil {
		d.Body, d.Cut = diffLines(string(l.Body), string(e.Body))
	}
	return d
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return "“" + templates.Plain(s, keyLimit).Short + "”"
}

func sortedKeys(m map[string]string) []string {
	all := make(map[string]any, len(m))
	for k := range m {
		all[k] = nil
	}
	return sortedHeaders(all)
}

func idNote(old string, p admin.MovePlan) templates.Problem {
	id, says := "", p.IDChange
	if len(p.Letters) == 1 {
		id = p.Letters[0].ID
	}
	if says == "" {
		says = "its id is " + orNothing(id) + " now, and was " + orNothing(old)
	}
	n := templates.Problem{Tier: dedup.TierUnknown.String(), Text: templates.Sentence(endSentence(capital(says)))}
	switch {
	case id == "":
		n.Tier = dedup.Severe.String()
	case id != old:
		n.Tier, n.Mend = dedup.Warning.String(), templates.Sentence("To its consumers it is another message: if the work of the old id was done, it is done a second time.")
	}
	return n
}

const (
	// diffMost bounds the lines that are compared, diffShown those that are shown.
	diffMost  = 1500
	diffShown = 300
)

// diffLines compares two texts line by line by their longest common subsequence.
func diffLines(was, is string) ([]templates.DiffLine, string) {
	a, b := strings.Split(was, "\n"), strings.Split(is, "\n")
	cut := ""
	if len(a) > diffMost || len(b) > diffMost {
		a, b, cut = a[:min(len(a), diffMost)], b[:min(len(b), diffMost)], "Only the first "+strconv.Itoa(diffMost)+" lines were compared. "
	}
	longest := make([][]int, len(a)+1)
	for i := range longest {
		longest[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				longest[i][j] = longest[i+1][j+1] + 1
			} else {
				longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			}
		}
	}
	var out []templates.DiffLine
	line := func(sign, text string) {
		out = append(out, templates.DiffLine{Sign: sign, Text: templates.Plain(strings.ReplaceAll(text, "\t", "    "), partLimit)})
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			line(" ", a[i])
			i, j = i+1, j+1
		case j >= len(b) || i < len(a) && longest[i+1][j] >= longest[i][j+1]:
			line("-", a[i])
			i++
		default:
			line("+", b[j])
			j++
		}
	}
	out = nearChanges(out)
	if len(out) > diffShown {
		out, cut = out[:diffShown], cut+"The first "+strconv.Itoa(diffShown)+" lines are shown."
	}
	return out, cut
}

// nearChanges keeps three lines around each change.
func nearChanges(all []templates.DiffLine) []templates.DiffLine {
	const around = 3
	keep := make([]bool, len(all))
	for i, l := range all {
		if l.Sign != " " {
			for k := max(0, i-around); k <= min(len(all)-1, i+around); k++ {
				keep[k] = true
			}
		}
	}
	var out []templates.DiffLine
	skipped := false
	for i, l := range all {
		if keep[i] {
			if skipped {
				out = append(out, templates.DiffLine{Sign: "…"})
			}
			out, skipped = append(out, l), false
		} else {
			skipped = true
		}
	}
	return out
}
