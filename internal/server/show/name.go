package show

import "dedup-dashboard/web/templates"

// How many characters of what comes from outside are shown.
const (
	NameLimit = 40  // names of queues, stores and brokers in tables
	KeyLimit  = 60  // keys of markers
	PartLimit = 300 // what a store or a server says within or beside a sentence of ours
)

// Name is a name from outside, as tables show it.
func Name(s string) templates.Text { return templates.Plain(s, NameLimit) }

// ShortName is a name from outside, cut where it is long, for where nothing shows the whole.
func ShortName(s string) string { return Name(s).Short }

// LongName is a name from outside where there is room for twice as much, as in headings.
func LongName(s string) templates.Text { return templates.Plain(s, 2*NameLimit) }

// Key is the key or id of something, as tables show it.
func Key(s string) templates.Text { return templates.Plain(s, KeyLimit) }

// LongKey is a key where there is room for twice as much.
func LongKey(s string) templates.Text { return templates.Plain(s, 2*KeyLimit) }

// Part is what a store or a server says, beside a sentence of ours.
func Part(s string) templates.Text { return templates.Plain(s, PartLimit) }

// Within makes a name or an error from outside fit to stand in a sentence of ours, which is never cut itself.
func Within(s string) string { return Part(s).Short }

// Quoted is what a person wrote, as it was written; empty where nothing was.
func Quoted(s string) string {
	if s == "" {
		return ""
	}
	return "“" + Within(s) + "”"
}
