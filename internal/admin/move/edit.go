package move

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

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/mask"
	"dedup-dashboard/internal/message"
)

const (
	// maxEdited is the largest body that can be edited, maxEdits how many edits are kept at once, in memory alone.
	maxEdited     = 1 << 20
	maxEdits      = 50
	maxHeaderText = 64 << 10
	maxShortText  = 255
)

// An EditedMessage is what is sent in the place of one message, and how it came about.
type EditedMessage struct {
	Ref     string
	Message message.Message
	letter  EditedLetter
}

// LockedHeader reports whether a header cannot be edited, because the broker or this dashboard owns it, or it would send
// copies of the message elsewhere.
func LockedHeader(name string) bool { return message.IsOwnHeader(name) || message.IsBrokerHeader(name) }

// edit applies the edit of a plan to its one message, predicts it anew, and says what happens to its id.
func (pl *planning) edit(ctx context.Context) error {
	old := pl.selected[0]
	if old.LeftOut != nil { // what an edit leaves as it is would be sent empty
		return admin.Invalid("This message cannot be edited: " + old.Hidden)
	}
	if !pl.plan.Request.Edit.Changes(old.Message) {
		return admin.Invalid("The edit changes nothing: the message would be sent as it is")
	}
	masked := deadletter.Masked(pl.planner.deps.Mask.Words, old)
	m, notes, err := pl.plan.Request.Edit.apply(old.Message, masked)
	if err != nil {
		return err
	}
	l := pl.line
	edited := l.Letter(dedup.DeadLetter{Message: m, Queue: old.Queue, Ref: old.Ref, Deaths: old.Deaths, Malformed: old.Malformed})
	one := []deadletter.Letter{edited}
	failed := pl.planner.deps.Predictor.Foretell(ctx, l, one, pl.planner.deps.Now().Add(l.Wait()))
	pl.selected = one
	pl.plan.Request.Refs = []string{old.Ref}
	pl.plan.IDChange = idChange(l.IDs.String(), old, one[0], failed)
	pl.plan.Sends = &Fingerprint{Ref: l.Refs.Ref(old.Queue.Vhost, old.Queue.Name, m), BodyHash: deadletter.KeyedHash(pl.planner.deps.RefKey, edited.Hash), Bytes: edited.Size}
	pl.plan.Guards = append(pl.plan.Guards, notes...)
	pl.edited = &EditedMessage{Ref: old.Ref, Message: m, letter: EditedLetter{*pl.plan.Request.Edit, old}}
	return nil
}

// idChange says what an edit does to the id of a message.
func idChange(from string, old, edited deadletter.Letter, failed string) string {
	text := fmt.Sprintf("the id is taken from %s: ", from)
	switch {
	case old.ID == edited.ID && old.ID == "":
		return text + "the message has none before and after: " + edited.NoID
	case old.ID == edited.ID:
		return text + fmt.Sprintf("it stays %s", admin.Printable(old.ID, 200))
	case edited.ID == "":
		return text + fmt.Sprintf("this edit takes it away (it was %s): nothing will keep the work from being done twice", admin.Printable(old.ID, 200))
	case old.ID == "":
		text += fmt.Sprintf("this edit gives the message the id %s", admin.Printable(edited.ID, 200))
	default:
		text += fmt.Sprintf("this edit changes it from %s to %s", admin.Printable(old.ID, 200), admin.Printable(edited.ID, 200))
	}
	switch {
	case failed != "":
		return text + "; whether the store has a marker for it could not be asked: " + failed
	case edited.Marker != nil:
		return text + fmt.Sprintf("; the store has a marker for it: %s", admin.Describe(edited.Marker))
	}
	return text + "; the store has no marker for it"
}

// apply returns the message with the edit, and what to bear in mind.
func (e Edit) apply(m message.Message, masked deadletter.Letter) (message.Message, []Guard, error) {
	if err := e.check(m, masked); err != nil {
		return message.Message{}, nil, err
	}
	var notes []Guard
	if doubt := e.Doubt(m); doubt != "" {
		notes = append(notes, warn("%s", doubt))
	}
	if e.Body != nil {
		m.Body = bytes.Clone(e.Body)
		if m.ContentEncoding != "" {
			notes = append(notes, warn("The message says that its body is encoded as %s; the new body is sent as it was typed", admin.Printable(m.ContentEncoding, 60)))
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
func (e Edit) messageID(m *message.Message) []Guard {
	was := m.MessageID
	switch {
	case e.NoMessageID && was != "":
		m.MessageID = ""
		return []Guard{warn("The message_id %s is taken away: consumers and stores that go by it do not know the message again", admin.Printable(was, 100))}
	case e.MessageID != "" && e.MessageID != was:
		m.MessageID = e.MessageID
		return []Guard{warn("The message_id changes from %s to %s: consumers and stores that go by it take this for another message", admin.Printable(was, 100), admin.Printable(e.MessageID, 100))}
	}
	return nil
}

// check refuses an edit that cannot be made.
func (e Edit) check(m message.Message, masked deadletter.Letter) error {
	switch {
	case len(e.Body) > maxEdited:
		return admin.Invalid(fmt.Sprintf("A body of at most %d KiB can be edited", maxEdited>>10))
	case e.NoContentType && e.ContentType != "" || e.NoMessageID && e.MessageID != "":
		return admin.Invalid("A property is either replaced or taken away")
	case len(e.ContentType) > maxShortText || len(e.MessageID) > maxShortText:
		return admin.Invalid("message_id and content_type have at most 255 bytes")
	case (masked.Masked || masked.Hidden != "") && bytes.Contains(e.Body, []byte(mask.Hidden)) && !bytes.Contains(m.Body, []byte(mask.Hidden)):
		return admin.Invalid("The body holds masked values, which would be sent as they stand; reveal the message first and edit what it really holds")
	}
	for _, name := range append(slices.Collect(maps.Keys(e.Headers)), e.Remove...) {
		switch {
		case name == "" || len(name) > maxShortText || !utf8.ValidString(name):
			return admin.Invalid("The name of a header has 1 to 255 bytes of UTF-8")
		case LockedHeader(name):
			return admin.Invalid("The header " + admin.Printable(name, 100) + " cannot be edited: the broker or this dashboard owns it")
		case len(e.Headers[name]) > maxHeaderText:
			return admin.Invalid(fmt.Sprintf("A header has at most %d KiB", maxHeaderText>>10))
		}
	}
	return nil
}

// retyped gives a text the type that the header had, so that a number stays a number.
func retyped(old any, text string) any {
	if was, ok := deadletter.HeaderWord(old); ok && was == text {
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

// An KeptEdits keeps edited messages in memory until their plan is over or their job has ended: a body is never kept on disk.
type KeptEdits struct {
	mu    sync.Mutex
	edits map[string]keptEdit
}

// A keptEdit is dropped when its plan is over, unless a job has it.
type keptEdit struct {
	EditedMessage
	held bool
}

// NewKeptEdits returns a KeptEdits that holds none.
func NewKeptEdits() *KeptEdits { return &KeptEdits{edits: map[string]keptEdit{}} }

// keep keeps an edited message as long as its plan can be carried out.
func (s *KeptEdits) keep(plan string, e EditedMessage) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.edits) >= maxEdits {
		return admin.Unavailable("Too many edits are waiting to be carried out; try again in some minutes")
	}
	s.edits[plan] = keptEdit{EditedMessage: e}
	time.AfterFunc(admin.PlanLife, func() { s.expire(plan) })
	return nil
}

// Hold keeps an edited message until it is dropped: its job has begun, and may be paused for longer than a plan lives.
func (s *KeptEdits) Hold(plan string, e EditedMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.edits[plan] = keptEdit{e, true}
}

// expire drops an edited message that no job has.
func (s *KeptEdits) expire(plan string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.edits[plan].held {
		delete(s.edits, plan)
	}
}

// Take returns an edited message; it stays until it is dropped.
func (s *KeptEdits) Take(plan string) (EditedMessage, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.edits[plan]
	return e.EditedMessage, ok
}

// Drop forgets the edited message of a plan.
func (s *KeptEdits) Drop(plan string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.edits, plan)
}
