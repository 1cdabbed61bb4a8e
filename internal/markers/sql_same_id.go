package markers

import (
	"context"
	"fmt"
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
func (l *sqlLayout) readIgnores(ctx context.Context, q querier) error {
	for i := range l.ids {
		c := &l.ids[i]
		if c.kind != textColumn {
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
			tests[n], into[n] = "COALESCE("+l.dialect.equal(*c, p[0], p[1])+", FALSE)", &answers[n]
		}
		err := q.QueryRowContext(ctx, "SELECT "+strings.Join(tests, ", ")).Scan(into...)
		if err != nil && l.dialect.refusal(err).answered() {
			continue
		}
		if err != nil {
			return err
		}
		for n, p := range idProbes {
			if answers[n] {
				c.ignores = append(c.ignores, p.differ)
			}
		}
		for n, p := range letters {
			if answers[len(idProbes)+n] {
				c.alike = append(c.alike, p.fold)
			}
		}
	}
	return nil
}

// ignored names what the column ignores when it compares.
func (c sqlColumn) ignored() string {
	var words []string
	for _, d := range c.ignores {
		words = append(words, string(d))
	}
	return strings.Join(words, ", ")
}

// equal compares as comparable does.
func (d mysqlDialect) equal(c sqlColumn, a, b string) string {
	if !collationPattern.MatchString(c.collation) {
		return "FALSE"
	}
	charset, _, _ := strings.Cut(c.collation, "_")
	value := func(text string) string {
		return fmt.Sprintf("CONVERT('%s' USING %s) COLLATE %s", text, charset, c.collation)
	}
	return value(a) + " = " + value(b)
}

func (postgresDialect) equal(c sqlColumn, a, b string) string {
	value := func(text string) string {
		if c.collate == "" {
			return "'" + text + "'::" + c.cast
		}
		return "'" + text + "'::" + c.cast + " COLLATE " + c.collate
	}
	return value(a) + " = " + value(b)
}

// sameness says how an id of a row is related to the one that was asked for and that the server takes for the same.
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
func (l *sqlLayout) other(sought soughtID, row []string) *dedup.OtherID {
	worst := sameID
	for i, c := range l.ids {
		worst = max(worst, c.sameness(sought.parts[i], row[i], sought.cut != ""))
	}
	if worst == sameID {
		return nil
	}
	return &dedup.OtherID{Asked: sought.id, MayBeOwn: worst == perhapsSameID}
}

// otherThan compares the id of a row that was looked for by the beginning of the id columns, all of them or the first, with what was asked for.
func (l *sqlLayout) otherThan(columns []sqlColumn, asked []string, found dedup.Sighting) *dedup.OtherID {
	row := strings.SplitN(found.ID, ":", len(l.ids))
	worst := sameID
	for i, c := range columns {
		worst = max(worst, c.sameness(asked[i], row[i], false))
	}
	if worst == sameID {
		return nil
	}
	return &dedup.OtherID{Asked: strings.Join(asked, ":"), MayBeOwn: worst == perhapsSameID}
}

// sameness compares the text of a row's id with the one that was asked for; cut says that the column is too short for that.
func (c sqlColumn) sameness(asked, row string, cut bool) sameness {
	switch {
	case asked == row:
		return sameID
	case c.kind == numberColumn:
		return sameNumber(asked, row)
	case c.kind == bytesColumn && strings.EqualFold(asked, row), c.isUUID() && bareUUID(asked) == bareUUID(row):
		return sameID
	case c.kind != textColumn:
		return perhapsSameID
	}
	if c.fixed() && strings.TrimRight(asked, " ") == strings.TrimRight(row, " ") {
		if strings.HasSuffix(asked, " ") {
			return perhapsSameID // the column keeps no trailing blanks
		}
		return sameID
	}
	// Too long, or with characters that the column's character set does not have.
	if cut || c.cutsNames() && strings.HasPrefix(asked, row) || strings.Contains(row, "?") && !isASCII(asked) {
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

func (c sqlColumn) isUUID() bool { return strings.EqualFold(c.typ, "uuid") }

func bareUUID(text string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "{", "", "}", "").Replace(text))
}

// fixed reports whether the column pads its values to one length.
func (c sqlColumn) fixed() bool {
	typ := strings.ToLower(c.typ)
	return strings.HasPrefix(typ, "char(") || strings.HasPrefix(typ, "character(") || typ == "char" || typ == "bpchar"
}

// cutsNames reports whether the column is of PostgreSQL's type for names, which cuts silently.
func (c sqlColumn) cutsNames() bool { return c.typ == "name" }

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
func (s *sqlStore) FoldID(id string) string {
	s.mu.Lock()
	layout := s.layout
	s.mu.Unlock()
	if layout == nil {
		return id
	}
	parts := strings.SplitN(id, ":", len(layout.ids))
	for i := range parts {
		parts[i] = layout.ids[i].fold(parts[i])
	}
	return strings.Join(parts, ":")
}

// fold brings a text into the form in which the column compares it.
func (c sqlColumn) fold(text string) string {
	if c.kind == numberColumn {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return strconv.FormatInt(n, 10)
		}
		return text
	}
	if c.isUUID() {
		return bareUUID(text)
	}
	if c.kind != textColumn {
		return text
	}
	for _, fold := range c.alike {
		text = fold(text)
	}
	for _, differ := range c.ignores {
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
	text = cutRunes(text, c.length)
	for _, differ := range c.ignores {
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
func (s *sqlStore) metAnother(m *dedup.Sighting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if worse := s.twoIDs; worse != nil && !worse.MayBeOwn && m.Other.MayBeOwn && m.At.Sub(worse.At) < twoIDsFor {
		return
	}
	s.twoIDs = &dedup.TwoIDs{At: m.At, Asked: m.Other.Asked, Row: m.ID, MayBeOwn: m.Other.MayBeOwn}
}
