package rule

import (
	"context"
	"fmt"
	"maps"
	"time"

	"dedup-dashboard/internal/dedup"
)

// Self is what the engine knows of the dashboard itself. The zero value says that nothing is known, and nothing amiss.
type Self struct {
	// Interval is how often rules are evaluated, LastEvaluation when they were evaluated before this time; zero where never.
	Interval       time.Duration
	LastEvaluation time.Time
	Outbox         Backlog
	// DiskFree is the share of the data directory's file system that is free, 0..1; nil where that is not known.
	DiskFree *float64
	// ReceiverFaults are the receivers that take nothing while another one of their channel does.
	ReceiverFaults []ReceiverFault
	// AuditRefused says why the audit log takes no entry; empty while it does.
	AuditRefused string
}

// A Backlog is how the outbox stands.
type Backlog struct {
	// Waiting counts the notifications that wait. Oldest is when the oldest that does not only tell of such was put there, zero when none
	// waits; Channel is where it is to go, and Error why that did not take it yet.
	Waiting        int64
	Oldest         time.Time
	Channel, Error string
	// Failed counts those that were given up, or of which nobody knows whether they arrived: in the last hour, and before it the newest one
	// of a channel that has taken none since. Errors say why, one for each channel: its name, a colon, and words that may be shown.
	Failed int64
	Errors []string
}

// A ReceiverFault says that one of the receivers of a channel takes nothing that it is sent, while another one does.
type ReceiverFault struct {
	// Channel is the channel's name, Receiver its address, and Text says why it took nothing last, in words that may be shown.
	Channel, Receiver, Text string
	// Since is when it first took nothing while another one did, Last when it was last sent something.
	Since, Last time.Time
}

// A Round is what one evaluation of the rules judges.
type Round struct {
	Now      time.Time
	Snapshot *dedup.Snapshot
	Self     Self
	subjects map[SubjectKind][]Subject
}

// NewRound returns the round of a snapshot; a nil one, as before the first reading, has no subjects but the dashboard.
func NewRound(now time.Time, snapshot *dedup.Snapshot, self Self) *Round {
	if snapshot == nil {
		snapshot = &dedup.Snapshot{}
	}
	return &Round{Now: now, Snapshot: snapshot, Self: self, subjects: subjectsOf(snapshot).ByKind}
}

// labelsOfPipeline returns the labels that routes, silences and groups match: its own, and the names of what it is made of.
func labelsOfPipeline(p *dedup.Pipeline) map[string]string {
	labels := make(map[string]string, len(p.Labels)+3)
	maps.Copy(labels, p.Labels)
	labels["pipeline"], labels["broker"] = p.Name, p.Broker
	if delete(labels, "store"); p.Store != "" {
		labels["store"] = p.Store
	}
	return labels
}

// Stale says that the newest readings are too old to judge by; empty when they are not.
func (in *Round) Stale() string {
	const least = 30 * time.Second // a round of a short interval may take longer than three
	age := in.Now.Sub(in.Snapshot.At)
	if in.Snapshot.At.IsZero() || age <= max(3*in.Snapshot.Interval, least) {
		return ""
	}
	return "the newest readings are " + Seconds(age) + " old: the dashboard does not finish its rounds, its log says why"
}

// OverSnapshot judges the rules that rest on the snapshot, and those of the dashboard itself.
type OverSnapshot struct {
	rules []Rule
	// self tells of the dashboard; nil where nothing is known of it.
	self func(at time.Time) Self
}

// NewOverSnapshot returns the evaluator of those of the rules that rest on the snapshot. Self tells of the dashboard; it may be nil.
func NewOverSnapshot(rules []Rule, self func(at time.Time) Self) *OverSnapshot {
	return &OverSnapshot{rules: rules, self: self}
}

// Judge judges every subject by every rule of it. Only the end of ctx is an error.
func (m *OverSnapshot) Judge(ctx context.Context, snapshot *dedup.Snapshot, at time.Time) ([]Judgement, error) {
	var self Self
	if m.self != nil {
		self = m.self(at)
	}
	in := NewRound(at, snapshot, self)
	var out []Judgement
	for _, r := range m.rules {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("evaluate the rules over the snapshot: %w", err)
		}
		if judgements, ok := r.Judge(in); ok {
			out = append(out, judgements...)
		}
	}
	return out, nil
}
