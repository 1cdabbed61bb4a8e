package server

import (
	"strconv"
	"strings"
)

// noteRow is a row that says something of the table in the place of a first cell, with as many cells as the others have. No id begins
// like it by accident.
func noteRow(note string, columns int) []string {
	row := make([]string, columns)
	row[0] = "# " + note
	return defused(row)
}

// defused returns a row whose cells no spreadsheet runs.
func defused(row []string) []string {
	safe := make([]string, len(row))
	for i, cell := range row {
		safe[i] = defuse(cell)
	}
	return safe
}

const (
	// formulaStarts are what a formula begins with, also in the full width that East Asian spreadsheets take for the same.
	formulaStarts = "=+-@\t\r\n＝＋－＠"
	// cellSplits are what some spreadsheets take for the end of a cell although commas separate ours: where numbers are written 1,5 lists
	// are split at semicolons, and quotes do not hinder it.
	cellSplits = ";\t\r\n"
)

// defuse puts an apostrophe before what a spreadsheet would run as a formula: the whole cell, and each part of it that would be a cell of
// its own where lists are split elsewhere (https://owasp.org/www-community/attacks/CSV_Injection). Numbers stay.
func defuse(cell string) string {
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
