package mask

import (
	"encoding/base64"
	"encoding/json"
	"html"
	"net/url"
	"strings"
	"testing"

	"dedup-dashboard/internal/message"
)

// hiddenMembers are bodies that hold a secret which their names tell of, and not by the name right before it.
func hiddenMembers() map[string]string {
	inner := `{"password":"hunter2Secret","user":"ada"}`
	standard, forURL := base64.StdEncoding.EncodeToString([]byte(inner)), base64.RawURLEncoding.EncodeToString([]byte("["+inner+"]"))
	return map[string]string{
		"base64 of JSON":                         `{"data":"` + standard + `"}`,
		"base64 of a list, for addresses":        `{"args":["` + forURL + `"]}`,
		"base64 of JSON with line ends":          `{"data":"` + base64.StdEncoding.EncodeToString([]byte("{\n"+inner[1:])) + `"}`,
		"base64 of JSON that is cut":             `{"data":"` + standard[:len(standard)-5] + `"}`,
		"base64 of JSON behind words":            `{"data":"got ` + standard + ` from shop"}`,
		"base64 of base64":                       `{"data":"` + base64.StdEncoding.EncodeToString([]byte(`{"data":"`+standard+`"}`)) + `"}`,
		"a pair of name and value":               `{"headers":[{"name":"X-Api-Key","value":"hunter2Secret"}]}`,
		"a pair whose value stands first":        `{"attributes":[{"value":{"stringValue":"hunter2Secret"},"key":"user.password"}]}`,
		"a pair in Chinese":                      `{"字段":"密码","值":"hunter2Secret"}`,
		"a pair inside the value of another":     `{"key":"a","value":{"value":"hunter2Secret","key":"token"}}`,
		"a list of name and value":               `{"headers":[["Authorization","Xhunter2"],["Accept","x"]]}`,
		"the arguments of a command":             `{"args":["mysql","--password","hunter2Secret","shop"]}`,
		"the arguments of a command in one text": `{"cmd":"mysql --password hunter2Secret shop"}`,
		"words in the plural in German":          `{"Passwörter":["hunter2Secret"],"kennwoerter":"hunter2Secret"}`,
		"German words":                           `{"Zugangsschlüssel":"hunter2Secret","kontoinhaber":"hunter2Secret","karteninhaber":"hunter2Secret"}`,
		"Chinese words":                          `{"账户":"hunter2Secret","联系方式":"hunter2Secret","客户名称":"hunter2Secret","用户":{"名字":"hunter2Secret"},"yinhangka":"hunter2Secret"}`,
		"short words":                            `{"db_pass":"hunter2Secret","dbpass":"hunter2Secret","pw":"hunter2Secret","AccountKey":"hunter2Secret"}`,
		"a form of an object":                    `{"form":"card[number]=hunter2Secret&customer%5Bname%5D=hunter2Secret"}`,
		"a form with an encoded name":            `{"form":"a=1&` + url.QueryEscape("密码") + `=hunter2Secret"}`,
		"JSON that is encoded for addresses":     `{"msg":"` + url.QueryEscape(inner) + `"}`,
		"JSON that is encoded for HTML":          `{"msg":"got ` + html.EscapeString(inner) + `"}`,
		"XML that is encoded for HTML":           `{"msg":"` + html.EscapeString("<password>hunter2Secret</password>") + `"}`,
		"XML that is cut":                        `{"msg":"got <s:password>hunter2Sec"}`,
		"XML that is cut, with an attribute":     `{"msg":"<entry key=\"password\">hunter2Sec"}`,
		"YAML below a name":                      `{"msg":"credentials:\n  a: b\n  login: hunter2Secret\n"}`,
		"YAML of a person":                       `{"msg":"customer:\n  name: hunter2Secret\n"}`,
		"cookies":                                `{"msg":"Cookie: a=b; sid=hunter2Secret"}`,
		"what Digest signs in with":              `{"msg":"Authorization: Digest username=\"a\", response=\"hunter2Secret\""}`,
		"a token behind two spaces":              `{"msg":"Bearer  hunter2Secret"}`,
		"a token behind a tab":                   `{"msg":"Bearer\thunter2Secret"}`,
		"what PostgreSQL says of a key":          `{"msg":"Key (email)=(hunter2Secret) already exists."}`,
	}
}

func TestASecretIsHiddenWhateverTellsItsName(t *testing.T) {
	m := New(Words())
	for name, body := range hiddenMembers() {
		l := message.Message{}
		l.Body = []byte(body)
		got := m.Message(l)
		shown := string(got.Body)
		if !json.Valid(got.Body) || !got.Changed || strings.Contains(shown, "hunter2Sec") || strings.Contains(shown, "Xhunter2") || strings.Contains(shown, "eyJwYXNz") || strings.Contains(shown, "W3sicGFz") || strings.Contains(shown, "ewoicGFz") {
			t.Errorf("%s: %s is shown as %s (masked: %t)", name, body, shown, got.Changed)
		}
	}
}

func TestWhatTellsOfNoSecretIsShownAsItIs(t *testing.T) {
	m := New(Words())
	for _, body := range []string{
		`{"data":"` + base64.StdEncoding.EncodeToString([]byte(`{"order":"o-1","amount":1}`)) + `"}`,
		`{"key":"order","value":{"value":"a","name":"b"}}`,
		`{"fields":["order","country"],"required":["order","email"]}`,
		`{"type":"user.password.changed","data":{"order":1}}`,
		`{"msg":"100 % of a &amp; b, items[0]=x, list[int]: 3, a%20b"}`,
		`{"msg":"at List<String> of <html>"}`,
		`{"msg":"order:\n  id: 7\n"}`,
		`{"msg":"mysql --verbose shop"}`,
		`{"msg":"eyJ is how it begins"}`,
	} {
		l := message.Message{}
		l.Body = []byte(body)
		if got := m.Message(l); string(got.Body) != body || got.Changed {
			t.Errorf("%s is shown as %s (masked: %t)", body, got.Body, got.Changed)
		}
	}
	l := message.Message{}
	l.Headers = map[string]any{"a": map[string]any{"name": "password", "value": "hunter2"}, "b": map[string]any{"name": "order", "value": "o-1"}}
	got := m.Message(l).Headers
	if a, b := got["a"].(map[string]any), got["b"].(map[string]any); a["value"] != Hidden || b["value"] != "o-1" {
		t.Errorf("the pairs of headers: %v", got)
	}
}
