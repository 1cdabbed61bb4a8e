package codec

import (
	"encoding/json"
	"testing"
	"unicode"

	"dedup-dashboard/internal/dedup"
)

// FuzzDecode checks that no value panics the decoder, that it agrees with encoding/json on whole documents, and that
// what it says can be shown as it is.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{"processing", `{"status": "success", "result": [1, {"a": null}], "time": 1.5}`, `{"a":{"status":1}}`, `{"status`, "\xff", `{"status": "succ`, `{"status":"su\u0063cess"}`, "[[[["} {
		f.Add(seed)
	}
	k, err := New(Value{Codec: JSON, Path: "$.status", Time: "$.time", TimeUnit: Seconds},
		map[dedup.State][]string{dedup.Processing: {"processing"}, dedup.Done: {"success"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, value string) {
		d := k.Decode(value)
		state, detail := d.State, d.Detail
		if (state == dedup.StateUnknown) != (detail != "") {
			t.Fatalf("state %s, detail %q", state, detail)
		}
		for _, r := range detail {
			if !unicode.IsPrint(r) {
				t.Fatalf("detail %q holds %U", detail, r)
			}
		}
		var whole struct {
			Status *string `json:"status"`
		}
		if err := json.Unmarshal([]byte(value), &whole); err == nil && whole.Status == nil && state != dedup.StateUnknown && value != "processing" && value != "success" {
			t.Fatalf("%q has no status but is %s", value, state)
		}
		if state == dedup.Processing && value != "processing" && json.Valid([]byte(value)) && whole.Status == nil {
			t.Fatalf("%q is processing", value)
		}
	})
}

func TestValuesAreDecodedByTheirPath(t *testing.T) {
	for value, want := range map[string]string{
		`{"a": {"b": "x"}}`:                      "x",
		`{"a": {"c": {"b": 1}, "b": 7}}`:         "7",
		`{"a": {"b": true}}`:                     "true",
		`{"z": [{"a": 1}], "a": {"b": "late"}, `: "late",
		`{"b": "x"}`:                             "",
		`{"a": "x"}`:                             "",
		`{"a": {"b": {}}}`:                       "",
		`nonsense`:                               "",
	} {
		got, err := jsonMember(value, []string{"a", "b"})
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", value, got, err)
		}
	}
}
