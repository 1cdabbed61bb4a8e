package server

import (
	"strings"
	"testing"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
	"dedup-dashboard/internal/server/api"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/lab/demo"
)

func TestDeathsAreToldApartFromWhatArrived(t *testing.T) {
	if v := show.Deaths(&dedup.BrokerDeaths{}, noon); !strings.Contains(v.Note, "publish there themselves") {
		t.Errorf("deaths are told as %q", v.Note)
	}
}

func TestDeathsByReasonAreShownAsOfTheWholeBroker(t *testing.T) {
	snap := demo.Scene("healthy", noon)
	p := &snap.Pipelines[0]
	_, doc := pipelinePage(t, snap, p.Pipeline.Name, "", demo.History{})
	text := strings.Join(strings.Fields(doc.Find("#deaths").Closest("section").Text()), " ")
	for _, want := range []string{"on the whole broker", "Rejected12/h", "Expired8/h", "Queue full4/h", "Delivery limit0/h", "Discarded in the last hour0"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in %s", want, text)
		}
	}
	p.BrokerDeaths = nil
	if _, doc := pipelinePage(t, snap, p.Pipeline.Name, "", demo.History{}); doc.Find("#deaths").Length() != 0 {
		t.Error("shown although nobody asks")
	}
}

func TestDeathsThatAreNotKnownAreNeverZero(t *testing.T) {
	why := "node http://n2 cannot be read: refused\u202e"
	d := &dedup.BrokerDeaths{Discarded: dedup.Unknown(dedup.Count, why)}
	for _, reason := range message.DeathReasons() {
		d.Reasons = append(d.Reasons, dedup.ReasonDeaths{Reason: reason, PerHour: dedup.Unknown(dedup.PerHour, why)})
	}
	if got := show.DeathsFact(d); got != "unknown" {
		t.Errorf("the card says %q", got)
	}
	v := show.Deaths(d, noon)
	for _, r := range v.Reasons {
		if r.Figure.Known || strings.Contains(r.Figure.Text, "0") {
			t.Errorf("%s is %+v", r.Label, r.Figure)
		}
	}
	if problems := show.DeathsProblem(d); len(problems) != 1 || !strings.Contains(problems[0].Text.Short, `refused\u202e`) || !strings.Contains(v.Why, "cannot be read") {
		t.Errorf("%+v, %q", problems, v.Why)
	}
	if j := api.DeathsOf(d, func(f dedup.Figure) web.FigureJSON { return web.FigureOf(f, noon) }); j.Rejected.Value != nil || j.Discarded.Why != why {
		t.Errorf("%+v", j)
	}
	d.Discarded = dedup.Exact(dedup.Measured, dedup.Count, 3, noon, "")
	if problems := show.DeathsProblem(d); len(problems) != 1 || !strings.Contains(problems[0].Text.Short, "3 messages died in the last hour") {
		t.Errorf("%+v", problems)
	}
	if api.DeathsOf(nil, nil) != nil || show.DeathsProblem(nil) != nil {
		t.Error("something of a broker that is not asked")
	}
}
