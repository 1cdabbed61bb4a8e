package server

import (
	"net/http"
	"strings"
	"testing"
)

// revealing are the addresses that answer GET and leave an entry in the audit.
func revealing(s *site, scan, ref string) map[string]string {
	at := "scan=" + scan + "&ref=" + ref + "&pipeline=inventory&queue=" + inventoryDLQ
	return map[string]string{
		"the form to edit":      "/dead-letters/edit?" + at,
		"the download":          "/dead-letters/download?" + at,
		"the export":            "/pipelines/inventory/dead-letters.ndjson?scan=" + scan,
		"the export of the API": "/api/v1/dead-letters/export?scan=" + scan,
	}
}

func (s *site) auditEntries() int64 {
	s.t.Helper()
	state, err := s.journal.Audit().Verify(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return state.Entries
}

func TestALinkFromElsewhereLeavesNoEntryInTheAudit(t *testing.T) {
	const here = "http://127.0.0.1:8080"
	for _, c := range []struct {
		name    string
		headers []string
		opens   bool
	}{
		{"a link on a page of ours", []string{"Sec-Fetch-Site", "same-origin", "Referer", here + "/pipelines/inventory/dead-letters"}, true},
		{"a page of ours, over plain HTTP", []string{"Referer", here + "/dead-letters/message?ref=1"}, true},
		{"another site", []string{"Sec-Fetch-Site", "cross-site"}, false},
		{"another site that sends our address as Referer", []string{"Sec-Fetch-Site", "cross-site", "Referer", here + "/"}, false},
		{"a sibling host", []string{"Sec-Fetch-Site", "same-site"}, false},
		{"a mail, or the address typed", []string{"Sec-Fetch-Site", "none"}, false},
		{"another site, over plain HTTP", []string{"Referer", "http://evil.example/"}, false},
		{"another site that has our address in its path", []string{"Referer", "http://evil.example/" + here}, false},
		{"another port of this machine", []string{"Referer", "http://127.0.0.1:9999/"}, false},
		{"a site that hides itself, over plain HTTP", nil, false},
		{"a Referer that is no address", []string{"Referer", "http://127.0.0.1:8080\x7f/"}, false},
		{"the sign-in page, to which a link led", []string{"Sec-Fetch-Site", "same-origin", "Referer", here + "/login?next=%2Fdead-letters%2Fedit"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := stocked(t, nil)
			cookie := s.signInAs("admin")
			doc := s.looked("inventory", inventoryDLQ, "100")
			scan, ref := hiddenFields(doc.Find("form")).Get("scan"), firstRef(doc)
			for what, address := range revealing(s, scan, ref) {
				before := s.auditEntries()
				res := s.do("GET", address, "", append([]string{"Cookie", cookie}, c.headers...)...)
				body, after := s.body(res), s.auditEntries()
				switch {
				case c.opens && (res.StatusCode != http.StatusOK || after == before):
					t.Errorf("%s: %s with %d new entries", what, res.Status, after-before)
				case !c.opens && (res.StatusCode != http.StatusForbidden || after != before):
					t.Errorf("%s: %s with %d new entries", what, res.Status, after-before)
				case !c.opens && !strings.HasPrefix(address, "/api/") && !strings.Contains(body, `href="`+strings.ReplaceAll(address, "&", "&amp;")+`"`):
					t.Errorf("%s: the page that asks does not lead on:\n%s", what, body)
				}
				if res := s.as("admin", "GET", address, "", c.headers...); res.StatusCode != http.StatusOK {
					t.Errorf("%s: a token is refused: %s", what, res.Status)
				}
			}
		})
	}
}
