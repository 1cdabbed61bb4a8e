package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"time"

	"dedup-dashboard/lab/shop"
)

// An alert is what the API tells of one.
type alert struct {
	Key         string       `json:"key"`
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

// alert returns everything that the API tells of one alert.
func (p *program) alert(ctx context.Context, key string) (alert, error) {
	var a alert
	err := p.ask(ctx, "/api/v1/alerts/one?"+url.Values{"key": {key}}.Encode(), &a)
	return a, err
}

// history returns every edge of every alert that the program has, as occasions.
func (p *program) history(ctx context.Context) ([]occasion, error) {
	var list struct{ Alerts []alert }
	err := p.ask(ctx, "/api/v1/alerts?"+url.Values{"state": {"firing", "pending", "unknown", "normal"}}.Encode(), &list)
	var all []occasion
	for _, listed := range list.Alerts {
		a, err := p.alert(ctx, listed.Key)
		if err != nil {
			return nil, err
		}
		for _, e := range a.Edges {
			all = append(all, occasion{a.Key, e.Kind, e.At})
		}
	}
	return all, err
}

// waitingMetric tells how many messages a channel has that are not delivered yet.
var waitingMetric = regexp.MustCompile(`(?m)^dedup_alert_outbox_waiting\{channel="receiver"\} (\d+)$`)

// waiting counts the messages that the receiver is still to be sent.
func (p *program) waiting(ctx context.Context) (int, error) {
	metrics, err := p.read(ctx, "/metrics")
	if err != nil {
		return 0, fmt.Errorf("count the messages that wait: %w", err)
	}
	m := waitingMetric.FindSubmatch(metrics)
	if m == nil {
		return 0, errors.New("the metrics do not say how many messages wait")
	}
	return strconv.Atoi(string(m[1]))
}

// An occasion is an edge of an alert, or that somebody was told of it.
type occasion struct {
	Key string
	// Edge is empty where somebody was told, as a repeat, that the alert still fires.
	Edge string
	At   time.Time
}

// name is the same for an edge and for what is told of it.
func (o occasion) name() string { return o.Key + " " + o.Edge }

// message is what is read of the JSON of a webhook.
type message struct {
	Alerts []struct {
		Status      string            `json:"status"`
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	} `json:"alerts"`
}

// occasions returns of what a notification tells.
func occasions(n shop.Notification) ([]occasion, error) {
	var m message
	if err := json.Unmarshal(n.Message, &m); err != nil {
		return nil, fmt.Errorf("read a notification: %w", err)
	}
	var all []occasion
	for _, a := range m.Alerts {
		kind := a.Labels["kind"]
		all = append(all, occasion{a.Labels["alertname"] + "/" + kind + "/" + a.Labels[kind], a.Annotations["edge"], n.At})
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
	for _, name := range slices.Sorted(maps.Keys(balance)) {
		switch n := balance[name]; {
		case n > 0:
			wrong = append(wrong, fmt.Sprintf("%s: not told, %d times", name, n))
		case n < 0:
			wrong = append(wrong, fmt.Sprintf("%s: told %d times too often", name, -n))
		}
	}
	return wrong
}
