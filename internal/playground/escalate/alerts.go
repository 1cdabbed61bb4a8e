package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"dedup-dashboard/internal/playground"
)

// An alert is what the API tells of one.
type alert struct {
	Key         string       `json:"key"`
	Rule        string       `json:"rule"`
	Subject     string       `json:"subject"`
	Phase       string       `json:"phase"`
	Tier        string       `json:"tier"`
	Health      string       `json:"health"`
	Why         string       `json:"why"`
	Evaluations []evaluation `json:"evaluations"`
	// Edges are the newest first.
	Edges []edge `json:"edges"`
}

// An evaluation is one of the last ones of an alert.
type evaluation struct {
	At    time.Time `json:"at"`
	Value *float64  `json:"value"`
	N     *float64  `json:"n"`
	Tier  string    `json:"tier"`
}

// An edge is a change of the tier that fires.
type edge struct {
	Kind string    `json:"kind"`
	From string    `json:"from"`
	To   string    `json:"to"`
	At   time.Time `json:"at"`
	Why  string    `json:"why"`
}

// alerts lists all alerts that the program has, without evaluations and edges.
func (p *program) alerts(ctx context.Context) ([]alert, error) {
	var list struct{ Alerts []alert }
	err := p.ask(ctx, "/api/v1/alerts?"+url.Values{"state": {"firing", "pending", "unknown", "normal"}}.Encode(), &list)
	return list.Alerts, err
}

// alert returns everything that the API tells of the alert of a rule.
func (p *program) alert(ctx context.Context, rule, subject string) (alert, error) {
	list, err := p.alerts(ctx)
	if err != nil {
		return alert{}, err
	}
	for _, a := range list {
		if a.Rule == rule && a.Subject == subject {
			return p.whole(ctx, a)
		}
	}
	return alert{}, fmt.Errorf("there is no alert of %s for %q", rule, subject)
}

func (p *program) whole(ctx context.Context, a alert) (alert, error) {
	err := p.ask(ctx, "/api/v1/alerts/one?"+url.Values{"key": {a.Key}}.Encode(), &a)
	return a, err
}

// history returns every edge that the journal knows of, as occasions.
func (p *program) history(ctx context.Context) ([]occasion, error) {
	list, err := p.alerts(ctx)
	if err != nil {
		return nil, err
	}
	var all []occasion
	for _, a := range list {
		if a, err = p.whole(ctx, a); err != nil {
			return nil, err
		}
		for _, e := range a.Edges {
			all = append(all, occasion{Rule: a.Rule, Subject: a.Subject, Edge: e.Kind, At: e.At})
		}
	}
	return all, nil
}

// An occasion is an edge, or that somebody was told of it.
type occasion struct {
	Rule, Subject, Edge string
	At                  time.Time
}

// name is the same for the edge and for what is told of it, for the n-th of its kind.
func (o occasion) name() string { return o.Rule + " of " + o.Subject + " " + o.Edge }

// message is what is read of the JSON of a webhook.
type message struct {
	Alerts []struct {
		Status      string            `json:"status"`
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	} `json:"alerts"`
}

// occasions returns of what a notification tells.
func occasions(n playground.Notification) ([]occasion, error) {
	var m message
	if err := json.Unmarshal(n.Message, &m); err != nil {
		return nil, fmt.Errorf("read a notification: %w", err)
	}
	var all []occasion
	for _, a := range m.Alerts {
		all = append(all, occasion{Rule: a.Labels["alertname"], Subject: a.Labels[a.Labels["kind"]], Edge: a.Annotations["edge"], At: n.At})
	}
	return all, nil
}

// compare says which edges were not told exactly once.
func compare(edges []occasion, told []occasion) []string {
	balance := make(map[string]int)
	for _, e := range edges {
		balance[e.name()]++
	}
	for _, t := range told {
		balance[t.name()]--
	}
	var wrong []string
	for name, n := range balance {
		switch {
		case n > 0:
			wrong = append(wrong, fmt.Sprintf("%s: not told, %d times", name, n))
		case n < 0:
			wrong = append(wrong, fmt.Sprintf("%s: told %d times too often", name, -n))
		}
	}
	return wrong
}
