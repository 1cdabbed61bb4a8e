package deadletter

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"dedup-dashboard/internal/admin/baseline"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// baselines acknowledges dead letters; *baseline.Baselines is one. Its errors are *dedup.Error.
type baselines interface {
	Acknowledge(ctx context.Context, who admin.Caller, pipeline string, seen baseline.SeenDeadLetters, reason string) (dedup.Baseline, error)
	Forget(ctx context.Context, who admin.Caller, pipeline, reason string) error
	WhyNot() string
}

// Baselines are what pages show of acknowledged dead letters. They are safe for concurrent use.
type Baselines struct{ service baselines }

// NewBaselines returns what acknowledges dead letters by a service; without one nobody can.
func NewBaselines(s baselines) Baselines { return Baselines{s} }

// baselinePages answer with what was acknowledged.
type baselinePages struct {
	Baselines
	site web.Site
}

// Pages returns the routes that acknowledge dead letters.
func (b Baselines) Pages(site web.Site) []web.Route {
	s := baselinePages{b, site}
	const of = "/pipelines/{name}/dead-letters/baseline"
	return []web.Route{
		web.Post(of, auth.Operator, s.acknowledge), web.Post(of+"/remove", auth.Operator, s.forget),
		web.APIPost(of, auth.Operator, s.apiAcknowledge), web.APIPost(of+"/remove", auth.Operator, s.apiForget),
	}
}

// acknowledging returns what acknowledges dead letters.
func (b Baselines) acknowledging() (baselines, error) {
	if b.service == nil {
		return nil, web.Unavailable("This dashboard was started without a journal of acknowledged dead letters")
	}
	return b.service, nil
}

// View shows what of a pipeline's dead letters is acknowledged, and the forms that change it.
func (b Baselines) View(r *web.Request, p *dedup.PipelineStatus, path string, now time.Time) templates.BaselineView {
	depth := p.DeadLetters
	if b.service == nil || (p.Baseline == nil && (!depth.Known() || depth.High < 1)) {
		return templates.BaselineView{}
	}
	v := templates.BaselineView{Shown: true, Line: templates.Sentence(baselineLine(p, now))}
	switch why := b.service.WhyNot(); {
	case why != "":
		v.WhyNot = "Nothing can be acknowledged here: " + show.EndSentence(why)
		return v
	case !r.Who.Can(auth.Operator):
		v.WhyNot = r.NeedsRole("Acknowledging dead letters", auth.Operator)
		return v
	}
	path += "/dead-letters/baseline"
	if p.Baseline != nil {
		v.Forget = path + "/remove"
	}
	if n := int64(depth.High); depth.Known() && n > 0 && (p.Baseline == nil || n > p.Baseline.Count) {
		v.Acknowledge, v.Count = path, strconv.FormatInt(n, 10)
		if !p.SharingUnknown {
			v.Own = strconv.FormatInt(int64(depth.Low), 10)
		}
		v.Button = "Acknowledge " + show.Counted(n, "dead letter")
	}
	return v
}

// baselineLine says what is acknowledged.
func baselineLine(p *dedup.PipelineStatus, now time.Time) string {
	b := p.Baseline
	if b == nil {
		return "None is acknowledged: each colours the board. Acknowledge those that are known, and only later ones do; the messages stay where they are."
	}
	text := show.Counted(b.Count, "dead letter") + " " + show.Plural(b.Count, "is", "are") + " acknowledged"
	if b.Count != b.Acknowledged {
		text += ", of " + templates.Number(b.Acknowledged) + " at first"
	}
	text += ", by " + show.Within(b.By) + " " + show.Moment(b.At, now).Text + ": “" + templates.Plain(b.Reason, 500).Short + "”. What lies beyond colours the board."
	switch {
	case !p.DeadLetters.IsInterval():
		return text
	case !b.Split:
		return text + " How many of them are in queues of this pipeline alone is not known: take it back and acknowledge again, else what happens in the shared queues can count as new here."
	}
	return text + " " + templates.Number(b.Own) + " of them " + show.Plural(b.Own, "is", "are") + " in queues of this pipeline alone, the rest in shared ones."
}

// acknowledge makes the dead letters that the page showed the baseline of a pipeline.
func (s baselinePages) acknowledge(r *web.Request) (web.Response, error) {
	service, err := s.acknowledging()
	if err != nil {
		return nil, err
	}
	count, err := strconv.ParseInt(r.PostForm.Get("count"), 10, 64)
	if err != nil {
		return nil, list.Bad("count", "must be the number of dead letters that the page showed")
	}
	seen := baseline.SeenDeadLetters{Count: count, Own: -1}
	if own := r.PostForm.Get("own"); own != "" {
		if seen.Own, err = strconv.ParseInt(own, 10, 64); err != nil || seen.Own < 0 {
			return nil, list.Bad("own", "must be the number of the pipeline's own dead letters that the page showed")
		}
	}
	if _, err := service.Acknowledge(r.Context(), r.Asker(), r.PathValue("name"), seen, strings.TrimSpace(r.PostForm.Get("reason"))); err != nil {
		return nil, err
	}
	return s.toDeadLetters(r), nil
}

// forget takes an acknowledgement back.
func (s baselinePages) forget(r *web.Request) (web.Response, error) {
	service, err := s.acknowledging()
	if err != nil {
		return nil, err
	}
	if err := service.Forget(r.Context(), r.Asker(), r.PathValue("name"), strings.TrimSpace(r.PostForm.Get("reason"))); err != nil {
		return nil, err
	}
	return s.toDeadLetters(r), nil
}

func (s baselinePages) toDeadLetters(r *web.Request) web.Response {
	return web.Redirect{To: s.site.Base + "/pipelines/" + url.PathEscape(r.PathValue("name")) + "#dead-title"}
}

// acknowledgeJSON asks to acknowledge as many dead letters as the caller has seen, and of them in queues of the pipeline alone.
type acknowledgeJSON struct {
	Count  int64  `json:"count"`
	Own    *int64 `json:"own"`
	Reason string `json:"reason"`
}

func (s baselinePages) apiAcknowledge(r *web.Request) (web.Response, error) {
	service, err := s.acknowledging()
	if err != nil {
		return nil, err
	}
	var body acknowledgeJSON
	if err := web.ReadJSON(r, &body); err != nil {
		return nil, err
	}
	seen := baseline.SeenDeadLetters{Count: body.Count, Own: -1}
	if body.Own != nil {
		if seen.Own = *body.Own; seen.Own < 0 {
			return nil, list.Bad("own", "must not be below 0")
		}
	}
	line, err := service.Acknowledge(r.Context(), r.Asker(), r.PathValue("name"), seen, body.Reason)
	if err != nil {
		return nil, err
	}
	return web.JSON{Status: http.StatusCreated, Value: web.BaselineOf(&line)}, nil
}

func (s baselinePages) apiForget(r *web.Request) (web.Response, error) {
	service, err := s.acknowledging()
	if err != nil {
		return nil, err
	}
	var body struct {
		Reason string `json:"reason"`
	}
	if err := web.ReadJSON(r, &body); err != nil {
		return nil, err
	}
	if err := service.Forget(r.Context(), r.Asker(), r.PathValue("name"), body.Reason); err != nil {
		return nil, err
	}
	return web.JSON{Value: map[string]bool{"removed": true}}, nil
}
