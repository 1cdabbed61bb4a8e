package marker

import (
	"cmp"
	"time"
	"unicode/utf8"

	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/web"
)

// markersJSON is the answer of /api/v1/pipelines/{name}/markers.
type markersJSON struct {
	Pipeline string `json:"pipeline"`
	Store    string `json:"store"`
	List     string `json:"list"`
	// At is when the list was read: the end of the last complete pass, or now for a live reading; null before the first.
	At   *time.Time `json:"at"`
	Live bool       `json:"live"`
	// Total is how many markers the last pass counted in the list; null when that is not known. Listed is how many of them
	// it kept, the oldest, and Matching how many of those pass the filter; null for a live reading.
	Total    *int64 `json:"total"`
	Listed   *int   `json:"listed"`
	Matching *int   `json:"matching"`
	// Examined counts the keys or rows that a live reading looked at; Next is the cursor to read on, empty at the end.
	Examined *int64       `json:"examined"`
	Next     string       `json:"next"`
	Blind    string       `json:"blind"`
	Actable  bool         `json:"actable"`
	WhyNot   string       `json:"why_not"`
	Markers  []markerJSON `json:"markers"`
}

// markerJSON is one marker. KeyBase64 is there where the key is not UTF-8, and Key would not be exact.
type markerJSON struct {
	Store       string     `json:"store"`
	ID          string     `json:"id"`
	Key         string     `json:"key"`
	KeyBase64   []byte     `json:"key_base64,omitempty"`
	State       string     `json:"state"`
	Status      string     `json:"status"`
	BusinessKey string     `json:"business_key"`
	Owner       string     `json:"owner"`
	Attempts    *int64     `json:"attempts"`
	Since       *time.Time `json:"since"`
	FirstSeen   *time.Time `json:"first_seen"`
	// Expires is null for a marker that never expires.
	Expires *time.Time `json:"expires"`
	Detail  string     `json:"detail"`
	Verdict string     `json:"verdict"`
	Reasons []string   `json:"reasons"`
	// Changed is what an operation did to the marker after the list was read; null for nothing.
	Changed *changeJSON `json:"changed"`
}

// changeJSON is what an operation did to a marker. By and Operation are empty for viewers.
type changeJSON struct {
	Result    string     `json:"result"`
	At        *time.Time `json:"at"`
	By        string     `json:"by"`
	Operation string     `json:"operation"`
}

func markerOf(m web.JudgedMarker) markerJSON {
	j := markerJSON{
		Store: m.Store, ID: m.ID, Key: m.Key, State: string(m.State), Status: m.Status, BusinessKey: m.BusinessKey, Owner: m.Owner,
		Attempts: m.Attempts, Since: web.Time(m.Since), FirstSeen: web.Time(m.FirstSeen), Expires: web.Time(m.Expires), Detail: m.Detail,
		Verdict: string(m.Verdict), Reasons: web.OrEmpty(m.Reasons),
	}
	if c := m.Changed; c != nil {
		j.Changed = &changeJSON{string(c.Result), web.Time(c.At), c.By, c.Operation}
	}
	if !utf8.ValidString(m.Key) {
		j.KeyBase64 = []byte(m.Key)
	}
	return j
}

// apiMarkers gives a list of markers, from the last complete pass or, for done, present and unknown ones, read live.
func (s *pages) apiMarkers(r *web.Request) (web.Response, error) {
	m, err := s.markersPage(r)
	if err = cmp.Or(err, m.wrong); err != nil {
		return nil, err
	}
	body := markersJSON{Pipeline: m.p.Pipeline.Name, Store: m.p.Pipeline.Store, List: string(m.q.state), Live: m.q.live(), Actable: m.missing == "", WhyNot: m.missing, Markers: []markerJSON{}}
	if m.st != nil {
		body.Blind = m.st.Scheme.Blind
	}
	if n := m.total(m.q.state); n >= 0 {
		body.Total = &n
	}
	if m.q.live() {
		m.browse(s, r)
		if m.liveErr != nil {
			return nil, m.liveErr
		}
		for i, x := range m.live.Markers {
			x.Store = cmp.Or(x.Store, m.p.Pipeline.Store)
			j := web.JudgedMarker{Marker: x}
			if i < len(m.live.Verdicts) {
				j.Verdict = m.live.Verdicts[i]
			}
			body.Markers = append(body.Markers, markerOf(j))
		}
		body.At, body.Examined, body.Next = web.Time(m.live.At), &m.live.Examined, m.live.Next
		return web.JSON{Value: body}, nil
	}
	m.listJSON(&body)
	return web.JSON{Value: body}, nil
}

// listJSON fills the answer from the last complete pass.
func (m markersPage) listJSON(body *markersJSON) {
	if m.st != nil && m.st.Stats.Pass != nil {
		body.At = web.Time(m.st.Stats.Pass.Ended)
	}
	from := m.selected()
	matching := len(from.matching)
	body.Markers = list.Map(list.Page(from.matching, markersPerPage, m.q.page), markerOf)
	body.Listed, body.Matching = &from.listed, &matching
}

// lookupJSON is the answer of /api/v1/lookup.
type lookupJSON struct {
	Term   string            `json:"term"`
	At     *time.Time        `json:"at"`
	Stores []lookupStoreJSON `json:"stores"`
}

type lookupStoreJSON struct {
	Store string  `json:"store"`
	Took  float64 `json:"took_seconds"`
	// Error says why the store could not answer; then Found is empty and says nothing.
	Error string       `json:"error"`
	Found []lookedJSON `json:"found"`
}

type lookedJSON struct {
	markerJSON
	Retry *retryJSON `json:"retry"`
}

type retryJSON struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// apiLookup looks an id or business key up in every store.
func (s *pages) apiLookup(r *web.Request) (web.Response, error) {
	result, err := s.lookedUp(r, r.URL.Query().Get("id"))
	if err != nil {
		return nil, err
	}
	body := lookupJSON{Term: result.Term, At: web.Time(result.At), Stores: []lookupStoreJSON{}}
	for _, a := range result.Stores {
		st := lookupStoreJSON{Store: a.Store, Took: a.Took.Seconds(), Error: a.Err, Found: []lookedJSON{}}
		for _, f := range a.Found {
			f.Store = a.Store
			j := lookedJSON{markerJSON: markerOf(web.JudgedMarker{Marker: f.Marker, Verdict: f.Verdict, Reasons: f.Reasons})}
			if f.Retry != nil {
				j.Retry = &retryJSON{f.Retry.Key, f.Retry.Value}
			}
			st.Found = append(st.Found, j)
		}
		body.Stores = append(body.Stores, st)
	}
	return web.JSON{Value: body}, nil
}
