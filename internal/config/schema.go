package config

import (
	"reflect"
	"slices"
	"strings"
)

// typeAt returns the Go type that the value at a path is read into, nil where the file has no such place.
func typeAt(path string) reflect.Type {
	t := reflect.TypeFor[file]()
	for _, step := range steps(path) {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		switch t.Kind() {
		case reflect.Slice, reflect.Map:
			t = t.Elem()
		case reflect.Struct:
			field, ok := fields(t)[step]
			if !ok {
				return nil
			}
			t = field
		default:
			return nil
		}
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// fields returns the types of the keys that a struct is read from.
func fields(t reflect.Type) map[string]reflect.Type {
	all := map[string]reflect.Type{}
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		switch {
		case !field.IsExported() || name == "-":
		case options == "inline":
			for inner, of := range fields(field.Type) {
				all[inner] = of
			}
		case name != "":
			all[name] = field.Type
		}
	}
	return all
}

// meant returns the key beside an unknown one that was most likely meant; empty when none is alike.
func meant(parent, unknown string) string {
	t := typeAt(parent)
	if t == nil || t.Kind() != reflect.Struct {
		return ""
	}
	const most = 2
	best, least := "", most+1
	for name := range fields(t) {
		// A short key is like many others.
		if d := distance(unknown, name); d <= most && 2*d < len(name) && (d < least || d == least && name < best) {
			best, least = name, d
		}
	}
	return best
}

// distance is the least number of letters to insert, delete or replace that makes b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// parent returns the path without its last key.
func parent(path string) string {
	i := max(strings.LastIndexByte(path, '.'), 0)
	return path[:i]
}

// within reports whether a path is one of others, or below one of them.
func within(path string, others []string) bool {
	return slices.ContainsFunc(others, func(o string) bool {
		rest, below := strings.CutPrefix(path, o)
		return below && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}
