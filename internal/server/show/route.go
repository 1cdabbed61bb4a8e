package show

import (
	"fmt"
	"strings"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/web/templates"
)

// Routes shows the ways of a pipeline's dead letters.
func Routes(p *dedup.PipelineStatus) templates.RouteTable {
	t := templates.RouteTable{Sum: templates.Sentence(routeSum(p.DeadLetterRoutes))}
	for _, r := range p.DeadLetterRoutes {
		t.Rows = append(t.Rows, routeRow(r))
	}
	if n := p.RoutesLeftOut; n > 0 {
		t.LeftOut = fmt.Sprintf("%s %s left out.", Counted(n, "more way"), Plural(n, "is", "are"))
	}
	return t
}

func routeRow(r dedup.DeadLetterRoute) templates.RouteRow {
	row := templates.RouteRow{
		Source: Key(r.Source.Name), Exchange: Key(r.Exchange), Key: Key(r.RoutingKey),
		Target: Key(r.Target.Name), Role: roleWord(r.Role), Tier: roleTier(r.Role), Possible: !r.Certain,
		Origin: Statement(originWords(r.Origin)), Note: Statement(r.Note),
	}
	switch {
	case r.Source.Name == "":
		row.ExchangeWord = "not known"
		return row
	case r.Origin == "":
		row.ExchangeWord, row.Key = "no dead-letter exchange", templates.Text{}
		return row
	case r.Exchange == "":
		row.ExchangeWord = "the default exchange"
	}
	if r.KeyKept {
		row.KeyWord = "each message keeps its own keys"
	} else if r.RoutingKey == "" {
		row.KeyWord = "with the empty key"
	}
	return row
}

func originWords(origin string) string {
	if origin == "listed" {
		return "listed in the configuration"
	}
	return origin
}

// roleWord is what a queue is to the pipeline, for people.
func roleWord(role dedup.RouteRole) string {
	switch role {
	case dedup.RouteDeadLetter:
		return "dead-letter queue"
	case dedup.RouteDelay:
		return "delay between attempts"
	case dedup.RouteSource:
		return "source, tried again"
	case dedup.RouteStream:
		return "stream"
	default:
		return "nowhere"
	}
}

// roleTier is how bad it is that dead letters end in a queue of that role; empty where nothing is wrong.
func roleTier(role dedup.RouteRole) string {
	switch role {
	case dedup.RouteMissing:
		return dedup.Severe.String()
	case dedup.RouteStream:
		return dedup.Warning.String()
	default:
		return ""
	}
}

// routeSum says in one sentence where the dead letters of a pipeline go.
func routeSum(routes []dedup.DeadLetterRoute) string {
	count := map[dedup.RouteRole]map[dedup.QueueRef]bool{}
	for _, r := range routes {
		if count[r.Role] == nil {
			count[r.Role] = map[dedup.QueueRef]bool{}
		}
		end := r.Target
		if r.Role == dedup.RouteMissing {
			end = r.Source
		}
		count[r.Role][end] = true
	}
	var parts []string
	for _, c := range []struct {
		role dedup.RouteRole
		noun string
	}{{dedup.RouteDeadLetter, "dead-letter queue"}, {dedup.RouteDelay, "delay queue"}, {dedup.RouteStream, "stream"}} {
		if n := len(count[c.role]); n > 0 {
			parts = append(parts, Counted(n, c.noun))
		}
	}
	text := "They reach no queue."
	if len(parts) > 0 {
		text = "They reach " + strings.Join(parts, ", ") + "."
	}
	if len(count[dedup.RouteSource]) > 0 {
		text += " Some come back to a source queue."
	}
	if n := len(count[dedup.RouteMissing]); n > 0 {
		text += " Those of " + Counted(n, "queue") + " lead nowhere."
	}
	return text
}
