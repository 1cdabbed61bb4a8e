package ruletest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// A Problem is one thing that is wrong with a file of tests.
type Problem struct {
	File string
	// Line is 0 when the problem has no place in the file.
	Line int
	// Text says what is wrong and how to fix it.
	Text string
}

// Error returns the problem as file:line: text.
func (p Problem) Error() string {
	if p.Line == 0 {
		return p.File + ": " + p.Text
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text)
}

// Problems are all that is wrong with a file, in the order of its lines.
type Problems []Problem

// Error returns one line per problem.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// A reader reads YAML strictly, and gathers what is wrong with it.
type reader struct {
	file     string
	problems Problems
}

func (r *reader) say(line int, format string, args ...any) {
	r.problems = append(r.problems, Problem{File: r.file, Line: line, Text: fmt.Sprintf(format, args...)})
}

// err returns the problems in the order of their lines, or nil.
func (r *reader) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int { return a.Line - b.Line })
	return r.problems
}

// yamlLine is how the YAML package writes the place of an error.
var yamlLine = regexp.MustCompile(`^yaml: line (\d+): `)

// document parses the one document of a file; nil where there is none.
func (r *reader) document(text []byte) *yaml.Node {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		r.say(0, "the file is empty; write tests: and a list of tests")
		return nil
	case err != nil:
		line, words := 1, err.Error() // which it leaves out for the first line
		if m := yamlLine.FindStringSubmatch(words); m != nil {
			line, _ = strconv.Atoi(m[1])
			words = words[len(m[0]):]
		}
		r.say(line, "this is no YAML: %s", strings.TrimPrefix(words, "yaml: "))
		return nil
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		r.say(0, "something stands after the YAML document; keep everything in one")
	}
	if len(doc.Content) == 0 {
		return nil
	}
	return doc.Content[0]
}

// fields are the keys of one group. What its methods say of a value is at its line and begins with its key.
type fields struct {
	reader *reader
	line   int
	of     map[string]*yaml.Node
}

func (f fields) has(key string) bool { return f.of[key] != nil }

func (f fields) say(key, format string, args ...any) {
	f.reader.say(f.of[key].Line, key+": "+format, args...)
}

// group reads a group of keys, of which the required ones, marked with !, must be there. It reports false for anything else.
func (r *reader) group(n *yaml.Node, what string, keys ...string) (fields, bool) {
	f := fields{reader: r, line: n.Line, of: make(map[string]*yaml.Node)}
	if n.Kind != yaml.MappingNode {
		r.say(n.Line, "%s must be a group of keys: %s%s", what, names(keys), aliasHint(n))
		return f, false
	}
	known := strings.Split(names(keys), ", ")
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case !slices.Contains(known, key.Value):
			r.say(key.Line, "%s has no key %q; the keys are %s", what, clipped(key.Value), names(keys))
		case f.of[key.Value] != nil:
			r.say(key.Line, "%s has the key %s twice; keep one", what, key.Value)
		default:
			f.of[key.Value] = n.Content[i+1]
		}
	}
	whole := true
	for _, key := range keys {
		if name, required := strings.CutSuffix(key, "!"); required && f.of[name] == nil {
			r.say(n.Line, "%s lacks %s", what, name)
			whole = false
		}
	}
	return f, whole
}

func names(keys []string) string { return strings.ReplaceAll(strings.Join(keys, ", "), "!", "") }

// labels reads a group of any keys with text.
func (f fields) labels(key string) map[string]string {
	n := f.of[key]
	if n.Kind != yaml.MappingNode {
		f.reader.say(n.Line, "%s must be a group of names and values, as in {team: shop}%s", key, aliasHint(n))
		return nil
	}
	all := make(map[string]string, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i].Value
		if _, twice := all[name]; twice {
			f.reader.say(n.Content[i].Line, "%s has %q twice; keep one", key, clipped(name))
		}
		all[name] = f.reader.text(n.Content[i+1], key)
	}
	return all
}

// list reads a list; a missing one is empty.
func (f fields) list(key string) []*yaml.Node {
	n := f.of[key]
	if n == nil {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		f.reader.say(n.Line, "%s must be a list; write [] for none%s", key, aliasHint(n))
		return nil
	}
	return n.Content
}

// text reads one value as it is written; a missing one is empty.
func (f fields) text(key string) string {
	if !f.has(key) {
		return ""
	}
	return f.reader.text(f.of[key], key)
}

func (r *reader) text(n *yaml.Node, what string) string {
	if n.Kind != yaml.ScalarNode {
		r.say(n.Line, "%s must be one value%s", what, aliasHint(n))
		return ""
	}
	return strings.TrimSpace(n.Value)
}

func aliasHint(n *yaml.Node) string {
	if n.Kind == yaml.AliasNode {
		return "; write it out, since *" + clipped(n.Value) + " is not followed"
	}
	return ""
}

// span reads a span of time as the configuration has it, and reports false where it cannot be read.
func (f fields) span(key string) (time.Duration, bool) {
	text := f.text(key)
	word := text
	if days, whole := strings.CutSuffix(text, "d"); whole {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			word = strconv.FormatUint(24*n, 10) + "h"
		}
	}
	d, err := time.ParseDuration(word)
	if err != nil || d < 0 {
		f.say(key, "%q is no span of time; write it with its unit, as in 15s, 1h30m or 30d", clipped(text))
		return 0, false
	}
	return d, true
}

// number reads one number in the notation of values, without repetition, if there is one. The unit must be one of those allowed.
func (f fields) number(key, units, example string, to *float64) {
	if !f.has(key) {
		return
	}
	v, err := parseValues(f.text(key))
	if err != nil || len(v) != 1 || v[0].to != 1 || v[0].kind != given || !strings.Contains(units, "|"+v[0].unit+"|") || v[0].first < 0 {
		f.say(key, "write one number, as in %s", example)
		return
	}
	*to = v[0].first
}
