package exports

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// An expr names counters in a small part of PromQL: sums and differences of selectors, and with "or" others to take where an instance
// has none of the first.
type expr [][]term

// A term is one selector of a sum.
type term struct {
	selector
	sign float64
}

// A selector names series by metric and labels.
type selector struct {
	metric   string
	matchers []matcher
}

// A matcher compares one label.
type matcher struct {
	label, value string
	not          bool
	pattern      *regexp.Regexp // nil where the value is compared as it is
}

func (m matcher) fits(labels map[string]string) bool {
	if m.pattern != nil {
		return m.pattern.MatchString(labels[m.label]) != m.not
	}
	return (labels[m.label] == m.value) != m.not
}

func (s selector) fits(labels map[string]string) bool {
	for _, m := range s.matchers {
		if !m.fits(labels) {
			return false
		}
	}
	return true
}

// maxExpr bounds the text of an expression, and what is made of it.
const maxExpr = 2000

// parseExpr reads an expression; an empty one names nothing.
func parseExpr(text string) (expr, error) {
	if len(text) > maxExpr {
		return nil, fmt.Errorf("is longer than %d characters", maxExpr)
	}
	r := exprReader{rest: strings.TrimSpace(text)}
	if r.rest == "" {
		return nil, nil
	}
	var out expr
	for {
		alternative, err := r.sum()
		if err != nil {
			return nil, err
		}
		out = append(out, alternative)
		if r.rest == "" {
			return out, nil
		}
		if !r.word("or") {
			return nil, fmt.Errorf("has %s where + or - or or should stand", shown(r.rest))
		}
	}
}

// An exprReader reads an expression from its start to its end.
type exprReader struct{ rest string }

var metricName = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:.]*`)

func (r *exprReader) sum() ([]term, error) {
	var out []term
	for sign := 1.0; ; {
		s, err := r.selector()
		if err != nil {
			return nil, err
		}
		out = append(out, term{s, sign})
		switch {
		case r.take("+"):
			sign = 1
		case r.take("-"):
			sign = -1
		default:
			return out, nil
		}
	}
}

func (r *exprReader) selector() (selector, error) {
	s := selector{metric: metricName.FindString(r.rest)}
	r.skip(len(s.metric))
	if s.metric == "or" || s.metric == "" && !strings.HasPrefix(r.rest, "{") {
		return s, fmt.Errorf("has %s where the name of a metric should stand", shown(r.rest))
	}
	if !r.take("{") {
		return s, nil
	}
	for !r.take("}") {
		if strings.HasPrefix(r.rest, `"`) && s.metric == "" { // a name that is none of the old ones
			name, err := r.quoted()
			if err != nil || name == "" {
				return s, errors.New("has a name of a metric that cannot be read")
			}
			s.metric = name
		} else if m, err := r.matcher(); err != nil {
			return s, err
		} else {
			s.matchers = append(s.matchers, m)
		}
		if !r.take(",") && !strings.HasPrefix(r.rest, "}") {
			return s, fmt.Errorf("has %s where , or } should stand", shown(r.rest))
		}
	}
	if s.metric == "" {
		return s, errors.New("has labels without a metric")
	}
	return s, nil
}

func (r *exprReader) matcher() (matcher, error) {
	m := matcher{label: metricName.FindString(r.rest)}
	r.skip(len(m.label))
	op := ""
	for _, o := range []string{"=~", "!~", "!=", "="} {
		if op == "" && r.take(o) {
			op = o
		}
	}
	if m.label == "" || op == "" {
		return m, errors.New(`has a label without a comparison; write name="value"`)
	}
	value, err := r.quoted()
	if err != nil {
		return m, fmt.Errorf("compares label %s with what is no text in quotes", m.label)
	}
	m.value, m.not = value, op[0] == '!'
	if strings.HasSuffix(op, "~") {
		if m.pattern, err = regexp.Compile("^(?s:" + value + ")$"); err != nil {
			return m, fmt.Errorf("has a pattern for label %s that cannot be read", m.label)
		}
	}
	return m, nil
}

func (r *exprReader) quoted() (string, error) {
	text, err := strconv.QuotedPrefix(r.rest)
	if err != nil || text[0] != '"' {
		return "", errors.New("no text in quotes")
	}
	r.skip(len(text))
	return strconv.Unquote(text)
}

func (r *exprReader) take(prefix string) bool {
	if !strings.HasPrefix(r.rest, prefix) {
		return false
	}
	r.skip(len(prefix))
	return true
}

func (r *exprReader) word(word string) bool {
	after, ok := strings.CutPrefix(r.rest, word)
	if !ok || metricName.MatchString(after) {
		return false
	}
	return r.take(word)
}

func (r *exprReader) skip(n int) { r.rest = strings.TrimSpace(r.rest[n:]) }
