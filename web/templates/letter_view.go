package templates

import (
	"strings"

	"github.com/a-h/templ"
)

// LetterView is the page of one dead letter.
type LetterView struct {
	Frame    Frame
	Crumbs   []Crumb
	ID       Text
	Word     string
	Tier     string
	Meaning  string
	Reasons  []Text
	Notes    []Problem
	Identity []Fact
	Props    []Fact
	Headers  []HeaderLine
	// HeaderNote says what of the headers is not shown; empty when all is.
	HeaderNote string
	Deaths     []DeathLine
	Marker     LetterMarker
	Payload    PayloadView
	Act        LetterAct
	Lookup     string
	Scanned    string
}

// A HeaderLine is one header with its AMQP type.
type HeaderLine struct {
	Name  Text
	Type  string
	Value Text
	// Whole is a long value over several lines, Size how long it is, empty where Value has it all; Cut says how much of it is missing.
	Whole string
	Size  string
	Cut   string
	// Rule says what a requeue does with it: kept, dropped, added by the broker.
	Rule string
}

// A DeathLine is one entry of the death history.
type DeathLine struct {
	Reason string
	Queue  Text
	Route  Text
	Count  string
	At     Moment
	Note   string
}

// A LetterMarker is what the store holds of a dead letter.
type LetterMarker struct {
	State string
	Word  string
	Href  string
	Life  Life
	Drawn bool
}

// A PayloadView is a body as the reader may see it.
type PayloadView struct {
	Size string
	Hash string
	// HashName says what kind of hash that is.
	HashName string
	Type     string
	// Tabs choose between text, JSON and bytes.
	Tabs []Tab
	View string
	// Whole is the text over several lines, cut at the limit; Dump the bytes.
	Whole string
	Dump  []DumpLine
	// Masked says why it is not shown as it is; Cut how much is missing.
	Masked string
	Cut    string
	// Reveal shows the body as it is; it is audited. Download gives the bytes.
	Reveal   *RevealForm
	Revealed bool
	Download string
}

// A RevealForm asks to see a body as it is.
type RevealForm struct {
	Action string
	Fields []Fact
	Views  []Choice
}

// A LetterAct holds what can be done with one dead letter.
type LetterAct struct {
	Missing Text
	Action  string
	Fields  []Fact
	Edit    string
	// NoEdit says why it cannot be edited.
	NoEdit  string
	Parking bool
	// Targets are the queues to choose from where the message does not say which one it came from.
	Targets []Choice
	// NoDiscard and NoRestore are why the reader may not do that; empty when they may.
	NoDiscard string
	NoRestore string
}

// EditView is the form that edits one message before it is requeued.
type EditView struct {
	Frame  Frame
	Crumbs []Crumb
	ID     Text
	Action string
	Fields []Fact
	Back   string
	Error  string
	Body   string
	// Rows is how many lines the field shows.
	Rows    int
	Type    string
	Message string
	// IDRule says where the pipeline takes the id from, and so what a change of it does.
	IDRule  string
	Locked  []HeaderLine
	Headers []EditHeader
	// Spare are pairs for new headers.
	Spare []SpareHeader
	Notes []Problem
	Wrong FieldError
}

// A FieldError is what is wrong with one field of a form.
type FieldError struct {
	// Field is the name of the field, empty where nothing is wrong or the form as a whole is.
	Field string
	Text  string
	// Ask offers to go on all the same.
	Ask bool
}

// attributes mark a field that is wrong, and bring the cursor there. Hint is the id of what describes the field anyway.
func (e FieldError) attributes(field, hint string) templ.Attributes {
	if e.Field != field {
		if hint == "" {
			return nil
		}
		return templ.Attributes{"aria-describedby": hint}
	}
	return templ.Attributes{"aria-invalid": "true", "aria-describedby": strings.TrimSpace(hint + " " + field + "-error"), "autofocus": true}
}

// A SpareHeader is a pair of fields for a new header, with what was typed into it.
type SpareHeader struct {
	Number      int
	Name, Value string
}

// An EditHeader is a header that can be changed.
type EditHeader struct {
	Number    int
	Name      Text
	Key       string
	Value     string
	Type      string
	Sensitive bool
	// Fixed says why the value cannot be edited as text; it can only be taken away.
	Fixed  string
	Remove bool
}

func (h SpareHeader) field() string { return "new-" + whole(h.Number) }

func (v ErrorView) backWord() string {
	if v.BackWord == "" {
		return "Back to where you were"
	}
	return v.BackWord
}

func (h HeaderLine) long() bool { return h.Size != "" }
