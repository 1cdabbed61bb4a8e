package move

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/operation"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

// planWithin bounds the making of a plan.
const planWithin = 30 * time.Second

// A Planner plans moves of dead letters: it freezes a selection, says what a move would do with it, and what speaks against it. It changes
// nothing at the broker. It is safe for concurrent use; its errors are *dedup.Error.
type Planner struct {
	deps  PlannerDeps
	plans operation.Plans[Plan]
}

// PlannerDeps are what Planner works with.
type PlannerDeps struct {
	Gate    *admin.Gate
	Journal planJournal
	Queues  *deadletter.Queues
	// Predictor says what becomes of messages, Mask what filters see.
	Predictor *deadletter.Predictor
	Mask      deadletter.Masker
	// Scans are the looks that selections are made from; Edits keeps what was edited.
	Scans *deadletter.KeptScans
	Edits *KeptEdits
	// Clear says whether markers can be cleared first; nil where none can be.
	Clear clearing
	// OperatorLimit is the most messages that an operator may requeue with one job.
	OperatorLimit int
	RefKey        message.RefKey
	// Watch is the shortest time for which the first messages of a job are watched.
	Watch time.Duration
	Now   func() time.Time
	Log   *slog.Logger
}

// planJournal keeps plans of moves. It is safe for concurrent use.
type planJournal interface {
	// SaveMovePlan keeps a plan.
	SaveMovePlan(ctx context.Context, p Plan) error
	// MovePlan returns a plan, the job that carried it out or "", and whether there is such a plan.
	MovePlan(ctx context.Context, id string) (p Plan, job string, ok bool, err error)
	// JobByToken returns the plan that this person started with the token, or "".
	JobByToken(ctx context.Context, by, token string) (plan string, err error)
	// TimesRequeued returns how often jobs have requeued messages with these ids; an id of none is absent.
	TimesRequeued(ctx context.Context, ids []string) (map[string]int, error)
}

// keptPlans keeps plans of moves as operation.Plans asks for it.
type keptPlans struct{ planJournal }

// SavePlan keeps a plan.
func (k keptPlans) SavePlan(ctx context.Context, p Plan) error { return k.SaveMovePlan(ctx, p) }

// Plan returns a plan, the job that carried it out or "", and whether there is such a plan.
func (k keptPlans) Plan(ctx context.Context, id string) (Plan, string, bool, error) {
	return k.MovePlan(ctx, id)
}

// ByToken returns the plan that this person started with the token, or "".
func (k keptPlans) ByToken(ctx context.Context, by, token string) (string, error) {
	return k.JobByToken(ctx, by, token)
}

// clearing says why markers of a store cannot be changed; "" when they can.
type clearing interface{ WhyNot(store string) string }

// NewPlanner returns a Planner.
func NewPlanner(deps PlannerDeps) *Planner {
	return &Planner{deps, operation.Plans[Plan]{
		Gate: deps.Gate, Journal: keptPlans{deps.Journal}, Now: deps.Now,
		Terms: func(p Plan) (time.Time, string) { return p.Made, p.Confirm },
	}}
}

// Plans are the plans, as whoever carries one out reviews it.
func (m *Planner) Plans() operation.Plans[Plan] { return m.plans }

// allow refuses and records whoever lacks the role.
func (m *Planner) allow(ctx context.Context, who admin.Caller, needs auth.Role, name, target string) error {
	return m.deps.Gate.Allow(ctx, who, admin.Action{Name: name, Target: admin.Printable(target, admin.MaxTarget), Needs: needs})
}

// PlanMove freezes a selection and says what a move would do with it. It changes nothing. Operators may plan what they may start.
func (m *Planner) PlanMove(ctx context.Context, who admin.Caller, req Request) (Plan, error) {
	act := admin.Action{Name: "plan_move", Target: admin.Printable(req.Queue, admin.MaxTarget), Needs: auth.Operator}
	plan, err := m.planMove(ctx, who, req, &act)
	if err != nil {
		return Plan{}, m.deps.Gate.Refuse(ctx, who, act, err)
	}
	return plan, nil
}

// planMove makes a plan, and completes the action.
func (m *Planner) planMove(ctx context.Context, who admin.Caller, req Request, act *admin.Action) (Plan, error) {
	if err := admin.Lacks(who, act.Needs); err != nil {
		return Plan{}, err
	}
	req, err := req.frozen(m.deps.Now())
	if err != nil {
		return Plan{}, err
	}
	if err := req.check(); err != nil {
		return Plan{}, err
	}
	l, err := req.Source(m.deps.Queues)
	if err != nil {
		return Plan{}, err
	}
	act.Target = l.Target()
	ctx, cancel := context.WithTimeout(ctx, planWithin)
	defer cancel()
	pl := planning{planner: m, line: l, plan: Plan{
		ID: rand.Text(), Made: m.deps.Now(), By: who.Name, Request: req, Broker: l.Pipeline.Broker, Source: l.Ref,
		Targets: map[string]int{}, Classes: preflight.Tally{}, KeyedRefs: true,
	}}
	if err := pl.make(ctx, who); err != nil {
		return Plan{}, err
	}
	act.Needs = pl.plan.Needs
	if err := admin.Lacks(who, act.Needs); err != nil {
		return Plan{}, pl.beyondOperator(who, err)
	}
	return pl.plan, m.keepPlan(ctx, who, *act, pl)
}

// keepPlan keeps a plan and audits that it was made. What an edit puts into the message stays in memory.
func (m *Planner) keepPlan(ctx context.Context, who admin.Caller, act admin.Action, pl planning) error {
	kept := pl.plan
	kept.Request.Edit = nil
	if pl.edited != nil {
		if err := m.deps.Edits.keep(kept.ID, *pl.edited); err != nil {
			return err
		}
	}
	e := admin.NewEntry(who, act)
	e.Operation, e.Action, e.Hash = kept.ID, admin.MovePlanAction(kept.Request.Do), HashOf(kept)
	e.Detail = kept.Summary()
	return m.plans.Keep(ctx, kept, e)
}

// Summary says in words what a plan moves.
func (p Plan) Summary() string {
	what := fmt.Sprintf("%d of %d looked at", p.Matching, p.Scanned)
	switch {
	case p.Request.Whole:
		what = fmt.Sprintf("the whole queue of %d", p.Ready)
	case p.Request.Filter != "":
		what += ", all that match " + admin.Printable(p.Request.Filter, 300)
	}
	if s := p.Sends; s != nil {
		what += fmt.Sprintf(", edited to message %s with a body of %d bytes, keyed hash %s", s.Ref, s.Bytes, s.BodyHash)
	}
	return what
}

// HashOf returns the SHA-256 over what a plan selects and what is done with it.
func HashOf(p Plan) string {
	h := sha256.New()
	admin.WriteField(h, string(p.Request.Do))
	admin.WriteField(h, p.Source.Vhost)
	admin.WriteField(h, p.Source.Name)
	admin.WriteField(h, p.Request.Filter)
	admin.WriteField(h, fmt.Sprint(p.Request.Whole))
	for _, ref := range slices.Sorted(slices.Values(p.Request.Refs)) {
		admin.WriteField(h, ref)
	}
	for _, c := range preflight.Classes() {
		admin.WriteField(h, string(c)+"="+string(p.Choices[c]))
	}
	admin.WriteField(h, fmt.Sprint(p.Request.Canary))
	admin.WriteField(h, fmt.Sprint(p.Request.Rate))
	admin.WriteField(h, fmt.Sprint(p.Most))
	if p.Request.Target != "" {
		admin.WriteField(h, "to "+p.Request.Target)
	}
	if p.Sends != nil {
		admin.WriteField(h, p.Sends.Ref)
		admin.WriteField(h, p.Sends.BodyHash)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// PlannedMove returns a plan again, and the job that carries it out or "". A plan that is over is of kind not found. Operators may;
// admins get its edit too, which holds a body.
func (m *Planner) PlannedMove(ctx context.Context, who admin.Caller, id string) (plan Plan, job string, err error) {
	if err := m.allow(ctx, who, auth.Operator, "read_move_plan", id); err != nil {
		return Plan{}, "", err
	}
	if plan, job, err = m.plans.Planned(ctx, id); err != nil {
		return Plan{}, "", err
	}
	if edited, kept := m.deps.Edits.Take(id); kept && who.Can(auth.Admin) {
		plan.Edited = &edited.letter
	}
	return plan, job, nil
}

// planning is a plan in the making.
type planning struct {
	planner *Planner
	line    deadletter.Queue
	plan    Plan
	// queue is the source as it is now; risk is what leaving messages in it does.
	queue dedup.Queue
	risk  dedup.ReturnRisk
	// scan is what the selection was made from; nil when nothing was looked at. matching are its letters that are selected, and selected
	// those of them that are within the most messages of the plan.
	scan     *deadletter.KeptScan
	matching []deadletter.Letter
	selected []deadletter.Letter
	// unseen is how many messages were selected one by one and not seen by the scan.
	unseen int
	edited *EditedMessage
}

func (pl *planning) make(ctx context.Context, who admin.Caller) error {
	var err error
	if pl.queue, err = pl.planner.deps.Queues.Source(ctx, pl.line); err != nil {
		return err
	}
	pl.risk = dedup.Returning(pl.line.Info, pl.queue)
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
	pl.plan.UpTo = pl.plan.MostOf(pl.plan.Ready)
	if pl.presetCanary(); pl.plan.Request.Canary > 0 { // what follows the first messages is sent after they were watched
		pl.list()
		pl.plan.UpTo = pl.plan.MostOf(pl.plan.Ready)
	}
	pl.freezeLeft()
	pl.plan.Guards = append(append(pl.scanGuards(), pl.copyGuards(ctx)...), pl.planner.LiveGuards(ctx, pl.line, pl.queue, pl.plan)...)
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
		return admin.Conflict("Messages cannot be picked out of queue %s, because those that are left would have to be put back: %s. It can be moved as a whole",
			admin.Printable(pl.line.Ref.Name, 255), pl.risk.Why)
	}
	if req.Do != admin.Requeue {
		pl.plan.Choices, pl.plan.Selective = preflight.Chosen(nil, false), !req.Whole
		return nil
	}
	for _, choice := range req.Choices {
		if choice == preflight.LeaveOut && !selective {
			return admin.Conflict("No message can be left out of queue %s, because it would have to be put back: %s", admin.Printable(pl.line.Ref.Name, 255), pl.risk.Why)
		}
	}
	pl.plan.Choices, pl.plan.MayLeave = preflight.Chosen(req.Choices, selective), selective
	leaves := slices.ContainsFunc(preflight.Classes(), func(c preflight.Class) bool { return pl.plan.Choices[c] != preflight.KeepAsIs })
	pl.plan.Selective = selective && (!req.Whole || leaves)
	if !selective {
		pl.plan.Guards = append(pl.plan.Guards, warn("No message can be left out of this queue, because it would have to be put back: %s", pl.risk.Why))
	}
	return nil
}

// selects finds the letters of the scan that are selected.
func (pl *planning) selects() error {
	scans, req := pl.planner.deps.Scans, &pl.plan.Request
	pl.scan = scans.Find(req.Scan)
	if pl.scan == nil && req.Whole {
		pl.scan = scans.Newest(pl.line.Pipeline.Name, pl.line.Ref)
	}
	if pl.scan != nil && (pl.scan.Raw.Pipeline != pl.line.Pipeline.Name || pl.scan.Raw.Queue != pl.line.Ref) {
		return admin.Invalid("The look was at another queue")
	}
	if pl.scan == nil && !req.Whole {
		return admin.Conflict("The look at the queue is not kept any more: it lasts %s, and a newer one takes its place. Look again and select again", admin.Span(deadletter.ScanLife))
	}
	if pl.scan == nil {
		return nil
	}
	f, err := deadletter.ParseFilter(req.Filter, pl.plan.Made.UTC())
	if err != nil {
		return err
	}
	wanted := CountRefs(req.Refs)
	for i := range pl.scan.Raw.Letters {
		letter, masked := &pl.scan.Raw.Letters[i], pl.scan.Masked.Letters[i]
		if f.Reads(deadletter.FieldClass) && letter.Alone == nil {
			masked.Prediction = pl.foretell(letter, int64(len(pl.selected)))
		}
		if req.Whole || wanted[letter.Ref] > 0 || len(req.Refs) == 0 && f.Matches(masked) {
			wanted[letter.Ref]--
			pl.selected = append(pl.selected, pl.line.Aimed(*letter))
		}
	}
	pl.plan.Scanned, pl.plan.ScannedAt = len(pl.scan.Raw.Letters), pl.scan.Raw.At
	if len(pl.selected) == 0 && !req.Whole {
		return admin.Conflict("None of the selected messages was seen by the look; look again and select again")
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
	if len(p.Request.Refs) == 0 || p.Request.Do != admin.Requeue {
		return
	}
	for i := range pl.matching {
		letter := &pl.matching[i]
		if choice, _ := preflight.ChoiceOf(letter.Prediction, p.Choices, p.ClearsDone); choice == preflight.LeaveOut {
			p.LeftOut = append(p.LeftOut, letter.Ref)
		}
	}
}

// CountRefs counts references: two copies of one message have one.
func CountRefs(refs []string) map[string]int {
	m := make(map[string]int, len(refs))
	for _, ref := range refs {
		m[ref]++
	}
	return m
}
