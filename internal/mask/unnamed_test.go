package mask

import (
	"encoding/json"
	"testing"

	"dedup-dashboard/internal/message"
)

// TestAValueUnderNoNameIsHiddenInABody: Celery writes positional arguments as a list, and Symfony those of a stack trace.
func TestAValueUnderNoNameIsHiddenInABody(t *testing.T) {
	for body, want := range map[string]string{
		`[["ada", "hunter2", 7, null, true], {"password": "x", "n": [1, "a"]}, {"chain": null}]`: `[["***", "***", "***", null, true], {"password": "***", "n": [1, "a"]}, {"chain": null}]`,
		`[-4111, [[4.5e3]], []]`:            `["***", [["***"]], []]`,
		`[{"a": ["x"]}, "x", {"b": 1}]`:     `[{"a": ["x"]}, "***", {"b": 1}]`,
		`{"args": ["hunter", 7], "n": [7]}`: `{"args": ["hunter", 7], "n": [7]}`,
	} {
		l := message.Message{}
		l.Body = []byte(body)
		if got := New(Words()).Message(l); string(got.Body) != want || got.Why != "" {
			t.Errorf("%s became %s (%s)", body, got.Body, got.Why)
		}
	}
}

func TestWhatFollowsAHiddenNameInARowIsHidden(t *testing.T) {
	for row, want := range map[string]string{
		`[["password","hunter2"],["n",7]]`:             `[["password","***"],["n",7]]`,
		`["Host","h","X-Api-Key",["hunter2"],"a"]`:     `["Host","h","X-Api-Key","***","***"]`,
		`["token refused","a","com.shop.Token","b"]`:   `["token refused","a","com.shop.Token","b"]`,
		`["urn:message:Shop:Token","urn:message:X",1]`: `["urn:message:Shop:Token","urn:message:X",1]`,
	} {
		l := message.Message{}
		l.Body = []byte(`{"trace":` + row + `}`)
		var list any
		if err := json.Unmarshal([]byte(row), &list); err != nil {
			t.Fatal(err)
		}
		l.Headers = map[string]any{"trace": list, "text": row}
		got := New(Words()).Message(l)
		inHeader, err := json.Marshal(got.Headers["trace"])
		if err != nil || string(inHeader) != want {
			t.Errorf("in a header %s became %s, %v", row, inHeader, err)
		}
		if got.Headers["text"] != want {
			t.Errorf("in a text %s became %s", row, got.Headers["text"])
		}
		if want = `{"trace":` + want + `}`; string(got.Body) != want {
			t.Errorf("%s became %s", l.Body, got.Body)
		}
	}
}

func TestHowAnAccountSignsInAtAnAddressWithoutASchemeIsHidden(t *testing.T) {
	for text, want := range map[string]string{
		"dial shop:hun:t@er2@tcp(10.0.0.6:3306)/shop: refused":     "dial shop:***@tcp(10.0.0.6:3306)/shop: refused",
		`cannot reach "shop:hunter2@db.internal:5432/shop"`:        `cannot reach "shop:***@db.internal:5432/shop"`,
		"clone git:hunter2@host/repo":                              "clone git:***@host/repo",
		"10:30 rabbit@host:5672 is down":                           "10:30 rabbit@host:5672 is down",
		"node: rabbit@host is down":                                "node: rabbit@host is down",
		"at 10:30:00 by ada@example.org: no":                       "at 10:30:00 by ada@example.org: no",
		"urn:message:Shop@host/x":                                  "urn:message:Shop@host/x",
		"error: 42 @ line(7), see shop:x and ada@tcp(10.0.0.6:1)/": "error: 42 @ line(7), see shop:x and ada@tcp(10.0.0.6:1)/",
	} {
		if got := New(Words()).Begin().Text(text); got != want {
			t.Errorf("%q became %q, not %q", text, got, want)
		}
	}
}
