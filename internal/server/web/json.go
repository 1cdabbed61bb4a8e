package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"reflect"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
)

// Time returns nil for what JSON cannot say: no time, and one beyond the year 9999, of which the answer would fail as a whole.
func Time(t time.Time) *time.Time {
	if t.IsZero() || t.Year() < 0 || t.Year() > 9999 {
		return nil
	}
	t = t.UTC()
	return &t
}

// Number returns nil for what JSON cannot say: NaN and infinities.
func Number(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// OrEmpty returns an empty list for a nil one, so that JSON says [] and not null.
func OrEmpty[T any](some []T) []T {
	if some == nil {
		return []T{}
	}
	return some
}

// ReadJSON reads the body of a request strictly: an unknown field is an error, so that a typing mistake cannot widen a plan.
func ReadJSON(r *Request, into any) error {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return FormError(err)
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		var shape *json.UnmarshalTypeError
		if errors.As(err, &shape) {
			return &dedup.Error{Kind: dedup.Invalid, Public: shapeText(shape), Err: err}
		}
		return &dedup.Error{Kind: dedup.Invalid, Public: "The body is not the JSON that this address takes: " + show.Clean(err.Error(), 200), Err: err}
	}
	if _, err := dec.Token(); err != io.EOF {
		return Invalid("The body has something after its JSON object")
	}
	return nil
}

// shapeText says what is wanted in place of a value of another kind, without the names of our types.
func shapeText(e *json.UnmarshalTypeError) string {
	value, number, _ := strings.Cut(e.Value, " ") // of a number that does not fit it has the digits too
	wanted := jsonKind(e.Type)
	if number != "" && value == "number" {
		if wanted == "a number" {
			wanted = "a whole number that fits"
		}
		return show.Clean(fieldText(e.Field)+" must be "+wanted+", not "+number, 200)
	}
	return show.Clean(fieldText(e.Field)+" must be "+wanted+", not "+withArticle(value), 200)
}

func fieldText(field string) string {
	if field == "" {
		return "The body"
	}
	return field
}

func withArticle(value string) string {
	switch value {
	case "bool":
		return "true or false"
	case "array", "object":
		return "an " + value
	}
	return "a " + value
}

// jsonKind is what JSON calls the values of a type.
func jsonKind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return jsonKind(t.Elem())
	case reflect.String:
		if t == reflect.TypeFor[json.Number]() {
			return "a number"
		}
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 { // bytes are written as base64
			return "a string"
		}
		return "an array"
	case reflect.Struct:
		if t == reflect.TypeFor[time.Time]() {
			return "a string"
		}
		return "an object"
	case reflect.Map:
		return "an object"
	}
	return "a number"
}

// Start asks to carry a plan out. Its token, the header Idempotency-Key, makes a repeated request harmless.
type Start struct {
	Reason  string `json:"reason"`
	Confirm string `json:"confirm"`
	Token   string `json:"-"`
}

// ReadStart reads how a plan is to be carried out.
func ReadStart(r *Request) (Start, error) {
	s := Start{Token: r.Header.Get("Idempotency-Key")}
	if err := ReadJSON(r, &s); err != nil {
		return s, err
	}
	if len(s.Token) > 200 {
		return s, Invalid("The header Idempotency-Key has more than 200 bytes")
	}
	return s, nil
}
