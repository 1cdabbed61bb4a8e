package admin

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"time"

	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
)

// planWithin bounds the making of a plan.
const planWithin = 30 * time.Second

// maxRate is the highest rate that can be asked for; without limit is a negative one.
const maxRate = 100_000

// check returns what is wrong with a request, before anything is read.
func (r MoveRequest) check() error {
	ways := 0
	for _, given := range []bool{len(r.Refs) > 0, r.Filter != "", r.Whole} {
		if given {
			ways++
		}
	}
	switch {
	case !slices.Contains([]Move{Requeue, Discard, RestoreLetters}, r.Do):
		return invalid("A move requeues, discards or restores messages")
	case ways != 1:
		return invalid("Select messages either one by one, or by a filter, or take the whole queue")
	case len(r.Refs) > MaxScan:
		return invalid(fmt.Sprintf("At most %d messages can be selected one by one", MaxScan))
	case slices.ContainsFunc(r.Refs, func(ref string) bool { return len(ref) != 2*sha256.Size }):
		return invalid("A selected message is named by its reference of 64 digits")
	case !r.Whole && r.Scan == "":
		return invalid("Name the look at the queue that the selection was made from")
	case r.Canary < PresetCanary || r.Canary > MaxScan:
		return invalid(fmt.Sprintf("The first messages are 0 to %d", MaxScan))
	case r.Most < 0:
		return invalid("The most messages to move are 1 or more, or 0 for all that are selected")
	case math.IsNaN(r.Rate) || r.Rate > maxRate:
		return invalid(fmt.Sprintf("The rate is at most %d messages per second, or negative for no limit", maxRate))
	case r.Edit != nil && (r.Do != Requeue || len(r.Refs) != 1):
		return invalid("Only one message that is requeued can be edited")
	case r.Do != Requeue && (len(r.Choices) > 0 || r.Canary > 0):
		return invalid("Choices and first messages belong to a requeue only: no consumer sees what is discarded or restored")
	}
	return r.checkChoices()
}

func (r MoveRequest) checkChoices() error {
	for class, choice := range r.Choices {
		if !slices.Contains(Classes(), class) {
			return invalid(fmt.Sprintf("There is no class %q", clipWord(string(class))))
		}
		if !slices.Contains([]Choice{KeepAsIs, ClearFirst, LeaveOut}, choice) {
			return invalid("A class is kept as it is, cleared first or left out")
		}
		if choice == ClearFirst && class == ClassSkipped && len(r.Refs) != 1 {
			return invalid("Markers of done work are cleared for one message alone")
		}
	}
	return nil
}

// frozen is the request with the times of its filter written out: they mean the same when the plan is carried out, and to everybody.
func (r MoveRequest) frozen(now time.Time) (MoveRequest, error) {
	f, err := ParseFilter(r.Filter, now.UTC())
	if err != nil {
		return r, err
	}
	r.Filter = f.String()
	return r, nil
}

// A Planner plans moves of dead letters: it freezes a selection, says what a move would do with it, and what speaks against it. It changes
// nothing at the broker. It is safe for concurrent use; its errors are *dedup.Error.
type Planner struct {
	deps      *DeadLettersDeps
	queues    *queueFinder
	predictor *predictor
	mask      letterMasker
	// scans are the looks that selections are made from.
	scans *scanShelf
	edits *editShelf
}

// allow refuses and records whoever lacks the role.
func (m *Planner) allow(ctx context.Context, who Caller, needs auth.Role, name, target string) error {
	return m.deps.Gate.allow(ctx, who, action{name: name, target: printable(target, maxTarget), needs: needs})
}

// PlanMove freezes a selection and says what a move would do with it. It changes nothing. Operators may plan what they may start.
func (m *Planner) PlanMove(ctx context.Context, who Caller, req MoveRequest) (MovePlan, error) {
	act := action{name: "plan_move", target: printable(req.Queue, maxTarget), needs: auth.Operator}
	plan, err := m.planMove(ctx, who, req, &act)
	if err != nil {
		return MovePlan{}, m.deps.Gate.refuse(ctx, who, act, err)
	}
	return plan, nil
}

// planMove makes a plan, and completes the action.
func (m *Planner) planMove(ctx context.Context, who Caller, req MoveRequest, act *action) (MovePlan, error) {
	if err := lacks(who, act.needs); err != nil {
		return MovePlan{}, err
	}
	req, err := req.frozen(m.deps.Now())
	if err != nil {
		return MovePlan{}, err
	}
	if err := req.check(); err != nil {
		return MovePlan{}, err
	}
	l, err := m.queues.moving(req)
	if err != nil {
		return MovePlan{}, err
	}
	act.target = l.target()
	ctx, cancel := context.WithTimeout(ctx, planWithin)
	defer cancel()
	pl := planning{planner: m, line: l, plan: MovePlan{
		ID: rand.Text(), Made: m.deps.Now(), By: who.Name, Request: req, Broker: l.pipeline.Broker, Source: l.queue,
		Targets: map[string]int{}, Classes: Tally{}, KeyedRefs: true,
	}}
	if err := pl.make(ctx, who); err != nil {
		return MovePlan{}, err
	}
	act.needs = pl.plan.Needs
	if err := lacks(who, act.needs); err != nil {
		return MovePlan{}, pl.beyondOperator(who, err)
	}
	return pl.plan, m.keepPlan(ctx, who, *act, pl)
}

// keepPlan keeps a plan and audits that it was made. What an edit puts into the message stays in memory.
func (m *Planner) keepPlan(ctx context.Context, who Caller, act action, pl planning) error {
	kept := pl.plan
	kept.Request.Edit = nil
	if pl.edited != nil {
		if err := m.edits.keep(kept.ID, *pl.edited); err != nil {
			return err
		}
	}
	if err := m.deps.Journal.SaveMovePlan(ctx, kept); err != nil {
		return unkept("The plan cannot be kept, so nothing can be carried out", err)
	}
	e := entryOf(who, act)
	e.Operation, e.Action, e.Hash = kept.ID, MovePlanAction(kept.Request.Do), moveHash(kept)
	e.Detail = kept.summary()
	if err := m.deps.Gate.record(ctx, e, Planned); err != nil {
		return unkept("The plan cannot be audited, so nothing can be carried out", err)
	}
	return nil
}

// summary says in words what a plan moves.
func (p MovePlan) summary() string {
	what := fmt.Sprintf("%d of %d looked at", p.Matching, p.Scanned)
	switch {
	case p.Request.Whole:
		what = fmt.Sprintf("the whole queue of %d", p.Ready)
	case p.Request.Filter != "":
		what += ", all that match " + printable(p.Request.Filter, 300)
	}
	if s := p.Sends; s != nil {
		what += fmt.Sprintf(", edited to message %s with a body of %d bytes, keyed hash %s", s.Ref, s.Bytes, s.BodyHash)
	}
	return what
}

// moveHash returns the SHA-256 over what a plan selects and what is done with it.
func moveHash(p MovePlan) string {
	h := sha256.New()
	writeField(h, string(p.Request.Do))
	writeField(h, p.Source.Vhost)
	writeField(h, p.Source.Name)
	writeField(h, p.Request.Filter)
	writeField(h, fmt.Sprint(p.Request.Whole))
	for _, ref := range slices.Sorted(slices.Values(p.Request.Refs)) {
		writeField(h, ref)
	}
	for _, c := range Classes() {
		writeField(h, string(c)+"="+string(p.Choices[c]))
	}
	writeField(h, fmt.Sprint(p.Request.Canary))
	writeField(h, fmt.Sprint(p.Request.Rate))
	writeField(h, fmt.Sprint(p.Most))
	if p.Request.Target != "" {
		writeField(h, "to "+p.Request.Target)
	}
	if p.Sends != nil {
		writeField(h, p.Sends.Ref)
		writeField(h, p.Sends.BodyHash)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// PlannedMove returns a plan again, and the job that carries it out or "". A plan that is over is of kind not found. Operators may;
// admins get its edit too, which holds a body.
func (m *Planner) PlannedMove(ctx context.Context, who Caller, id string) (plan MovePlan, job string, err error) {
	if err := m.allow(ctx, who, auth.Operator, "read_move_plan", id); err != nil {
		return MovePlan{}, "", err
	}
	plan, job, ok, err := m.deps.Journal.MovePlan(ctx, id)
	if err != nil {
		return MovePlan{}, "", unkept("The plan cannot be read", err)
	}
	if !ok || job == "" && m.overdue(plan) {
		return MovePlan{}, "", notFound("There is no such plan, or it is over: a plan can be carried out for " + span(PlanLife))
	}
	if edited, kept := m.edits.take(id); kept && who.Can(auth.Admin) {
		plan.Edited = &edited.letter
	}
	return plan, job, nil
}

func (m *Planner) overdue(plan MovePlan) bool { return m.deps.Now().Sub(plan.Made) > PlanLife }

// planning is a plan in the making.
type planning struct {
	planner *Planner
	line    line
	plan    MovePlan
	// queue is the source as it is now; risk is what leaving messages in it does.
	queue dedup.Queue
	risk  dedup.ReturnRisk
	// scan is what the selection was made from; nil when nothing was looked at. matching are its letters that are selected, and selected
	// those of them that are within the most messages of the plan.
	scan     *keptScan
	matching []Letter
	selected []Letter
	// unseen is how many messages were selected one by one and not seen by the scan.
	unseen int
	edited *editedMessage
}

func (pl *planning) make(ctx context.Context, who Caller) error {
	var err error
	if pl.queue, err = pl.planner.queues.source(ctx, pl.line); err != nil {
		return err
	}
	pl.risk = dedup.Returning(pl.line.info, pl.queue)
	pl.plan.Ready = *pl.queue.Ready
	if err := pl.choose(); err != nil {
		return err
	}
	if err := pl.selects(); err != nil {
		return err
	}
	if pl.plan.Request.Edit != nil {
		if err := pl.edit(ctx); err != nil {
			return err
		}
	}
	pl.list()
	pl.plan.Most = pl.plan.Request.Most
	pl.plan.Needs = pl.needs(who)
	if pl.plan.Most = pl.most(); pl.plan.Most > 0 {
		pl.list()
	}
	if err := pl.park(ctx); err != nil {
		return err
	}
	pl.plan.UpTo = pl.plan.upTo(pl.plan.Ready)
	if pl.presetCanary(); pl.plan.Request.Canary > 0 { // what follows the first messages is sent after they were watched
		pl.list()
		pl.plan.UpTo = pl.plan.upTo(pl.plan.Ready)
	}
	pl.freezeLeft()
	pl.plan.Guards = append(append(pl.scanGuards(), pl.copyGuards(ctx)...), pl.planner.liveGuards(ctx, pl.line, pl.queue, pl.plan)...)
	if why := pl.plan.Idle(); why != "" {
		pl.plan.Guards = append(pl.plan.Guards, block("%s", why))
	}
	pl.plan.Confirm = pl.confirm()
	pl.plan.Takes = pl.takes()
	return nil
}

// choose settles what is done with each class. Messages can be left out only where putting them back is harmless.
func (pl *planning) choose() error {
	req := &pl.plan.Request
	selective := pl.risk.Harmless
	if !selective && !req.Whole {
		return conflict("Messages cannot be picked out of queue %s, because those that are left would have to be put back: %s. It can be moved as a whole",
			printable(pl.line.queue.Name, 255), pl.risk.Why)
	}
	if req.Do != Requeue {
		pl.plan.Choices, pl.plan.Selective = chosen(nil, false), !req.Whole
		return nil
	}
	for _, choice := range req.Choices {
		if choice == LeaveOut && !selective {
			return conflict("No message can be left out of queue %s, because it would have to be put back: %s", printable(pl.line.queue.Name, 255), pl.risk.Why)
		}
	}
	pl.plan.Choices, pl.plan.MayLeave = chosen(req.Choices, selective), selective
	leaves := slices.ContainsFunc(Classes(), func(c Class) bool { return pl.plan.Choices[c] != KeepAsIs })
	pl.plan.Selective = selective && (!req.Whole || leaves)
	if !selective {
		pl.plan.Guards = append(pl.plan.Guards, warn("No message can be left out of this queue, because it would have to be put back: %s", pl.risk.Why))
	}
	return nil
}

// selects finds the letters of the scan that are selected.
func (pl *planning) selects() error {
	scans, req := pl.planner.scans, &pl.plan.Request
	pl.scan = scans.find(req.Scan)
	if pl.scan == nil && req.Whole {
		pl.scan = scans.newest(pl.line.pipeline.Name, pl.line.queue)
	}
	if pl.scan != nil && (pl.scan.raw.Pipeline != pl.line.pipeline.Name || pl.scan.raw.Queue != pl.line.queue) {
		return invalid("The look was at another queue")
	}
	if pl.scan == nil && !req.Whole {
		return conflict("The look at the queue is not kept any more: it lasts %s, and a newer one takes its place. Look again and select again", span(ScanLife))
	}
	if pl.scan == nil {
		return nil
	}
	f, err := ParseFilter(req.Filter, pl.plan.Made.UTC())
	if err != nil {
		return err
	}
	wanted := multiset(req.Refs)
	for i := range pl.scan.raw.Letters {
		letter, masked := &pl.scan.raw.Letters[i], pl.scan.masked.Letters[i]
		if f.reads(fieldClass) && letter.Alone == nil {
			masked.Prediction = pl.foretell(letter, int64(len(pl.selected)))
		}
		if req.Whole || wanted[letter.Ref] > 0 || len(req.Refs) == 0 && f.Matches(masked) {
			wanted[letter.Ref]--
			pl.selected = append(pl.selected, pl.line.aimed(*letter))
		}
	}
	pl.plan.Scanned, pl.plan.ScannedAt = len(pl.scan.raw.Letters), pl.scan.raw.At
	if len(pl.selected) == 0 && !req.Whole {
		return conflict("None of the selected messages was seen by the look; look again and select again")
	}
	pl.freezeRefs()
	return nil
}

// freezeRefs keeps of the messages that were selected one by one those that the scan saw: the plan counts, guards and confirms no
// others, so the job must not move any other either.
func (pl *planning) freezeRefs() {
	req := &pl.plan.Request
	if len(req.Refs) == 0 {
		return
	}
	pl.unseen = len(req.Refs) - len(pl.selected)
	req.Refs = make([]string, len(pl.selected))
	for i := range pl.selected {
		req.Refs[i] = pl.selected[i].Ref
	}
}

// freezeLeft keeps which of the messages that were selected one by one are left out by their class: the plan counts them as left, so the
// job must not move them when their markers have changed, nor, of copies that have one id, another one than was to go.
func (pl *planning) freezeLeft() {
	p := &pl.plan
	if len(p.Request.Refs) == 0 || p.Request.Do != Requeue {
		return
	}
	for i := range pl.matching {
		letter := &pl.matching[i]
		if choice, _ := choiceOf(letter.Prediction, p.Choices, p.ClearsDone); choice == LeaveOut {
			p.LeftOut = append(p.LeftOut, letter.Ref)
		}
	}
}

// multiset counts references: two copies of one message have one.
func multiset(refs []string) map[string]int {
	m := make(map[string]int, len(refs))
	for _, ref := range refs {
		m[ref]++
	}
	return m
}
