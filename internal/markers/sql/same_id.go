package sql

import (
	"context"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/sql/dialect"
	"dedup-dashboard/internal/text"
)

// idProbes are pairs of texts, one for each difference that a collation may ignore.
var idProbes = []struct {
	differ dedup.IDDifference
	a, b   string
}{
	{dedup.CaseDiffers, "a", "A"},
	{dedup.AccentsDiffer, "e", "\u00e9"},
	{dedup.WidthDiffers, "a", "\uff41"},
	{dedup.FormsDiffer, "\u00e9", "e\u0301"},
	{dedup.BlanksDiffer, "a", "a "},
}

// A lookalike is a letter that some collations take for others, each in its own way, and what folding does with it where a server does:
// utf8mb4_general_ci has ß for s, others for ss, and one character beyond U+FFFF for every other one.
type lookalike struct {
	a, b string
	fold func(string) string
}

func lookalikes() []lookalike {
	all := []lookalike{
		{"\U0001F600", "\U0001F601", func(text string) string { return mapped(text, '\uFFFD', func(r rune) bool { return r > 0xFFFF }) }},
		{"a\u200b", "a", func(text string) string {
			return mapped(text, -1, func(r rune) bool { return unicode.Is(unicode.Cf, r) })
		}},
		{"a\u0001", "a", func(text string) string {
			return mapped(text, -1, func(r rune) bool { return unicode.IsControl(r) && !unicode.IsSpace(r) })
		}},
	}
	for _, pair := range [][2]string{{"ß", "s"}, {"ß", "ss"}, {"ı", "i"}, {"İ", "i"}, {"ø", "o"}, {"ł", "l"}, {"đ", "d"}, {"ð", "d"}, {"ħ", "h"}, {"ŧ", "t"}, {"þ", "th"}, {"æ", "ae"}, {"œ", "oe"}} {
		both := strings.NewReplacer(pair[0], pair[1], strings.ToUpper(pair[0]), pair[1])
		all = append(all, lookalike{pair[0], pair[1], both.Replace})
	}
	return all
}

// mapped puts another character, none where it is negative, in the place of some.
func mapped(text string, by rune, some func(rune) bool) string {
	return strings.Map(func(r rune) rune {
		if some(r) {
			return by
		}
		return r
	}, text)
}

// readIgnores asks the server what the id columns ignore when they compare. A server that refuses to say leaves it open.
func (l *Layout) readIgnores(ctx context.Context, q dialect.Querier) error {
	for i := range l.IDs {
		c := &l.IDs[i]
		if c.Kind != dialect.TextColumn {
			continue
		}
		letters := lookalikes()
		pairs := make([][2]string, 0, len(idProbes)+len(letters))
		for _, p := range idProbes {
			pairs = append(pairs, [2]string{p.a, p.b})
		}
		for _, p := range letters {
			pairs = append(pairs, [2]string{p.a, p.b})
		}
		tests := make([]string, len(pairs))
		answers, into := make([]bool, len(pairs)), make([]any, len(pairs))
		for n, p := range pairs {
			tests[n], into[n] = "COALESCE("+l.dialect.Equal(*c, p[0], p[1])+", FALSE)", &answers[n]
		}
		err := q.QueryRowContext(ctx, "SELECT "+strings.Join(tests, ", ")).Scan(into...)
		if err != nil && l.dialect.Refusal(err).Answered() {
			continue
		}
		if err != nil {
			return err
		}
		for n, p := range idProbes {
			if answers[n] {
				c.Ignores = append(c.Ignores, p.differ)
			}
		}
		for n, p := range letters {
			if answers[len(idProbes)+n] {
				c.Alike = append(c.Alike, p.fold)
			}
		}
	}
	return nil
}

// ignoredBy names what the column ignores when it compares.
func ignoredBy(c dialect.Column) string {
	return text.Joined(c.Ignores, ", ", func(d dedup.IDDifference) string { return string(d) })
}

// compareIDs says how an id of a row is related to the one that was asked for and that the server takes for the same.
type sameness uint8

const (
	// sameID: they are one to the byte, or two spellings of one value that the column's type does not tell apart.
	sameID sameness = iota
	// perhapsSameID: the column cannot keep the id as it was asked for.
	perhapsSameID
	// anotherID: the column could have kept the id that was asked for, and has another one.
	anotherID
)

// other compares the id of a row with the one that was asked for; nil where they are the same.
func (l *Layout) other(sought soughtID, row []string) *dedup.OtherID {
	worst := sameID
	for i, c := range l.IDs {
		worst = max(worst, compareIDs(c, sought.parts[i], row[i], sought.cut != ""))
	}
	if worst == sameID {
		return nil
	}
	return &dedup.OtherID{Asked: sought.id, MayBeOwn: worst == perhapsSameID}
}

// otherThan compares the id of a row that was looked for by the beginning of the id columns, all of them or the first, with what was asked for.
func (l *Layout) otherThan(columns []dialect.Column, asked []string, found dedup.Sighting) *dedup.OtherID {
	row := strings.SplitN(found.ID, ":", len(l.IDs))
	worst := sameID
	for i, c := range columns {
		worst = max(worst, compareIDs(c, asked[i], row[i], false))
	}
	if worst == sameID {
		return nil
	}
	return &dedup.OtherID{Asked: strings.Join(asked, ":"), MayBeOwn: worst == perhapsSameID}
}

// compareIDs compares the text of a row's id with the one that was asked for; cut says that the column is too short for that.
func compareIDs(c dialect.Column, asked, row string, cut bool) sameness {
	switch {
	case asked == row:
		return sameID
	case c.Kind == dialect.NumberColumn:
		return sameNumber(asked, row)
	case c.Kind == dialect.BytesColumn && strings.EqualFold(asked, row), isUUID(c) && bareUUID(asked) == bareUUID(row):
		return sameID
	case c.Kind != dialect.TextColumn:
		return perhapsSameID
	}
	if isFixed(c) && strings.TrimRight(asked, " ") == strings.TrimRight(row, " ") {
		if strings.HasSuffix(asked, " ") {
			return perhapsSameID // the column keeps no trailing blanks
		}
		return sameID
	}
	// Too long, or with characters that the column's character set does not have.
	if cut || cutsNames(c) && strings.HasPrefix(asked, row) || strings.Contains(row, "?") && !isASCII(asked) {
		return perhapsSameID
	}
	return anotherID
}

// sameNumber: a number does not keep its leading zeros, nor the text behind it.
func sameNumber(asked, row string) sameness {
	n, err := strconv.ParseInt(asked, 10, 64)
	value, ok := new(big.Rat).SetString(row)
	if err == nil && ok && len(row) <= longestNumber && strconv.FormatInt(n, 10) == asked && value.Cmp(new(big.Rat).SetInt64(n)) == 0 {
		return sameID
	}
	return perhapsSameID
}

// longestNumber is how long the text of a number may be that is compared: an exponent would make a short text a large number.
const longestNumber = 100

func isUUID(c dialect.Column) bool { return strings.EqualFold(c.Type, "uuid") }

func bareUUID(text string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "{", "", "}", "").Replace(text))
}

// isFixed reports whether the column pads its values to one length.
func isFixed(c dialect.Column) bool {
	typ := strings.ToLower(c.Type)
	return strings.HasPrefix(typ, "char(") || strings.HasPrefix(typ, "character(") || typ == "char" || typ == "bpchar"
}

// cutsNames reports whether the column is of PostgreSQL's type for names, which cuts silently.
func cutsNames(c dialect.Column) bool { return c.Type == "name" }

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// FoldID returns the same text for ids that the table takes for one, as far as it is known what its id columns ignore. Before the table
// was described it returns the id.
func (s *store) FoldID(id string) string {
	layout := s.table.known()
	if layout == nil {
		return id
	}
	parts := strings.SplitN(id, ":", len(layout.IDs))
	for i := range parts {
		parts[i] = foldText(layout.IDs[i], parts[i])
	}
	return strings.Join(parts, ":")
}

// foldText brings a text into the form in which the column compares it.
func foldText(c dialect.Column, text string) string {
	if c.Kind == dialect.NumberColumn {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return strconv.FormatInt(n, 10)
		}
		return text
	}
	if isUUID(c) {
		return bareUUID(text)
	}
	if c.Kind != dialect.TextColumn {
		return text
	}
	for _, fold := range c.Alike {
		text = fold(text)
	}
	for _, differ := range c.Ignores {
		switch differ {
		case dedup.CaseDiffers:
			text = cases.Fold().String(text)
		case dedup.AccentsDiffer:
			bare, _, err := transform.String(transform.Chain(norm.NFD, runes.Remove(runes.In(unicode.Mn)), norm.NFC), text)
			if err == nil {
				text = bare
			}
		case dedup.WidthDiffers:
			text = norm.NFKC.String(text)
		case dedup.FormsDiffer:
			text = norm.NFC.String(text)
		}
	}
	text = cutRunes(text, c.Length)
	for _, differ := range c.Ignores {
		if differ == dedup.BlanksDiffer {
			text = strings.TrimRight(text, " ")
		}
	}
	return text
}

// cutRunes cuts a text to n characters; 0 leaves it whole.
func cutRunes(text string, n int64) string {
	if n <= 0 || int64(utf8.RuneCountInString(text)) <= n {
		return text
	}
	return string([]rune(text)[:n])
}

// metAnother notes that an id found the row of another one. What may be of the same message does not hide what is not.
func (s *store) metAnother(m *dedup.Sighting) {
	s.rounds.Lock()
	defer s.rounds.Unlock()
	if worse := s.twoIDs; worse != nil && !worse.MayBeOwn && m.Other.MayBeOwn && m.At.Sub(worse.At) < twoIDsFor {
		return
	}
	s.twoIDs = &dedup.TwoIDs{At: m.At, Asked: m.Other.Asked, Row: m.ID, MayBeOwn: m.Other.MayBeOwn}
}
