package demo

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
)

// PlanMove freezes a selection.
func (m *Morgue) PlanMove(ctx context.Context, who admin.Caller, req move.Request) (move.Plan, error) {
	if err := allow(who, auth.Operator); err != nil {
		return move.Plan{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.owner[req.Queue] != req.Pipeline {
		return move.Plan{}, missing("The pipeline " + req.Pipeline + " has no dead-letter queue of this name")
	}
	source := req.Queue
	if req.Do == admin.RestoreLetters {
		source = parking(req.Queue)
	}
	filter, err := deadletter.ParseFilter(req.Filter, m.now().UTC())
	if err != nil {
		return move.Plan{}, err
	}
	p := plannedMove{edited: req.Edit, plan: move.Plan{
		ID: rand.Text(), Made: m.now(), By: who.Name, Request: req, Broker: "main", Source: dedup.QueueRef{Vhost: "/", Name: source}, Ready: int64(m.depth(source)),
		Targets: map[string]int{}, Classes: preflight.Tally{}, Choices: map[preflight.Class]preflight.Choice{},
	}}
	p.plan.Request.Edit = nil
	if req.Do != admin.Requeue {
		if len(req.Choices) > 0 || req.Canary > 0 {
			return move.Plan{}, refuse(dedup.Invalid, "Choices and first messages belong to a requeue only")
		}
		p.plan.Parking, p.plan.Confirm = parking(req.Queue), source
	}
	for _, l := range m.letters(source) {
		if req.Whole || slices.Contains(req.Refs, l.Ref) || len(req.Refs) == 0 && filter.Matches(l) {
			p.letters = append(p.letters, l)
		}
	}
	p.choose(req)
	if s, ok := m.scans[req.Scan]; ok {
		p.plan.Scanned, p.plan.ScannedAt = len(s.Letters), s.At
	}
	p.fill(req)
	if s, ok := m.scans[req.Scan]; ok && len(req.Refs) == 0 { // the review counts what the look saw
		p.plan.Matching = 0
		for _, l := range s.Letters {
			if filter.Matches(l) {
				p.plan.Matching++
			}
		}
	}
	p.settle(req)
	if req.Edit != nil && len(p.letters) == 1 {
		p.plan.IDChange = "the id is taken from message_id: it stays " + p.letters[0].ID
	}
	if err := p.permit(who); err != nil {
		return move.Plan{}, err
	}
	m.plans[p.plan.ID] = p
	return p.plan, m.entry(ctx, admin.Entry{Operation: p.plan.ID, Phase: admin.Planned, Who: who.Name, Role: who.Role.String(), Method: who.Method, From: who.From, Action: admin.MovePlanAction(req.Do), Target: source})
}

// settle fills in what follows from the counts.
func (p *plannedMove) settle(req move.Request) {
	p.plan.MayLeave, p.plan.Most, p.plan.UpTo = req.Do == admin.Requeue, req.Most, int64(len(p.letters))
	if req.Canary == move.PresetCanary {
		p.plan.Request.Canary = 0
		if len(p.letters) > 20 {
			p.plan.Request.Canary = 5
		}
	}
	if why := p.plan.Idle(); why != "" {
		p.plan.Guards = append(p.plan.Guards, move.Guard{Text: why, Blocking: true})
	}
}

// permit says whose the plan is, and refuses it to anybody else.
func (p *plannedMove) permit(who admin.Caller) error {
	judged := p.plan
	judged.Request.Edit = p.edited
	p.plan.Needs = judged.RoleNeeded(who, deadletter.DefaultOperatorLimit)
	err := allow(who, p.plan.Needs)
	judged.Request.Most = deadletter.DefaultOperatorLimit
	if err != nil && who.Can(auth.Operator) && judged.RoleNeeded(who, deadletter.DefaultOperatorLimit) == auth.Operator {
		return &move.TooMany{Fits: deadletter.DefaultOperatorLimit, Err: err}
	}
	return err
}

// choose settles what is done with each class.
func (p *plannedMove) choose(req move.Request) {
	for _, c := range preflight.Classes() {
		choice := preflight.KeepAsIs
		if req.Do == admin.Requeue && !req.Whole && slices.Contains([]preflight.Class{preflight.ClassPerhapsSwallowed, preflight.ClassSwallowed, preflight.ClassBlocks, preflight.ClassUnknown}, c) {
			choice = preflight.LeaveOut
		}
		p.plan.Choices[c] = cmp.Or(req.Choices[c], choice)
	}
}

func (p *plannedMove) fill(req move.Request) {
	for _, l := range p.letters {
		target := l.Target
		switch req.Do {
		case admin.Discard:
			target = p.plan.Parking
		case admin.RestoreLetters:
			target = req.Queue
		}
		choice := p.plan.Choices[l.Prediction.Class]
		p.plan.Classes[l.Prediction.Class]++
		if choice != preflight.LeaveOut {
			p.plan.Targets[target]++
		}
		line := move.PlannedLetter{Ref: l.Ref, ID: l.ID, Target: target, Bytes: l.Size, Prediction: l.Prediction, Choice: choice}
		if l.Marker != nil {
			line.BusinessKey = l.Marker.BusinessKey
		}
		p.plan.Letters = append(p.plan.Letters, line)
	}
	p.plan.Matching = len(p.letters)
	p.plan.Takes = time.Duration(len(p.letters)) * time.Second / 500
	if len(p.letters) > 100 {
		p.plan.Confirm = p.plan.Source.Name
	}
	if req.Do == admin.Requeue && req.Pipeline == "inventory" {
		p.plan.Guards = append(p.plan.Guards, move.Guard{Text: "The target queue inventory.reserve has a backlog of 18240 messages, more than 10 minutes of work: markers may expire before they are consumed"})
	}
	if req.Do == admin.Requeue && req.Pipeline == "mailings" {
		p.plan.Guards = append(p.plan.Guards, move.Guard{Text: "The target queue mail.outbound does not exist", Blocking: true})
	}
}

// PlannedMove returns a plan, and the job that carries it out.
func (m *Morgue) PlannedMove(_ context.Context, who admin.Caller, id string) (move.Plan, string, error) {
	if err := allow(who, auth.Operator); err != nil {
		return move.Plan{}, "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	p, ok := m.plans[id]
	if !ok {
		return move.Plan{}, "", missing("There is no such plan, or it is over")
	}
	if p.edited != nil && len(p.letters) == 1 && who.Can(auth.Admin) {
		p.plan.Edited = &move.EditedLetter{Edit: *p.edited, Was: p.letters[0]}
	}
	return p.plan, p.job, nil
}
