package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

const (
	tableBegins = "<!-- the table begins -->\n"
	tableEnds   = "<!-- the table ends -->\n"
)

// writeTable puts what the book knows between the two marks of a file.
func writeTable(name string, b book) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	before, rest, ok := strings.Cut(string(text), tableBegins)
	_, after, ended := strings.Cut(rest, tableEnds)
	if !ok || !ended {
		return fmt.Errorf("write the table: %s has no marks for it", name)
	}
	return os.WriteFile(name, []byte(before+tableBegins+b.table()+tableEnds+after), 0o644)
}

// table is one table for each family: capabilities down, servers across.
func (b book) table() string {
	var out strings.Builder
	var notes []string
	all := servers()
	for len(all) > 0 {
		of := all[0].of
		n := slices.IndexFunc(all, func(s server) bool { return s.of != of })
		if n < 0 {
			n = len(all)
		}
		b.family(&out, all[:n], &notes)
		all = all[n:]
	}
	for i, note := range notes {
		fmt.Fprintf(&out, "%d. %s\n", i+1, note)
	}
	return out.String()
}

func (b book) family(out *strings.Builder, of []server, notes *[]string) {
	fmt.Fprintf(out, "\n| capability |")
	for _, s := range of {
		exact := ""
		if r, ok := b.last(s.name, s.of.suites[0].capability); ok {
			exact = " (" + r.Versions + ")"
		}
		fmt.Fprintf(out, " %s%s |", s.name, exact)
	}
	fmt.Fprintf(out, "\n|---|%s\n", strings.Repeat("---|", len(of)))
	for _, suite := range of[0].of.suites {
		fmt.Fprintf(out, "| %s |", suite.capability)
		for _, s := range of {
			fmt.Fprintf(out, " %s |", b.cell(s.name, suite.capability, notes))
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintln(out)
}

// cell says what became of a suite: the number of its tests, what failed, and in notes what the version does not have.
func (b book) cell(server, capability string, notes *[]string) string {
	r, ok := b.last(server, capability)
	switch {
	case !ok:
		return "not run"
	case len(r.Failed) > 0:
		return "**failed**: " + strings.Join(r.Failed, ", ")
	}
	text := "works (" + counted(r.Passed) + ")"
	for _, why := range r.Without {
		i := slices.Index(*notes, why)
		if i < 0 {
			i = len(*notes)
			*notes = append(*notes, why)
		}
		text += fmt.Sprintf(", but [%d]", i+1)
	}
	return text
}

func counted(n int) string {
	if n == 1 {
		return "1 test"
	}
	return fmt.Sprintf("%d tests", n)
}
