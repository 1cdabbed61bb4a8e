package sql

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/pace"
)

// idForms is how the ids of a table are written: whether two of them may be one to a column that ignores case, accents or blanks.
type idForms struct {
	// ofLength holds at which places ids of one length have capitals and small letters.
	ofLength map[int]*letterPlaces
	// words counts the ids whose places are held; the others mix both cases at random, as tokens do, so that no two of them differ in case alone.
	words, random int64
	// inBoth is the shortest id with a letter in the other case than an id before it.
	inBoth  string
	foreign bool
	blank   bool
}

// longestForm is how many bytes of an id are compared with others: hardly a column that is indexed holds more.
const longestForm = 256

// letterPlaces are the places at which ids have capitals and small letters of ASCII.
type letterPlaces struct{ upper, lower [longestForm]bool }

// merge adds the letters of another id, and reports whether one of them stands where an earlier id has it in the other case.
func (p *letterPlaces) merge(id []byte) (inBoth bool) {
	for i, b := range id {
		switch {
		case 'A' <= b && b <= 'Z':
			p.upper[i] = true
			inBoth = inBoth || p.lower[i]
		case 'a' <= b && b <= 'z':
			p.lower[i] = true
			inBoth = inBoth || p.upper[i]
		}
	}
	return inBoth
}

// add counts an id.
func (f *idForms) add(id []byte) {
	if len(id) == 0 {
		return
	}
	f.blank = f.blank || bytes.HasSuffix(id, []byte(" "))
	f.foreign = f.foreign || bytes.ContainsFunc(id, foldable)
	// Of 12 letters whose case is random 97 % change it more than twice.
	const turnsOfRandom, longEnough = 3, 16
	if len(id) >= longEnough && turnsOfCase(id) >= turnsOfRandom {
		f.random++
		return
	}
	f.words++
	id = id[:min(len(id), longestForm)]
	if f.ofLength == nil {
		f.ofLength = map[int]*letterPlaces{}
	}
	if f.ofLength[len(id)] == nil {
		f.ofLength[len(id)] = &letterPlaces{}
	}
	if f.ofLength[len(id)].merge(id) && len(id) <= pace.MaxSampleKey && (f.inBoth == "" || len(id) < len(f.inBoth)) {
		f.inBoth = string(id)
	}
}

// turnsOfCase counts how often the case changes from one letter of ASCII to the next.
func turnsOfCase(id []byte) (turns int) {
	var before byte
	for _, b := range id {
		if small := b | 0x20; small < 'a' || small > 'z' {
			continue
		}
		if before != 0 && (before^b)&0x20 != 0 {
			turns++
		}
		before = b
	}
	return turns
}

// foldable reports whether collations may take a character for another one: all beyond ASCII but the ideographs.
func foldable(r rune) bool { return r >= utf8.RuneSelf && !unicode.Is(unicode.Han, r) }

// differ returns what ids of the table may differ in alone, and one of those that differ in case; empty where none does.
func (f *idForms) differ() (in []dedup.IDDifference, inBoth string) {
	// A few ids of random letters change their case seldom; a twentieth of all does not.
	if f.inBoth != "" && 20*f.words >= f.random {
		in, inBoth = append(in, dedup.CaseDiffers), f.inBoth
	}
	if f.foreign {
		in = append(in, dedup.AccentsDiffer, dedup.WidthDiffers, dedup.FormsDiffer)
	}
	if f.blank {
		in = append(in, dedup.BlanksDiffer)
	}
	return in, inBoth
}
