package admin

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/mask"
)

const (
	// maxEdited is the largest body that can be edited, maxEdits how many edits are kept at once, in memory alone.
	maxEdited     = 1 << 20
	maxEdits      = 50
	maxHeaderText = 64 << 10
	maxShortText  = 255
)

// An editedMessage is what is sent in the place of one message, and how it came about.
type editedMessage struct {
	ref     string
	message dedup.Message
	letter  EditedLetter
}

// editLost refuses to go on with a plan whose edit is not known any more: the message as it was is not what somebody meant to send.
func editLost() error {
	return conflict("The edited message is not kept any more: it is held in memory alone. Make the edit again")
}

// LockedHeader reports whether a header cannot be edited, because the broker or this dashboard owns it, or it would send
// copies of the message elsewhere.
func LockedHeader(name string) bool { return dedup.OwnHeader(name) || dedup.BrokerHeader(name) }

// edit applies the edit of a plan to its one message, predicts it anew, and says what happens to its id.
func (pl *planning) edit(ctx context.Context) error {
	old := pl.selected[0]
	if old.LeftOut != nil { // what an edit leaves as it is would be sent empty
		return invalid("This message cannot be edited: " + old.Hidden)
	}
	if !pl.plan.Request.Edit.Changes(old.Message) {
		return invalid("The edit changes nothing: the message would be sent as it is")
	}
	masked := masked(pl.planner.mask.words, old)
	m, notes, err := pl.plan.Request.Edit.apply(old.Message, masked)
	if err != nil {
		return err
	}
	l := pl.line
	edited := l.letter(dedup.DeadLetter{Message: m, Queue: old.Queue, Ref: old.Ref, Deaths: old.Deaths, Malformed: old.Malformed})
	one := []Letter{edited}
	failed := pl.planner.predictor.foretell(ctx, l, one, pl.planner.deps.Now().Add(l.wait()))
	pl.selected = one
	pl.plan.Request.Refs = []string{old.Ref}
	pl.plan.IDChange = idChange(l.ids.String(), old, one[0], failed)
	pl.plan.Sends = &Fingerprint{Ref: l.refs.Of(old.Queue, m), BodyHash: keyedHash(pl.planner.deps.RefKey, edited.Hash), Bytes: edited.Size}
	pl.plan.Guards = append(pl.plan.Guards, notes...)
	pl.edited = &editedMessage{ref: old.Ref, message: m, letter: EditedLetter{*pl.plan.Request.Edit, old}}
	return nil
}

// idChange says what an edit does to the id of a message.
func idChange(from string, old, edited Letter, failed string) string {
	text := fmt.Sprintf("the id is taken from %s: ", from)
	switch {
	case old.ID == edited.ID && old.ID == "":
		return text + "the message has none before and after: " + edited.NoID
	case old.ID == edited.ID:
		return text + fmt.Sprintf("it stays %s", printable(old.ID, 200))
	case edited.ID == "":
		return text + fmt.Sprintf("this edit takes it away (it was %s): nothing will keep the work from being done twice", printable(old.ID, 200))
	case old.ID == "":
		text += fmt.Sprintf("this edit gives the message the id %s", printable(edited.ID, 200))
	default:
		text += fmt.Sprintf("this edit changes it from %s to %s", printable(old.ID, 200), printable(edited.ID, 200))
	}
	switch {
	case failed != "":
		return text + "; whether the store has a marker for it could not be asked: " + failed
	case edited.Marker != nil:
		return text + fmt.Sprintf("; the store has a marker for it: %s", describe(edited.Marker))
	}
	return text + "; the store has no marker for it"
}

// apply returns the message with the edit, and what to bear in mind.
func (e Edit) apply(m dedup.Message, masked Letter) (dedup.Message, []Guard, error) {
	if err := e.check(m, masked); err != nil {
		return dedup.Message{}, nil, err
	}
	var notes []Guard
	if doubt := e.Doubt(m); doubt != "" {
		notes = append(notes, warn("%s", doubt))
	}
	if e.Body != nil {
		m.Body = bytes.Clone(e.Body)
		if m.ContentEncoding != "" {
			notes = append(notes, warn("The message says that its body is encoded as %s; the new body is sent as it was typed", printable(m.ContentEncoding, 60)))
		}
	}
	if e.ContentType != "" || e.NoContentType {
		m.ContentType = e.ContentType
	}
	notes = append(notes, e.messageID(&m)...)
	headers := maps.Clone(m.Headers)
	if headers == nil {
		headers = map[string]any{}
	}
	for _, name := range e.Remove {
		delete(headers, name)
	}
	for name, text := range e.Headers {
		headers[name] = retyped(m.Headers[name], text)
	}
	m.Headers = headers
	return m, notes, nil
}

// messageID changes the message_id, and says what that means.
func (e Edit) messageID(m *dedup.Message) []Guard {
	was := m.MessageID
	switch {
	case e.NoMessageID && was != "":
		m.MessageID = ""
		return []Guard{warn("The message_id %s is taken away: consumers and stores that go by it do not know the message again", printable(was, 100))}
	case e.MessageID != "" && e.MessageID != was:
		m.MessageID = e.MessageID
		return []Guard{warn("The message_id changes from %s to %s: consumers and stores that go by it take this for another message", printable(was, 100), printable(e.MessageID, 100))}
	}
	return nil
}

// check refuses an edit that cannot be made.
func (e Edit) check(m dedup.Message, masked Letter) error {
	switch {
	case len(e.Body) > maxEdited:
		return invalid(fmt.Sprintf("A body of at most %d KiB can be edited", maxEdited>>10))
	case e.NoContentType && e.ContentType != "" || e.NoMessageID && e.MessageID != "":
		return invalid("A property is either replaced or taken away")
	case len(e.ContentType) > maxShortText || len(e.MessageID) > maxShortText:
		return invalid("message_id and content_type have at most 255 bytes")
	case (masked.Masked || masked.Hidden != "") && bytes.Contains(e.Body, []byte(mask.Hidden)) && !bytes.Contains(m.Body, []byte(mask.Hidden)):
		return invalid("The body holds masked values, which would be sent as they stand; reveal the message first and edit what it really holds")
	}
	for _, name := range append(slices.Collect(maps.Keys(e.Headers)), e.Remove...) {
		switch {
		case name == "" || len(name) > maxShortText || !utf8.ValidString(name):
			return invalid("The name of a header has 1 to 255 bytes of UTF-8")
		case LockedHeader(name):
			return invalid("The header " + printable(name, 100) + " cannot be edited: the broker or this dashboard owns it")
		case len(e.Headers[name]) > maxHeaderText:
			return invalid(fmt.Sprintf("A header has at most %d KiB", maxHeaderText>>10))
		}
	}
	return nil
}

// retyped gives a text the type that the header had, so that a number stays a number.
func retyped(old any, text string) any {
	if was, ok := headerWord(old); ok && was == text {
		return old
	}
	switch old.(type) {
	case bool:
		if b, err := strconv.ParseBool(text); err == nil {
			return b
		}
	case int8, uint8, int16, uint16, int32, uint32, int64:
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n
		}
	case float32, float64:
		if f, err := strconv.ParseFloat(text, 64); err == nil && f-f == 0 {
			return f
		}
	case []byte:
		return []byte(text)
	}
	return text
}

// An editShelf keeps edited messages in memory until their plan is over or their job has ended: a body is never kept on disk.
type editShelf struct {
	mu    sync.Mutex
	edits map[string]keptEdit
}

// A keptEdit is dropped when its plan is over, unless a job has it.
type keptEdit struct {
	editedMessage
	held bool
}

func newEditShelf() *editShelf { return &editShelf{edits: map[string]keptEdit{}} }

// keep keeps an edited message as long as its plan can be carried out.
func (s *editShelf) keep(plan string, e editedMessage) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.edits) >= maxEdits {
		return &dedup.Error{Kind: dedup.Unavailable, Public: "Too many edits are waiting to be carried out; try again in some minutes"}
	}
	s.edits[plan] = keptEdit{editedMessage: e}
	time.AfterFunc(PlanLife, func() { s.expire(plan) })
	return nil
}

// hold keeps an edited message until it is dropped: its job has begun, and may be paused for longer than a plan lives.
func (s *editShelf) hold(plan string, e editedMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.edits[plan] = keptEdit{e, true}
}

// expire drops an edited message that no job has.
func (s *editShelf) expire(plan string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.edits[plan].held {
		delete(s.edits, plan)
	}
}

// take returns an edited message; it stays until it is dropped.
func (s *editShelf) take(plan string) (editedMessage, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.edits[plan]
	return e.editedMessage, ok
}

func (s *editShelf) drop(plan string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.edits, plan)
}
