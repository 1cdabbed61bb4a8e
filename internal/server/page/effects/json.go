package effects

import (
	"time"

	"dedup-dashboard/internal/server/web"
)

// checkJSON is the answer of /api/v1/pipelines/{name}/effects. What no run has told is null.
type checkJSON struct {
	Pipeline string     `json:"pipeline"`
	At       *time.Time `json:"at"`
	LastTry  *time.Time `json:"last_try"`
	Next     *time.Time `json:"next"`
	Every    float64    `json:"every_seconds"`
	Took     *float64   `json:"took_seconds"`
	// Error says why the newest run failed; empty when it succeeded.
	Error string     `json:"error"`
	Since *time.Time `json:"since"`
	// Total counts the keys; AtLeast says that the answer was cut. Fresh are those of the last 24 hours, Baseline those of the first run.
	Total      *int64    `json:"total"`
	AtLeast    bool      `json:"at_least"`
	Fresh      *int64    `json:"fresh"`
	Baseline   *int64    `json:"baseline"`
	NullRows   *int64    `json:"null_rows"`
	SingleRows *int64    `json:"single_rows"`
	Keys       []keyJSON `json:"keys"`
}

type keyJSON struct {
	Key   string `json:"business_key"`
	Count int64  `json:"count"`
	// Found is null for a key that was there at the first run, or may have been.
	Found *time.Time `json:"found"`
	Hash  string     `json:"key_sha256_128"`
}

// api gives what the effect check of a pipeline found.
func (s pages) api(r *web.Request) (web.Response, error) {
	_, p, err := s.of(r)
	if err != nil {
		return nil, err
	}
	e := p.Effects
	if e == nil {
		return nil, noCheck(p)
	}
	body := checkJSON{Pipeline: p.Pipeline.Name, At: web.Time(e.At), LastTry: web.Time(e.LastTry), Next: web.Time(e.Next), Every: e.Every.Seconds(), Error: e.Err, Since: web.Time(e.Since), Keys: []keyJSON{}}
	if !e.At.IsZero() {
		body.Took, body.Total, body.AtLeast, body.Fresh, body.Baseline = web.Number(e.Took.Seconds()), &e.Total, e.AtLeast, &e.Fresh, &e.Baseline
		body.NullRows, body.SingleRows = &e.NullRows, &e.SingleRows
	}
	for _, k := range e.Keys {
		body.Keys = append(body.Keys, keyJSON{k.Key, k.Count, web.Time(k.Found), k.ID})
	}
	return web.JSON{Value: body}, nil
}
