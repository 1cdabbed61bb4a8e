package server

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/move"

	"github.com/PuerkitoBio/goquery"
)

// editing opens the form of the first message of a queue and returns what it sends when nothing is changed.
func (s *site) editing(t *testing.T) url.Values {
	t.Helper()
	href, _ := s.looked("inventory", inventoryDLQ, "10").Find(".letters .c-id a").First().Attr("href")
	form := s.page("admin", strings.Replace(href, "/message?", "/edit?", 1)).Find("form.edit-form")
	values := hiddenFields(form)
	values.Set("body", strings.TrimPrefix(form.Find("textarea").Text(), "\n"))
	form.Find("input[name=content_type], input[name=message_id], input[name^=value-]").Each(func(_ int, in *goquery.Selection) {
		name, _ := in.Attr("name")
		value, _ := in.Attr("value")
		values.Set(name, value)
	})
	return values
}

// answered posts a form to edit; the page is nil where it leads on.
func (s *site) answered(t *testing.T, values url.Values) (*goquery.Document, string) {
	t.Helper()
	res := s.as("admin", "POST", "/dead-letters/edit", values.Encode())
	if res.StatusCode == http.StatusSeeOther {
		return nil, res.Header.Get("Location")
	}
	if res.StatusCode != http.StatusUnprocessableEntity {
		t.Fatalf("%s: %.300s", res.Status, s.body(res))
	}
	doc, err := goquery.NewDocumentFromReader(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return doc, ""
}

func TestAnEditThatChangesNothingIsRefusedAndKeepsTheForm(t *testing.T) {
	s := stocked(t, nil)
	values := s.editing(t)
	doc, _ := s.answered(t, values)
	if doc == nil {
		t.Fatal("it is planned")
	}
	if got := oneLine(doc.Find("#form-error")); !strings.Contains(got, "Nothing is changed") {
		t.Errorf("it says %q", got)
	}
	values.Set("remove-0", "1")
	if doc, to := s.answered(t, values); doc != nil || !strings.HasPrefix(to, "/moves/") {
		t.Errorf("a header that is removed is no change: %s", oneLine(doc.Find("#form-error")))
	}
}

func TestABodyThatConsumersCannotReadIsSentOnlyWhenThatIsTicked(t *testing.T) {
	for name, c := range map[string]struct {
		body, typ string
		says      string // empty where nothing is asked
	}{
		"JSON that is cut":            {`{"sku":"A"`, "application/json", "not JSON"},
		"two values":                  {`{"a":1}{"b":2}`, "application/json; charset=utf-8", "not JSON"},
		"an own kind of JSON":         {`{"a":`, "application/vnd.shop.order+json", "not JSON"},
		"JSON without a content type": {`{"sku":"A"`, "", "was JSON"},
		"an emptied body":             {"", "application/json", "empty"},
		"blanks":                      {" \n", "text/plain", "empty"},
		"text that says so":           {"plain words", "text/plain", ""},
		"good JSON":                   {`{"sku":"B"}`, "application/json", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := stocked(t, nil)
			values := s.editing(t)
			values.Set("body", c.body)
			values.Set("content_type", c.typ)
			doc, to := s.answered(t, values)
			if c.says == "" {
				if doc != nil || !strings.HasPrefix(to, "/moves/") {
					t.Errorf("it is not planned: %s", oneLine(doc.Find(".field-error")))
				}
				return
			}
			if doc == nil {
				t.Fatal("it is planned without a question")
			}
			area := doc.Find("textarea[name=body]")
			describes, _ := area.Attr("aria-describedby")
			_, focused := area.Attr("autofocus")
			if invalid, _ := area.Attr("aria-invalid"); invalid != "true" || describes != "body-error" || !focused {
				t.Errorf("the field is invalid: %q, described by %q, focused: %t", invalid, describes, focused)
			}
			if got := oneLine(doc.Find("#body-error")); !strings.Contains(got, c.says) {
				t.Errorf("it says %q", got)
			}
			if got := strings.TrimPrefix(area.Text(), "\n"); got != c.body {
				t.Errorf("the field has %q", got)
			}
			values.Set("body_as_it_is", "1")
			if doc.Find("input[type=checkbox][name=body_as_it_is]").Length() != 1 {
				t.Error("there is nothing to tick")
			}
			if doc, to := s.answered(t, values); doc != nil || !strings.HasPrefix(to, "/moves/") {
				t.Error("ticked, it is not planned")
			}
		})
	}
}

func TestABodyThatWasNoJSONBeforeIsNotAskedAbout(t *testing.T) {
	l := deadletter.Letter{}
	l.ContentType, l.Body = "application/json", []byte("never was JSON")
	if got := (move.Edit{Body: []byte("still is not JSON")}).Doubt(l.Message); !strings.Contains(got, "not JSON") {
		t.Errorf("where the content type says JSON: %q", got)
	}
	l.ContentType = ""
	if got := (move.Edit{Body: []byte("still is not JSON")}).Doubt(l.Message); got != "" {
		t.Errorf("where nothing says JSON: %q", got)
	}
	l.Body = []byte(`{"a":1}`)
	if got := (move.Edit{Headers: map[string]string{"a": "b"}}).Doubt(l.Message); got != "" {
		t.Errorf("a body that stays: %q", got)
	}
}

func TestAMistakeOfAnEditStandsAtItsField(t *testing.T) {
	for name, c := range map[string]struct {
		field, value string
		says         string
	}{
		"a header of the broker":   {"new-0", "x-death", "x-death"},
		"a header that is there":   {"new-1", "attempt", "is there already"},
		"the same header twice":    {"new-1", "corrected-by", "twice"},
		"a content type too long":  {"content_type", strings.Repeat("a", 300), "255 bytes"},
		"a message id too long":    {"message_id", strings.Repeat("a", 300), "255 bytes"},
		"a header's name too long": {"new-1", strings.Repeat("ü", 200), "255 bytes"},
		"a value without its name": {"new-value-1", "lonely", "name"},
	} {
		t.Run(name, func(t *testing.T) {
			s := stocked(t, nil)
			values := s.editing(t)
			values.Set("new-0", "corrected-by")
			values.Set("new-value-0", "ops")
			values.Set(c.field, c.value)
			doc, _ := s.answered(t, values)
			if doc == nil {
				t.Fatal("it is planned")
			}
			at := c.field
			if at == "new-value-1" {
				at = "new-1" // what is missing is the name
			}
			in := doc.Find("[name='" + at + "']")
			describes, _ := in.Attr("aria-describedby")
			_, focused := in.Attr("autofocus")
			ids := strings.Fields(describes)
			if invalid, _ := in.Attr("aria-invalid"); invalid != "true" || !focused || len(ids) == 0 {
				t.Fatalf("the field is invalid: %q, described by %q, focused: %t", invalid, describes, focused)
			}
			if got := oneLine(doc.Find("#" + ids[len(ids)-1])); !strings.Contains(got, c.says) {
				t.Errorf("it says %q", got)
			}
			if n := doc.Find("[autofocus]").Length(); n != 1 {
				t.Errorf("%d fields have the focus", n)
			}
			if got, _ := doc.Find("[name=new-value-0]").Attr("value"); got != "ops" {
				t.Errorf("what was typed is %q", got)
			}
		})
	}
}
