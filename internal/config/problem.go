package config

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A Problem is one thing wrong with a configuration file.
type Problem struct {
	File string
	// Line is 0 when the problem has no place in the file.
	Line int
	// Path leads to the value: pipelines[2].store.
	Path string
	// Text says what is wrong and how to fix it.
	Text string
}

// Error returns the problem as file:line: path: text.
func (p Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		b.WriteString(":" + strconv.Itoa(p.Line))
	}
	if p.Path != "" {
		b.WriteString(": " + p.Path)
	}
	return b.String() + ": " + p.Text
}

// Problems are all that is wrong with a configuration file, in the order of its lines.
type Problems []Problem

// Error returns one line per problem.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// report gathers problems and finds their lines.
type report struct {
	file     string
	problems Problems
	// places are all values of the file in its order, and at finds one by its path.
	places []place
	at     map[string]place
	// unread are the paths of values that could not be read: what is there is not what the file says, so that anything
	// else about them would only repeat the mistake.
	unread []string
}

// A place is a value of the file. Key is nil for an entry of a list; line is that of the key, or of the entry.
type place struct {
	path       string
	key, value *yaml.Node
	line       int
}

func newReport(file string, doc *yaml.Node) *report {
	c := &report{file: file, at: map[string]place{}}
	for _, root := range doc.Content {
		c.index("", root)
	}
	return c
}

// index notes every value below a node.
func (c *report) index(path string, n *yaml.Node) {
	note := func(p place) {
		c.places = append(c.places, p)
		if _, twice := c.at[p.path]; !twice {
			c.at[p.path] = p
		}
		c.index(p.path, p.value)
	}
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			note(place{join(path, key.Value), key, n.Content[i+1], key.Line})
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			note(place{fmt.Sprintf("%s[%d]", path, i), nil, item, item.Line})
		}
	}
}

// add records a problem at a path, unless it follows from another one: of a value that could not be read.
func (c *report) add(path, format string, args ...any) {
	if within(path, c.unread) {
		return
	}
	c.problems = append(c.problems, Problem{File: c.file, Line: c.line(path), Path: path, Text: fmt.Sprintf(format, args...)})
}

// relativePath matches the field at the start of a message that a package's Validate returns: "redis.url: is missing".
var relativePath = regexp.MustCompile(`^([a-z][a-z0-9_]*(?:\[\d+\])?(?:\.[a-z][a-z0-9_]*(?:\[\d+\])?)*): (.+)$`)

// addUnread records that the value at a path could not be read.
func (c *report) addUnread(path, format string, args ...any) {
	c.add(path, format, args...)
	c.unread = append(c.unread, path)
}

// addErr records every error joined in err; a message that begins with a field's path is placed at that field. Where
// something was said of a field before, nothing is said again.
func (c *report) addErr(path string, err error) {
	var said []string
	for _, p := range c.problems {
		if p.Path != "" && p.Path != path {
			said = append(said, p.Path)
		}
	}
	for _, e := range leaves(err) {
		at, text := path, e.Error()
		if m := relativePath.FindStringSubmatch(text); m != nil {
			at, text = join(path, m[1]), m[2]
		}
		if !within(at, said) {
			c.add(at, "%s", text)
		}
	}
}

// leaves returns the errors that are joined in err.
func leaves(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, leaves(e)...)
	}
	return all
}

func join(path, field string) string {
	if path == "" {
		return field
	}
	return path + "." + field
}

// typeErrorLine matches one line of a yaml.TypeError.
var typeErrorLine = regexp.MustCompile(`(?s)^line (\d+): (.*)$`)

// unknownField matches what yaml says of a key that no field takes.
var unknownField = regexp.MustCompile(`^field (.+) not found in type .*$`)

// addYAML records what the YAML decoder reports, one problem per line.
func (c *report) addYAML(err error) {
	texts := []string{err.Error()}
	if te, ok := err.(*yaml.TypeError); ok {
		texts = te.Errors
	}
	for _, text := range texts {
		p := Problem{File: c.file, Text: strings.TrimPrefix(text, "yaml: ")}
		if m := typeErrorLine.FindStringSubmatch(p.Text); m != nil {
			p.Line, _ = strconv.Atoi(m[1])
			p.Text = m[2]
		}
		if m := unitError.FindStringSubmatch(p.Text); m != nil {
			column, _ := strconv.Atoi(m[1])
			p.Path = c.pathWhere(func(at place) bool { return at.value.Line == p.Line && at.value.Column == column })
			p.Text = m[2]
		}
		if m := wrongType.FindStringSubmatch(p.Text); m != nil {
			begin := strings.TrimSuffix(m[2], "...") // yaml shortens long scalars
			alike := func(at place) bool {
				v := at.value
				return v.Line == p.Line && v.ShortTag() == m[1] && strings.HasPrefix(v.Value, begin)
			}
			// A line can hold several values that look alike.
			p.Path = cmp.Or(c.pathWhere(func(at place) bool {
				t := typeAt(at.path)
				return alike(at) && t != nil && t.String() == m[3]
			}), c.pathWhere(alike))
			p.Text = "must be " + wanted(m[3])
		}
		if p.Path != "" {
			c.unread = append(c.unread, p.Path)
		}
		if m := unknownField.FindStringSubmatch(p.Text); m != nil {
			p.Path = cmp.Or(c.pathWhere(func(at place) bool { return at.key != nil && at.line == p.Line && at.key.Value == m[1] }), m[1])
			p.Text = "unknown key; see config.example.yaml for the keys that exist"
			if key := meant(parent(p.Path), m[1]); key != "" {
				p.Text = "unknown key; did you mean " + key + "?"
				c.unread = append(c.unread, join(parent(p.Path), key))
			}
		}
		c.problems = append(c.problems, p)
	}
}

// addEmpty records entries of lists that hold nothing: the decoder takes them for entries of which nothing is known, or for none.
func (c *report) addEmpty() {
	for _, p := range c.places {
		if p.key == nil && p.value.ShortTag() == "!!null" {
			c.add(p.path, "is empty; remove the entry, or write what it is")
		}
	}
}

// unitError matches what readUnit says.
var unitError = regexp.MustCompile(`(?s)^column (\d+): (.*)$`)

// wrongType matches what yaml says of a value of the wrong shape: its tag, how it begins if it is a scalar, and the Go type.
var wrongType = regexp.MustCompile("(?s)^cannot unmarshal (!!\\S+)(?: `(.*)`)? into (\\S+)$")

// wanted says what a value of a Go type looks like in YAML. What was found is not repeated: it may be a secret.
func wanted(goType string) string {
	switch {
	case goType == "time.Duration":
		return "a span of time with its unit, as in 500ms, 30s or 2h"
	case goType == "time.Time":
		return "a date, as in 2030-01-01T00:00:00Z"
	case goType == "string":
		return "text"
	case goType == "bool":
		return "true or false"
	case strings.HasPrefix(goType, "int"), strings.HasPrefix(goType, "float"), strings.HasPrefix(goType, "uint"):
		return "a number"
	case strings.HasPrefix(goType, "[]"):
		return "a list; see config.example.yaml"
	default:
		return "a group of keys; see config.example.yaml"
	}
}

// err returns the problems in the order of their lines, or nil when there are none.
func (c *report) err() error {
	if len(c.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(c.problems, func(a, b Problem) int { return a.Line - b.Line })
	return c.problems
}

// line returns the line of the value at a path, or of the deepest part of the path that the file has.
func (c *report) line(path string) int {
	for ; path != ""; path = path[:max(strings.LastIndexAny(path, ".["), 0)] {
		if p, there := c.at[path]; there {
			return p.line
		}
	}
	return 0
}

// steps splits pipelines[2].store into pipelines, 2, store.
func steps(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' })
}

// entry returns the path of the entry of a list that was decoded as the i-th and has a name. The decoder leaves out
// entries that it cannot read.
func (c *report) entry(list string, i int, name string) string {
	for at, found := range c.names(list) {
		if at >= i && found == name && name != "" {
			i = at
			break
		}
	}
	return fmt.Sprintf("%s[%d]", list, i)
}

// names returns the names of the entries of a list as the file has them.
func (c *report) names(list string) []string {
	var names []string
	for {
		entry := fmt.Sprintf("%s[%d]", list, len(names))
		if _, there := c.at[entry]; !there {
			return names
		}
		name := ""
		if p, named := c.at[entry+".name"]; named {
			name = p.value.Value
		}
		names = append(names, name)
	}
}

// pathWhere returns the path of the first value in the file for which match holds; empty when there is none.
func (c *report) pathWhere(match func(place) bool) string {
	if i := slices.IndexFunc(c.places, match); i >= 0 {
		return c.places[i].path
	}
	return ""
}
