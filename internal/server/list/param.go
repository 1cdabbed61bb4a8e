// Package list is what lists have in common: it reads what an address asks of a list and writes links from the same description, sorts by
// column, cuts into pages, and writes tables for spreadsheets.
package list

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"dedup-dashboard/internal/dedup"
)

// A Param is one parameter of an address, bound to the field of a query that holds its value. One description reads it and writes it back.
type Param struct {
	name string
	// read gets what the address gives, nothing where the parameter is missing; it sets the default then.
	read func(given []string) error
	// write gives what a link says; nothing for the default, so that the plain list has the plain address.
	write func() []string
}

// Read fills the fields that the parameters are bound to. Other parameters of the address are ignored; the first bad value is an error
// that names its parameter and what it may be. Its field has the default then, so that a form can still show the rest.
func Read(values url.Values, params ...Param) error {
	var wrong error
	for _, p := range params {
		if err := p.read(values[p.name]); err != nil && wrong == nil {
			wrong = err
		}
	}
	return wrong
}

// Address is a path with the parameters, as their fields are.
func Address(path string, params ...Param) string {
	v := url.Values{}
	for _, p := range params {
		for _, word := range p.write() {
			v.Add(p.name, word)
		}
	}
	if len(v) == 0 {
		return path
	}
	return path + "?" + v.Encode()
}

// Bad says what is wrong with a parameter, in words that follow its name.
func Bad(name, problem string) error {
	return &dedup.Error{Kind: dedup.Invalid, Public: "The parameter " + name + " " + problem + "."}
}

// Func is a parameter that its own functions read and write; both take the empty text for none.
func Func(name string, read func(string) error, write func() string) Param {
	return Param{name, func(given []string) error { return read(first(given)) }, func() []string { return some(write()) }}
}

// Text is any text of at most so many bytes.
func Text[T ~string](name string, field *T, most int) Param {
	return Func(name, func(s string) error {
		if len(s) > most {
			return Bad(name, "is longer than "+strconv.Itoa(most)+" bytes")
		}
		*field = T(s)
		return nil
	}, func() string { return string(*field) })
}

// MustBe says which words a parameter may be: "must be a, b or c".
func MustBe[T ~string](allowed []T) string {
	words := make([]string, len(allowed))
	for i, w := range allowed {
		words[i] = string(w)
	}
	if last := len(words) - 1; last > 0 {
		return "must be " + strings.Join(words[:last], ", ") + " or " + words[last]
	}
	return "must be " + strings.Join(words, "")
}

// Choice is one of several words; fallback is chosen where none is given.
func Choice[T ~string](name string, field *T, fallback T, allowed []T) Param {
	return Func(name, func(s string) error {
		*field = fallback
		if s == "" || T(s) == fallback {
			return nil
		}
		if !slices.Contains(allowed, T(s)) {
			return Bad(name, MustBe(allowed))
		}
		*field = T(s)
		return nil
	}, func() string {
		if *field == fallback {
			return ""
		}
		return string(*field)
	})
}

// Many is any number of words, given several times or with commas between them. Must says which words there are.
func Many[T comparable](name string, field *[]T, parse func(string) (T, bool), word func(T) string, must string) Param {
	return Param{name, func(given []string) error {
		for _, w := range Words(given) {
			v, ok := parse(w)
			if !ok {
				return Bad(name, must)
			}
			if !slices.Contains(*field, v) {
				*field = append(*field, v)
			}
		}
		return nil
	}, func() []string {
		var words []string
		for _, v := range *field {
			words = append(words, word(v))
		}
		return words
	}}
}

// Words takes a parameter apart that was given several times or with commas.
func Words(given []string) []string {
	return slices.DeleteFunc(strings.Split(strings.Join(given, ","), ","), func(w string) bool { return w == "" })
}

// Flag is on with the value 1.
func Flag(name string, field *bool) Param {
	return Func(name, func(s string) error { *field = s == "1"; return nil }, func() string {
		if *field {
			return "1"
		}
		return ""
	})
}

// PageNumber is the parameter page, from 1 on.
func PageNumber(field *int) Param {
	return Func("page", func(s string) error {
		if *field = 1; s == "" {
			return nil
		}
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > 1_000_000 {
			return Bad("page", "must be a whole number from 1 to 1,000,000")
		}
		*field = n
		return nil
	}, func() string {
		if *field <= 1 {
			return ""
		}
		return strconv.Itoa(*field)
	})
}

// After is the number of the row behind which a page goes on. Must says what number it is.
func After(name string, field *int64, least int64, must string) Param {
	return Func(name, func(s string) error {
		if *field = 0; s == "" {
			return nil
		}
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < least {
			return Bad(name, must)
		}
		*field = n
		return nil
	}, func() string {
		if *field <= 0 {
			return ""
		}
		return strconv.FormatInt(*field, 10)
	})
}

// SortBy is the parameter sort: the key of a column, with a minus before it to reverse the order.
func SortBy(field *Order, fallback Order, keys []string) Param {
	return Func("sort", func(s string) error {
		if *field = fallback; s == "" {
			return nil
		}
		key, descending := strings.CutPrefix(s, "-")
		if !slices.Contains(keys, key) {
			return Bad("sort", MustBe(keys)+", with a - before it to reverse")
		}
		*field = Order{key, descending}
		return nil
	}, func() string {
		if *field == (Order{}) || *field == fallback {
			return ""
		}
		return field.String()
	})
}

func first(given []string) string {
	if len(given) == 0 {
		return ""
	}
	return given[0]
}

func some(word string) []string {
	if word == "" {
		return nil
	}
	return []string{word}
}
