package server

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/cause"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/api"
	"dedup-dashboard/internal/server/page/overview"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/web/templates"
)

const refusedText = "RabbitMQ on 127.0.0.1:15672 refuses connections: start it"

// darkened is a pipeline whose broker is down, in the tier that an alert from before gives it.
func darkened(name string, tier dedup.Tier) show.Judged {
	h := dedup.SourceHealth{Name: "broker main", Kind: "broker", Tried: true, Since: noon.Add(-time.Minute), Err: refusedText}
	p := &dedup.PipelineStatus{Pipeline: dedup.Pipeline{Name: name, Broker: "main", Limits: dedup.DefaultLimits()}, Down: []dedup.SourceHealth{h},
		Findings:    []dedup.Finding{{Kind: "stuck_markers", Tier: tier, Text: "3 markers are stuck"}},
		DeadLetters: dedup.Unknown(dedup.Count, "broker main cannot be read: "+refusedText), DeadLetterQueues: []dedup.DeadLetterQueue{{QueueRef: dedup.QueueRef{Vhost: "/", Name: name + ".dlq"}}}}
	return show.Judged{PipelineStatus: p, Verdict: alerts.Judge(p)}
}

func TestTheErrorOfASourceStandsOnceAndNotInEachRow(t *testing.T) {
	for _, tier := range []dedup.Tier{dedup.Normal, dedup.Severe} {
		snap := &dedup.Snapshot{Round: 1, At: noon, Interval: 15 * time.Second, Brokers: []dedup.BrokerStatus{{Name: "main", Health: darkened("a", tier).Down[0]}}}
		for _, name := range []string{"orders", "billing"} {
			snap.Pipelines = append(snap.Pipelines, *darkened(name, tier).PipelineStatus)
		}
		v := overview.View(snap, alerts.Judge, overview.Query{}, noon, templates.Frame{}, nobody)
		for _, row := range v.Rows {
			text := row.Why.Full + " " + row.Why.Short + row.Cause.Full
			if strings.Contains(text, "refuses") || !strings.Contains(strings.ToLower(text), "broker") {
				t.Errorf("%s: the row says %q; want that the broker is down, and its error on its card alone", tier, text)
			}
		}
		if tier == dedup.Severe && (!strings.Contains(v.Rows[0].Why.Full+v.Rows[0].Why.Short, "3 markers are stuck")) {
			t.Errorf("the row no longer says what else is wrong: %+v", v.Rows[0].Why)
		}
		for _, tile := range v.Tiers {
			if tile.Tier != "unknown" {
				continue
			}
			if tier == dedup.Severe && (tile.Count != 0 || !strings.HasPrefix(tile.Note, "+2 in part")) || tier == dedup.Normal && (tile.Count != 2 || tile.Note != "") {
				t.Errorf("%s: the tile of the unknown ones says %d, %q", tier, tile.Count, tile.Note)
			}
		}
	}
}

func TestACauseFromBeforeASourceWasLostIsNotToldAsOfNow(t *testing.T) {
	p := darkened("orders", dedup.Severe)
	p.Verdict.Cause = cause.Cause{Kind: cause.Producer}
	snap := &dedup.Snapshot{}
	if text := show.CauseText(snap, p, "", noon); text.Short != "" {
		t.Errorf("while the broker is down it blames: %q", text.Short)
	}
	if api.CauseOf(snap, p, "") != nil {
		t.Error("so does the API")
	}
	p.Down = nil
	if show.CauseText(snap, p, "", noon).Short == "" {
		t.Error("with all sources there it is told no more")
	}
}
