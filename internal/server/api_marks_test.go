package server

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/api"
	"dedup-dashboard/lab/demo"
)

func marking(t *testing.T) *site {
	s := newSite(t, nil, testUsers())
	snap := demo.Scene("healthy", time.Now())
	snap.Pipelines[0].Pipeline.Name = "orders"
	s.snapshots.snap.Store(snap)
	return s
}

func (s *site) mark(token, body string) *http.Response {
	s.t.Helper()
	return s.do("POST", "/api/v1/marks", body, "Authorization", "Bearer "+token, "Content-Type", "application/json")
}

func TestADeploymentMarksWhatItDid(t *testing.T) {
	s := marking(t)
	at := time.Now().Add(-time.Hour).UTC().Truncate(time.Millisecond)
	res := s.mark(operatorToken, `{"text": "<b>orders</b> 4.2 out", "pipeline": "orders", "at": "`+at.Format(time.RFC3339Nano)+`"}`)
	var made api.MarkJSON
	if err := json.Unmarshal([]byte(s.body(res)), &made); err != nil || res.StatusCode != http.StatusCreated {
		t.Fatal(res.Status, err)
	}
	if !made.At.Equal(at) || *made.Pipeline != "orders" || made.Text != "<b>orders</b> 4.2 out" || made.By != "o" || made.Made == nil {
		t.Errorf("%+v", made)
	}
	if res := s.mark(adminToken, `{"text": "switch replaced"}`); res.StatusCode != http.StatusCreated {
		t.Fatal(res.Status)
	}
	for _, tt := range []struct{ query, want string }{
		{"", "<b>orders</b> 4.2 out|switch replaced"}, {"?pipeline=orders", "<b>orders</b> 4.2 out|switch replaced"}, {"?pipeline=emails", "switch replaced"},
	} {
		var list struct{ Marks []api.MarkJSON }
		if err := json.Unmarshal([]byte(s.body(s.do("GET", "/api/v1/marks"+tt.query, "", "Authorization", "Bearer "+viewerToken))), &list); err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, m := range list.Marks {
			texts = append(texts, m.Text)
		}
		if strings.Join(texts, "|") != tt.want {
			t.Errorf("%s: %q", tt.query, texts)
		}
	}
	entries := s.body(s.do("GET", "/api/v1/audit", "", "Authorization", "Bearer "+operatorToken))
	if strings.Count(entries, `"add_mark"`) < 2 {
		t.Errorf("the audit: %s", entries)
	}
}

func TestAMarkThatCannotBeIsRefused(t *testing.T) {
	s := marking(t)
	later := time.Now().Add(time.Hour).Format(time.RFC3339)
	for _, tt := range []struct {
		name, token, body, words string
		status                   int
	}{
		{"by a viewer", viewerToken, `{"text": "x"}`, "operator", http.StatusForbidden},
		{"without a text", operatorToken, `{"text": "  "}`, "1 to 200 characters", http.StatusBadRequest},
		{"with too long a text", operatorToken, `{"text": "` + strings.Repeat("é", 201) + `"}`, "1 to 200 characters", http.StatusBadRequest},
		{"over two lines", operatorToken, `{"text": "a\nb"}`, "one line", http.StatusBadRequest},
		{"that changes the reading direction", operatorToken, `{"text": "evil\u202etxt"}`, "one line", http.StatusBadRequest},
		{"of the future", operatorToken, `{"text": "x", "at": "` + later + `"}`, "future", http.StatusBadRequest},
		{"of the distant past", operatorToken, `{"text": "x", "at": "1970-01-01T00:00:00Z"}`, "30 days", http.StatusBadRequest},
		{"of a time that is none", operatorToken, `{"text": "x", "at": "noon"}`, "not the JSON", http.StatusBadRequest},
		{"of no pipeline that there is", operatorToken, `{"text": "x", "pipeline": "<i>"}`, "There is no pipeline", http.StatusNotFound},
		{"with a field that there is not", operatorToken, `{"text": "x", "colour": "red"}`, "not the JSON", http.StatusBadRequest},
		{"of more than a megabyte", operatorToken, `{"text": "` + strings.Repeat("a", maxBodyBytes) + `"}`, "", http.StatusRequestEntityTooLarge},
	} {
		res := s.mark(tt.token, tt.body)
		if body := s.body(res); res.StatusCode != tt.status || !strings.Contains(body, tt.words) {
			t.Errorf("a mark %s: %s %.300s", tt.name, res.Status, body)
		}
	}
	kept, err := s.journal.Marks().MarksSince(t.Context(), time.Time{}, 10)
	if err != nil || len(kept) != 0 {
		t.Errorf("kept all the same: %+v, %v", kept, err)
	}
}

func TestAMarkStandsOnTheTrackOfItsPipeline(t *testing.T) {
	s := marking(t)
	snap := demo.Scene("healthy", time.Now())
	snap.Pipelines[0].Pipeline.Name = "orders"
	snap.Pipelines[0].Events = []dedup.Event{{At: time.Now().Add(-time.Minute), Kind: dedup.EventMark, Text: "<b>orders</b> 4.2 out, marked by ci"}}
	s.snapshots.snap.Store(snap)
	events := oneLine(s.page("viewer", "/pipelines/orders").Find("ol.events"))
	if !strings.Contains(events, "deploy <b>orders</b> 4.2 out, marked by ci") {
		t.Errorf("the track says %q", events)
	}
}
