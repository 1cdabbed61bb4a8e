package server

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"dedup-dashboard/internal/dedup"
)

// overviewQuery is the state of the overview that lives in its address.
type overviewQuery struct {
	text  string
	tiers []dedup.Tier
	// label and value select pipelines by one label; label is empty when none is selected.
	label string
	value string
	// sort is a column key; descending reverses it. The default is the worst first.
	sort       string
	descending bool
	page       int
}

const (
	sortWorst = "tier"
	perPage   = 50
	// textLimit bounds the search text, in bytes.
	textLimit = 200
)

// sortKeys are the columns that can be sorted by, in the order of the page, with the words of the form.
func sortKeys() [][2]string {
	return [][2]string{
		{"tier", "worst first"}, {"risk", "risk"}, {"name", "name"}, {"duplicates", "duplicate rate"},
		{"latency", "mean ack latency"}, {"dead-letters", "dead letters"}, {"processing", "processing markers"},
		{"backlog", "backlog"}, {"consumers", "consumers"}, {"activity", "last ack"},
	}
}

// parseOverviewQuery reads the parameters of the overview. Unknown parameters are ignored; a bad value is an error
// that names its parameter.
func parseOverviewQuery(values url.Values) (overviewQuery, error) {
	q := overviewQuery{text: values.Get("q"), sort: sortWorst, descending: true, page: 1}
	if len(q.text) > textLimit {
		return q, badParameter("q", "is longer than 200 bytes")
	}
	for _, word := range values["tier"] {
		for _, w := range strings.Split(word, ",") {
			tier, ok := dedup.ParseTier(w)
			if !ok {
				return q, badParameter("tier", "must be normal, warning, severe, emergency or unknown")
			}
			if !slices.Contains(q.tiers, tier) {
				q.tiers = append(q.tiers, tier)
			}
		}
	}
	if s := values.Get("label"); s != "" {
		name, value, ok := strings.Cut(s, "=")
		if !ok || name == "" {
			return q, badParameter("label", "must have the form name=value")
		}
		q.label, q.value = name, value
	}
	if s := values.Get("sort"); s != "" {
		key := strings.TrimPrefix(s, "-")
		if !slices.ContainsFunc(sortKeys(), func(k [2]string) bool { return k[0] == key }) {
			return q, badParameter("sort", "is not a column of this page")
		}
		q.sort, q.descending = key, key != s
	}
	if s := values.Get("page"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > 1_000_000 {
			return q, badParameter("page", "must be a whole number from 1")
		}
		q.page = n
	}
	return q, nil
}

func badParameter(name, problem string) error {
	return &dedup.Error{Kind: dedup.Invalid, Public: "The parameter " + name + " " + problem + "."}
}

// address writes the query back; defaults are left out, so that the plain page has the plain address.
func (q overviewQuery) address(base string) string {
	v := url.Values{}
	if q.text != "" {
		v.Set("q", q.text)
	}
	for _, t := range q.tiers {
		v.Add("tier", t.String())
	}
	if q.label != "" {
		v.Set("label", q.label+"="+q.value)
	}
	if key := q.sortValue(); key != "-"+sortWorst {
		v.Set("sort", key)
	}
	if q.page > 1 {
		v.Set("page", strconv.Itoa(q.page))
	}
	if len(v) == 0 {
		return base + "/"
	}
	return base + "/?" + v.Encode()
}

func (q overviewQuery) sortValue() string {
	if q.descending {
		return "-" + q.sort
	}
	return q.sort
}

func (q overviewQuery) filtered() bool {
	return q.text != "" || len(q.tiers) > 0 || q.label != ""
}

// matches reports whether a pipeline passes the filter.
func (q overviewQuery) matches(p *dedup.PipelineStatus, tier dedup.Tier) bool {
	if len(q.tiers) > 0 && !slices.Contains(q.tiers, tier) {
		return false
	}
	if q.label != "" && p.Pipeline.Labels[q.label] != q.value {
		return false
	}
	if q.text == "" {
		return true
	}
	text := strings.ToLower(q.text)
	if strings.Contains(strings.ToLower(p.Pipeline.Name), text) {
		return true
	}
	return slices.ContainsFunc(p.Pipeline.Queues, func(name string) bool {
		return strings.Contains(strings.ToLower(name), text)
	})
}
