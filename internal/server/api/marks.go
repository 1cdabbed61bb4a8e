package api

import (
	"context"
	"net/http"
	"slices"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/web"
)

// markService keeps what people and deployments say happened; *mark.Marks is one. Its errors are *dedup.Error.
type markService interface {
	Add(ctx context.Context, who admin.Caller, mark dedup.Mark) (dedup.Mark, error)
	List(ctx context.Context) ([]dedup.Mark, error)
}

// MarkJSON is a mark. Pipeline is null for one of all pipelines.
type MarkJSON struct {
	At       *time.Time `json:"at"`
	Pipeline *string    `json:"pipeline"`
	Text     string     `json:"text"`
	By       string     `json:"by"`
	Made     *time.Time `json:"made_at"`
}

func markOf(m dedup.Mark) MarkJSON {
	j := MarkJSON{At: web.Time(m.At), Text: m.Text, By: m.By, Made: web.Time(m.Made)}
	if m.Pipeline != "" {
		j.Pipeline = &m.Pipeline
	}
	return j
}

// addMarkJSON asks to keep a mark. Without a time it is of now, without a pipeline of all.
type addMarkJSON struct {
	Text     string     `json:"text"`
	Pipeline string     `json:"pipeline"`
	At       *time.Time `json:"at"`
}

// addMark keeps a mark.
func (a *API) addMark(r *web.Request) (web.Response, error) {
	service, err := a.marking()
	if err != nil {
		return nil, err
	}
	var body addMarkJSON
	if err := web.ReadJSON(r, &body); err != nil {
		return nil, err
	}
	asked := dedup.Mark{Text: body.Text, Pipeline: body.Pipeline}
	if body.At != nil {
		asked.At = *body.At
	}
	mark, err := service.Add(r.Context(), r.Asker(), asked)
	if err != nil {
		return nil, err
	}
	return web.JSON{Status: http.StatusCreated, Value: markOf(mark)}, nil
}

// listMarks lists the newest marks, oldest first: of one pipeline, those of all pipelines among them, where the query names it.
func (a *API) listMarks(r *web.Request) (web.Response, error) {
	service, err := a.marking()
	if err != nil {
		return nil, err
	}
	all, err := service.List(r.Context())
	if err != nil {
		return nil, err
	}
	pipeline := r.URL.Query().Get("pipeline")
	body := struct {
		Marks []MarkJSON `json:"marks"`
		// Note says that no pipeline of the name is configured, where no mark is of it alone; else empty.
		Note string `json:"note"`
	}{Marks: []MarkJSON{}}
	if !slices.ContainsFunc(all, func(m dedup.Mark) bool { return m.Pipeline == pipeline }) {
		body.Note = web.NotConfigured(a.deps.Snapshots.Snapshot(), pipeline, "")
	}
	for _, m := range all {
		if pipeline == "" || m.Pipeline == "" || m.Pipeline == pipeline {
			body.Marks = append(body.Marks, markOf(m))
		}
	}
	return web.JSON{Value: body}, nil
}

// marking returns what keeps marks.
func (a *API) marking() (markService, error) {
	if a.deps.Marks == nil {
		return nil, web.Unavailable("This dashboard was started without a journal of marks")
	}
	return a.deps.Marks, nil
}
