package markers

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"dedup-dashboard/internal/dedup"
)

// idForms is how the ids of a table are written: whether two of them may be one to a column that ignores case, accents or blanks.
type idForms struct {
	// ofLength holds at which places ids of one length have capitals and small letters, by the length; the last holds all longer ones.
	ofLength [longestForm + 1]struct{ upper, lower uint64 }
	// words counts the ids whose places are held; the others mix both cases at random, as tokens do, so that no two of them differ in case alone.
	words, random int64
	// inBoth is the shortest id with a letter in the other case than an id before it.
	inBoth  string
	foreign bool
	blank   bool
}

// longestForm is how many bytes of an id are compared with others.
const longestForm = 64

// add counts an id.
func (f *idForms) add(id []byte) {
	if len(id) == 0 {
		return
	}
	f.blank = f.blank || bytes.HasSuffix(id, []byte(" "))
	f.foreign = f.foreign || bytes.ContainsFunc(id, foldable)
	upper, lower, turns := letterCases(id[:min(len(id), longestForm)])
	// Of 12 letters whose case is random 97 % change it more than twice.
	const turnsOfRandom, longEnough = 3, 16
	if turns >= turnsOfRandom && len(id) >= longEnough {
		f.random++
		return
	}
	f.words++
	places := &f.ofLength[min(len(id), longestForm)]
	places.upper |= upper
	places.lower |= lower
	if (upper|lower)&places.upper&places.lower != 0 && len(id) <= maxSampleKey && (f.inBoth == "" || len(id) < len(f.inBoth)) {
		f.inBoth = string(id)
	}
}

// letterCases returns the places of the capitals and small letters of ASCII, and how often they change from one letter to the next.
func letterCases(id []byte) (upper, lower uint64, turns int) {
	var before byte
	for i, b := range id {
		bit := uint64(1) << i
		switch {
		case 'A' <= b && b <= 'Z':
			upper |= bit
		case 'a' <= b && b <= 'z':
			lower |= bit
		default:
			continue
		}
		if before != 0 && (before^b)&0x20 != 0 {
			turns++
		}
		before = b
	}
	return upper, lower, turns
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
