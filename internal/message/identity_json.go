package message

import (
	"encoding/json"
	"errors"
	"strconv"
	"unicode/utf8"
)

// pathStep leads from a JSON value to one inside it: a member of an object, or an element of an array.
type pathStep struct {
	member  string
	index   int
	isIndex bool
}

// parsePathSteps splits a path that pathPattern admits.
func parsePathSteps(path string) []pathStep {
	var steps []pathStep
	for _, m := range stepPattern.FindAllStringSubmatch(path, -1) {
		if m[1] != "" {
			steps = append(steps, pathStep{member: m[1]})
			continue
		}
		n, _ := strconv.Atoi(m[2])
		steps = append(steps, pathStep{index: n, isIndex: true})
	}
	return steps
}

var (
	errNotJSON      = errors.New("it is no valid JSON")
	errNoJSONMember = errors.New("there is nothing at this place")
)

// jsonAt returns the text of the value at a path of a JSON body. The body is checked whole, as a consumer parses it whole,
// and nothing of it is copied. Of members with one name the last counts, as for almost every parser.
func jsonAt(body []byte, path []pathStep) ([]byte, error) {
	if !json.Valid(body) {
		return nil, errNotJSON
	}
	value := validJSON(body)
	for _, step := range path {
		var ok bool
		if step.isIndex {
			value, ok = value.element(step.index)
		} else {
			value, ok = value.member(step.member)
		}
		if !ok {
			return nil, errNoJSONMember
		}
	}
	start := SkipJSONSpace(value, 0)
	return value[start:SkipJSON(value, start)], nil
}

// jsonID returns a JSON string or whole number as the text of an id.
func jsonID(value []byte) (string, error) {
	if value[0] == '"' {
		if !utf8.Valid(value) {
			return "", errors.New("is not valid UTF-8")
		}
		var text string
		if err := json.Unmarshal(value, &text); err != nil {
			return "", errors.New("is no text that can be read")
		}
		return text, nil
	}
	switch {
	case string(value) == "null":
		return "", nil
	case wholeNumber.Match(value):
		return string(value), nil
	case value[0] == '{' || value[0] == '[':
		return "", errors.New("is no single value")
	}
	return "", errors.New("is neither a text nor a whole number, and each language writes it in another way")
}

// validJSON is text that json.Valid admits, so that it can be walked over without looking for mistakes.
type validJSON []byte

// member returns the last member of an object with this name.
func (j validJSON) member(name string) (validJSON, bool) {
	i := SkipJSONSpace(j, 0)
	if i >= len(j) || j[i] != '{' {
		return nil, false
	}
	var found validJSON
	for i = SkipJSONSpace(j, i+1); i < len(j) && j[i] == '"'; {
		behind := SkipJSONString(j, i)
		is := isName(j[i:behind], name)
		start := SkipJSONSpace(j, SkipJSONSpace(j, behind)+1) // behind the colon
		end := SkipJSON(j, start)
		if is {
			found = j[start:end]
		}
		if i = SkipJSONSpace(j, end); i < len(j) && j[i] == ',' {
			i = SkipJSONSpace(j, i+1)
		}
	}
	return found, found != nil
}

// isName compares a quoted name with a plain one.
func isName(quoted []byte, name string) bool {
	inner := quoted[1 : len(quoted)-1]
	if string(inner) == name {
		return true
	}
	// A name may be written with escapes, none of which is shorter than what it stands for or longer than six times.
	if len(inner) <= len(name) || len(inner) > 6*len(name) {
		return false
	}
	var text string
	return json.Unmarshal(quoted, &text) == nil && text == name
}

// element returns the element of an array with this index.
func (j validJSON) element(index int) (validJSON, bool) {
	i := SkipJSONSpace(j, 0)
	if i >= len(j) || j[i] != '[' {
		return nil, false
	}
	for i = SkipJSONSpace(j, i+1); i < len(j) && j[i] != ']'; index-- {
		end := SkipJSON(j, i)
		if index == 0 {
			return j[i:end], true
		}
		if i = SkipJSONSpace(j, end); i < len(j) && j[i] == ',' {
			i = SkipJSONSpace(j, i+1)
		}
	}
	return nil, false
}
