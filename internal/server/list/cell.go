package list

import (
	"strconv"
	"strings"
)

const (
	// formulaStarts are what a formula begins with, also in the full width that East Asian spreadsheets take for the same.
	formulaStarts = "=+-@\t\r\n＝＋－＠"
	// cellSplits are what some spreadsheets take for the end of a cell although commas separate ours: where numbers are written 1,5 lists
	// are split at semicolons, and quotes do not hinder it.
	cellSplits = ";\t\r\n"
)

// Defuse puts an apostrophe before what a spreadsheet would run as a formula: the whole cell, and each part of it that would be a cell of
// its own where lists are split elsewhere (https://owasp.org/www-community/attacks/CSV_Injection). Numbers stay.
func Defuse(cell string) string {
	if !strings.ContainsAny(cell, formulaStarts) || isNumber(cell) {
		return cell
	}
	var safe strings.Builder
	for first := true; ; first = false {
		end := strings.IndexAny(cell, cellSplits)
		part := cell
		if end >= 0 {
			part = cell[:end]
		}
		if first && startsFormula(cell) || startsFormula(strings.TrimLeft(part, " \u00a0\u3000\"")) && !isNumber(strings.Trim(part, " \"")) {
			safe.WriteByte('\'')
		}
		safe.WriteString(part)
		if end < 0 {
			return safe.String()
		}
		safe.WriteByte(cell[end])
		cell = cell[end+1:]
	}
}

func startsFormula(s string) bool {
	return s != "" && strings.IndexAny(s, formulaStarts) == 0
}

func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}
