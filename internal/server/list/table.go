package list

import (
	"encoding/csv"
	"io"
	"strconv"
	"time"
)

// A Table is a list for spreadsheets.
type Table struct {
	Filename string
	Heads    []string
	Rows     [][]string
	// Notes say what a reader of the table must know, such as what is left out: each is a last row.
	Notes []string
}

// NewTable makes a table of items.
func NewTable[T any](filename string, columns []Column[T], items []T) Table {
	t := Table{Filename: filename, Heads: HeadsOf(columns)}
	for _, item := range items {
		t.Rows = append(t.Rows, Cells(columns, item))
	}
	return t
}

// HeadsOf are the names of the columns.
func HeadsOf[T any](columns []Column[T]) []string {
	var heads []string
	for _, c := range columns {
		heads = append(heads, c.Head)
	}
	return heads
}

// Cells are the cells of one item.
func Cells[T any](columns []Column[T], item T) []string {
	cells := make([]string, len(columns))
	for i, c := range columns {
		cells[i] = c.Cell(item)
	}
	return cells
}

// Write writes the table as CSV.
func (t Table) Write(w io.Writer) error {
	out := NewWriter(w, t.Heads)
	for _, row := range t.Rows {
		out.Row(row)
	}
	for _, note := range t.Notes {
		out.Note(note)
	}
	return out.Flush()
}

// A Writer writes a table row by row. What spreadsheets would run as a formula is defused.
type Writer struct {
	csv     *csv.Writer
	columns int
}

// NewWriter begins a table with the names of its columns.
func NewWriter(w io.Writer, heads []string) *Writer {
	out := &Writer{csv.NewWriter(w), len(heads)}
	out.Row(heads)
	return out
}

// Row writes a row. What fails, Flush returns.
func (w *Writer) Row(cells []string) {
	safe := make([]string, len(cells))
	for i, cell := range cells {
		safe[i] = Defuse(cell)
	}
	_ = w.csv.Write(safe)
}

// Note writes a row that says something of the table in the place of a first cell. No id begins like it by accident.
func (w *Writer) Note(text string) {
	row := make([]string, w.columns)
	row[0] = "# " + text
	w.Row(row)
}

// Flush sends what was written, and returns the first error.
func (w *Writer) Flush() error {
	w.csv.Flush()
	return w.csv.Error()
}

// Time is a time in a cell, empty when it is not known.
func Time(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// Seconds is a time in a cell to the second, empty when it is not known.
func Seconds(t time.Time) string { return Time(t.Truncate(time.Second)) }

// Whole is a whole number in a cell.
func Whole[T ~int | ~int64](n T) string { return strconv.FormatInt(int64(n), 10) }
