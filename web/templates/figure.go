package templates

import "strings"

// A Figure is a number as it is shown, with the story of where it came from.
type Figure struct {
	// Text is the number with its unit, an interval such as "0.80–1.92 %", or a word: "unknown", "cannot tell".
	Text string
	// Quality is measured, derived, estimated or unknown.
	Quality string
	Known   bool
	// Note is one short line under the number: window and sample size, or in a few words why it is unknown.
	Note string
	// Origin is the source in a word, OriginTitle what it is at length, and OriginHref leads to the evidence; empty where nothing is told.
	Origin, OriginTitle, OriginHref string
	// Band is drawn where the figure may be of more than one tier; nil where it is not.
	Band *Band
	// Measure leads to where it can be measured exactly; empty where it cannot.
	Measure string
	// Since says that a rate was taken over a short time only: "from 2 m". Empty for every other figure.
	Since string
	// Facts is the provenance: source, formula, window, sample size, error, age, why, how to get a better one.
	Facts []Fact
}

// Origins is the source and what the note says beside it.
func (f Figure) Origins() string {
	if f.Note == "" {
		return f.Origin
	}
	return f.Origin + " · " + unbroken(f.Note)
}

// lines is the provenance as one text, a fact in each line.
func (f Figure) lines() string {
	var b strings.Builder
	for i, fact := range f.Facts {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(fact.Label + ": " + fact.Value)
	}
	return b.String()
}

// Mark is the letter of the figure's quality.
func (f Figure) Mark() string {
	if f.Quality == "" || f.Quality == "unknown" {
		return "?"
	}
	return f.Quality[:1]
}

// A Fact is one labelled line.
type Fact struct {
	Label string
	Value string
}

// A Moment is one time as it is shown: Text in the reader's zone, Full with zone and date, RFC for machines. The zero
// value is no time.
type Moment struct {
	Text string
	Full string
	RFC  string
}
