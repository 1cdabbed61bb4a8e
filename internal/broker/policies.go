package broker

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"dedup-dashboard/internal/dedup"
)

// A policyRow is a policy or an operator policy.
type policyRow struct {
	Vhost      word    `json:"vhost"`
	Name       word    `json:"name"`
	Pattern    pattern `json:"pattern"`
	ApplyTo    word    `json:"apply-to"`
	Priority   rank    `json:"priority"`
	Definition table   `json:"definition"`
}

// A pattern is a regular expression of Erlang; nil where Go cannot read it.
type pattern struct{ *regexp.Regexp }

// UnmarshalJSON implements json.Unmarshaler.
func (p *pattern) UnmarshalJSON(text []byte) error {
	var w word
	if err := w.UnmarshalJSON(text); err != nil {
		return err
	}
	p.Regexp, _ = regexp.Compile(string(w))
	return nil
}

// A rank is a priority, which may be a fraction or below 0; what is no number counts as 0.
type rank float64

// UnmarshalJSON implements json.Unmarshaler.
func (r *rank) UnmarshalJSON(text []byte) error {
	v, err := strconv.ParseFloat(string(text), 64)
	if *r = rank(v); err != nil {
		*r = 0
	}
	return nil
}

const policyColumns = "vhost,name,pattern,apply-to,priority,definition"

func (c *Client) policies(ctx context.Context, list string) ([]policyRow, error) {
	return collect(ctx, c.api, list, policyColumns, func(p *policyRow) policyRow { return *p })
}

// addPolicies gives queues their effective policies, for a broker with statistics disabled: before 4.2.5 its rows have none. The
// policy is unknown where it is not sure which one governs the queue, and for all where the lists cannot be read.
func (c *Client) addPolicies(ctx context.Context, queues []dedup.Queue) {
	if !slices.ContainsFunc(queues, func(q dedup.Queue) bool { return q.Policy == nil }) {
		return
	}
	users, errUsers := c.policies(ctx, "policies")
	operators, errOperators := c.policies(ctx, "operator-policies")
	for i := range queues {
		q := &queues[i]
		if q.Policy != nil {
			continue
		}
		user, sure := policyOf(q, users)
		operator, sureOperator := policyOf(q, operators)
		if q.PolicyUnknown = errUsers != nil || errOperators != nil || !sure || !sureOperator; q.PolicyUnknown {
			continue
		}
		if operator != nil {
			q.OperatorPolicy = string(operator.Name)
		}
		q.Policy = mergedPolicies(user, operator)
	}
}

// policyOf finds the policy that governs a queue: of those that match the one of the highest priority (rabbit_policy:match_all). It is not
// sure where two have that priority, where Go cannot read the pattern, and where the policy has keys that some kinds of queue refuse.
func policyOf(q *dedup.Queue, all []policyRow) (found *policyRow, sure bool) {
	sure = true
	for i := range all {
		p := &all[i]
		if string(p.Vhost) != q.Vhost || !appliesTo(string(p.ApplyTo), q.Type) {
			continue
		}
		readable := p.Pattern.Regexp != nil
		if readable && !p.Pattern.MatchString(q.Name) {
			continue
		}
		fits, known := fitsType(p.Definition, q.Type)
		if !fits {
			continue
		}
		known = known && readable
		switch {
		case found == nil || p.Priority > found.Priority:
			found, sure = p, known
		case p.Priority == found.Priority:
			sure = false
		}
	}
	return found, sure
}

// appliesTo reports whether a policy is for queues of a type (rabbit_policy:matches_queue_type; before 3.12 without the last three).
func appliesTo(what, kind string) bool {
	return what == "all" || what == "queues" || what == kind+"_queues" || what == "streams" && kind == "stream"
}

// fitsType reports whether a queue of a type takes a policy, which it does only when it takes each of its keys
// (rabbit_queue_type:is_policy_applicable), and whether that is known in all versions.
func fitsType(definition table, kind string) (fits, known bool) {
	for key := range definition {
		switch key {
		case "dead-letter-exchange", "dead-letter-routing-key", "message-ttl", "expires", "max-length", "max-length-bytes", "overflow":
			known = kind != "stream"
		case "delivery-limit", "dead-letter-strategy":
			if kind != "quorum" {
				return false, true
			}
			known = true
		default:
			known = false
		}
		if !known {
			return true, false
		}
	}
	return true, true
}

// mergedPolicies is the effective definition of a policy and an operator policy, of which each may be missing: of two limits the lesser
// holds, a delivery limit below 0 being none, else the operator's value (rabbit_policies:merge_policy_value).
func mergedPolicies(user, operator *policyRow) map[string]any {
	if operator == nil {
		if user == nil {
			return nil
		}
		return user.Definition
	}
	merged := make(map[string]any)
	if user != nil {
		maps.Copy(merged, user.Definition)
	}
	for key, theirs := range operator.Definition {
		ours, isLimit := merged[key].(int64)
		other, areBoth := theirs.(int64)
		switch {
		case !isLimit || !areBoth:
			merged[key] = theirs
		case key == "delivery-limit" && min(ours, other) < 0:
			merged[key] = max(ours, other)
		default:
			merged[key] = min(ours, other)
		}
	}
	return merged
}
