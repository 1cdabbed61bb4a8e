package broker

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"dedup-dashboard/internal/dedup"
)

const (
	// hiddenAge is how long the names of hidden vhosts are believed.
	hiddenAge = time.Minute
	// maxVhostProbes bounds the requests of one search for hidden vhosts.
	maxVhostProbes = 20
	maxVhostNamed  = 5
)

// hiddenVhosts are the vhosts that the account may not see, as they were found at a time.
type hiddenVhosts struct {
	at     time.Time
	vhosts []string
	// known is false when the vhosts could not be told apart.
	known bool
}

// A hiddenFinder finds vhosts that the account may not see.
type hiddenFinder struct {
	api *api
	// last is what was found last.
	last hiddenVhosts
}

type vhostRow struct {
	Name word `json:"name"`
}

// problems compares the broker's own count with the list. A user with the tag monitoring but without permission in
// a vhost gets 200 and a list without that vhost's queues: a silence that would pass for an empty broker.
func (f *hiddenFinder) problems(ctx context.Context, sample *dedup.BrokerSample) []dedup.Problem {
	total, seen := sample.QueuesTotal, int64(len(sample.Queues))
	if total == nil || *total <= seen {
		f.last = hiddenVhosts{}
		return nil
	}
	if age := sample.At.Sub(f.last.at); age < 0 || age > hiddenAge {
		f.last = f.find(ctx, sample.Queues)
		f.last.at = sample.At
	}
	hidden := f.last
	if hidden.known && len(hidden.vhosts) == 0 {
		return nil // every vhost is visible: a queue was deleted between the count and the list
	}
	text := fmt.Sprintf("%d of %d queues are hidden from user %s", *total-seen, *total, Quote(f.api.user))
	if !hidden.known {
		return []dedup.Problem{{
			Kind:   ProblemPermissionMissing,
			Text:   text + ": it has no permission in some vhost that could not be named.",
			Remedy: "For each vhost: " + permissionLine("VHOST", f.api.user),
		}}
	}
	return f.vhostProblems(text, hidden.vhosts)
}

func (f *hiddenFinder) vhostProblems(text string, vhosts []string) []dedup.Problem {
	var problems []dedup.Problem
	for i, vhost := range vhosts {
		if i == maxVhostNamed {
			problems[i-1].Text += fmt.Sprintf(" %d more vhosts are hidden.", len(vhosts)-i)
			break
		}
		problems = append(problems, dedup.Problem{
			Kind:   ProblemPermissionMissing,
			Text:   text + ": it has no permission in vhost " + Quote(vhost) + ".",
			Remedy: permissionLine(vhost, f.api.user),
		})
	}
	return problems
}

// find asks for one queue of each vhost of which no queue was seen; the API answers 401 where the account has
// no permission. The list of vhosts itself needs only the tag monitoring.
func (f *hiddenFinder) find(ctx context.Context, seen []dedup.Queue) hiddenVhosts {
	all, err := collect(ctx, f.api, "vhosts", "name", func(v *vhostRow) string { return string(v.Name) })
	if err != nil {
		return hiddenVhosts{}
	}
	visible := make(map[string]bool)
	for i := range seen {
		visible[seen[i].Vhost] = true
	}
	found, probes := hiddenVhosts{known: true}, 0
	query := url.Values{"page": {"1"}, "page_size": {"1"}, "disable_stats": {"true"}}
	for _, vhost := range all {
		if visible[vhost] {
			continue
		}
		if probes++; probes > maxVhostProbes {
			found.known = len(found.vhosts) > 0
			break
		}
		switch err := f.api.get(ctx, APIPath("queues", vhost), query, &ignored{}); {
		case err == nil:
		case KindOf(err) == NoPermission || hasStatus(err, 404): // 4.x hides such vhosts
			found.vhosts = append(found.vhosts, vhost)
		default:
			return hiddenVhosts{}
		}
	}
	return found
}
