package web

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

func TestAValueOfAnotherKindIsToldWithoutTheNamesOfOurTypes(t *testing.T) {
	for body, want := range map[string]string{
		`[]`:                   "The body must be an object, not an array",
		`"x"`:                  "The body must be an object, not a string",
		`{"text": 1}`:          "text must be a string, not a number",
		`{"text": {}}`:         "text must be a string, not an object",
		`{"keys": "a"}`:        "keys must be an array, not a string",
		`{"count": true}`:      "count must be a number, not true or false",
		`{"count": 1.5}`:       "count must be a whole number that fits, not 1.5",
		`{"dry": "yes"}`:       "dry must be true or false, not a string",
		`{"bytes": 1}`:         "bytes must be a string, not a number",
		`{"ttl": []}`:          "ttl must be a number, not an array",
		`{"in": {"text": []}}`: "in.text must be a string, not an array",
	} {
		var into struct {
			Text  string       `json:"text"`
			Keys  []string     `json:"keys"`
			Count int          `json:"count"`
			Dry   *bool        `json:"dry"`
			At    time.Time    `json:"at"`
			Bytes []byte       `json:"bytes"`
			TTL   *json.Number `json:"ttl"`
			In    struct {
				Text string `json:"text"`
			} `json:"in"`
		}
		r := &Request{Request: httptest.NewRequest("POST", "/", strings.NewReader(body))}
		err := ReadJSON(r, &into)
		var told *dedup.Error
		if !errors.As(err, &told) || told.Kind != dedup.Invalid || told.Public != want {
			t.Errorf("%s: %v, want %q", body, err, want)
		}
	}
}
