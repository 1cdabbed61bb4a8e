package audit

import (
	"context"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/server/web"
)

// readWithin bounds a reading of the trail by a program.
const readWithin = 5 * time.Second

// entriesJSON is the answer of /api/v1/audit.
type entriesJSON struct {
	Entries []entryJSON `json:"entries"`
	// Before is the number to give as ?before= for older entries; null at the end.
	Before *int64 `json:"before"`
	// Note says why there are none where no pipeline or store of the name is configured; else empty.
	Note string `json:"note"`
}

type entryJSON struct {
	Number    int64      `json:"number"`
	At        *time.Time `json:"at"`
	Operation string     `json:"operation"`
	Phase     string     `json:"phase"`
	Who       string     `json:"who"`
	Role      string     `json:"role"`
	Method    string     `json:"method"`
	From      string     `json:"from"`
	Action    string     `json:"action"`
	Target    string     `json:"target"`
	Reason    string     `json:"reason"`
	Before    string     `json:"state_before"`
	After     string     `json:"state_after"`
	web.ValueHashes
	Detail string `json:"detail"`
}

// actsJSON is the answer of /api/v1/audit?view=operations.
type actsJSON struct {
	Operations []actJSON `json:"operations"`
	// Before is the number to give as ?before= for older ones; null at the end.
	Before *int64 `json:"before"`
	Note   string `json:"note"`
}

// actJSON is one action: the entry that began it, its outcome, and when and with which counts it ended.
type actJSON struct {
	entryJSON
	// Outcome is succeeded, failed, changed, unknown, denied, planned, or intent for one without an outcome yet.
	Outcome string     `json:"outcome"`
	Ended   *time.Time `json:"ended"`
	Result  string     `json:"result"`
}

// entries gives a page of the audit, newest first.
func (s *pages) entries(r *web.Request) (web.Response, error) {
	q, whole, err := parseQuery(r.URL.Query(), r.Now())
	if err != nil {
		return nil, err
	}
	if q.view == viewOperations && !whole {
		return s.acts(r, q.AuditQuery)
	}
	service, err := s.trail()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), readWithin)
	defer cancel()
	got, err := service.Audit(ctx, r.Asker(), q.AuditQuery)
	if err != nil {
		return nil, err
	}
	body := entriesJSON{Entries: []entryJSON{}}
	for _, e := range got {
		body.Entries = append(body.Entries, s.entryOf(r, e))
	}
	if len(got) == q.Limit {
		body.Before = &got[len(got)-1].Number
	}
	if len(got) == 0 {
		body.Note = web.NotConfigured(s.deps.Snapshots.Snapshot(), q.Pipeline, q.Store)
	}
	return web.JSON{Value: body}, nil
}

// acts gives a page of what was done, newest first.
func (s *pages) acts(r *web.Request, q admin.AuditQuery) (web.Response, error) {
	service, err := s.trail()
	if err != nil {
		return nil, err
	}
	acts, err := service.Acts(r.Context(), r.Asker(), q)
	if err != nil {
		return nil, err
	}
	body := actsJSON{Operations: []actJSON{}}
	for _, a := range acts {
		body.Operations = append(body.Operations, actJSON{s.entryOf(r, a.Entry), actOutcome(a), web.Time(a.Outcome.At), a.Outcome.Detail})
	}
	if len(acts) == q.Limit {
		body.Before = &acts[len(acts)-1].Entry.Number
	}
	if len(acts) == 0 {
		body.Note = web.NotConfigured(s.deps.Snapshots.Snapshot(), q.Pipeline, q.Store)
	}
	return web.JSON{Value: body}, nil
}

func (s *pages) entryOf(r *web.Request, e admin.Entry) entryJSON {
	return entryJSON{
		Number: e.Number, At: web.Time(e.At), Operation: e.Operation, Phase: e.Phase, Who: e.Who, Role: e.Role, Method: e.Method, From: e.From,
		Action: e.Action, Target: e.Target, Reason: e.Reason, Before: e.Before, After: e.After, ValueHashes: s.site.Masker.ValueHashesOf(r.Who, e.Hash), Detail: e.Detail,
	}
}
