package deadletter

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

// ScanWithin bounds a look from asking to answer: its turn, the peek and the look-ups after it.
const ScanWithin = 2 * time.Minute

const (
	// PeekTimeout bounds a look at a queue, which is over long before a broker takes messages away.
	PeekTimeout = 30 * time.Second
	// scanTimeout bounds the look-ups after it.
	scanTimeout = 30 * time.Second
	// sampleLag is how old the broker's figures may be when they are read: it takes them every 5 s, and we read them after that.
	sampleLag = 10 * time.Second
)

// Scans looks at dead-letter queues, and shows what its looks found for as long as they are kept. Looking passes the gate. It is safe for
// concurrent use; its errors are *dedup.Error.
type Scans struct {
	deps ScansDeps
	// looks bounds the looks that are under way at once.
	looks admin.Turnstile
}

// ScansDeps are what Scans looks with.
type ScansDeps struct {
	Gate      *admin.Gate
	Queues    *Queues
	Predictor *Predictor
	// Mask hides what operators may not see, Kept keeps what was found.
	Mask   Masker
	Kept   *KeptScans
	RefKey message.RefKey
	// OperatorLimit is the most messages that an operator may requeue with one job.
	OperatorLimit int
	Now           func() time.Time
}

// NewScans returns Scans that have found nothing yet.
func NewScans(deps ScansDeps) *Scans {
	return &Scans{deps, make(admin.Turnstile, admin.LiveReads)}
}

// WhyNot returns why dead letters of a pipeline can neither be looked at nor moved, in words for a page, and "" when they can.
func (s *Scans) WhyNot(pipeline string) string { return s.deps.Queues.WhyNot(pipeline) }

// allow refuses and records whoever lacks the role.
func (s *Scans) allow(ctx context.Context, who admin.Caller, needs auth.Role, name, target string) error {
	return s.deps.Gate.Allow(ctx, who, admin.Action{Name: name, Target: admin.Printable(target, admin.MaxTarget), Needs: needs})
}

// Queue returns a dead-letter queue of a pipeline as it is now. Operators may.
func (s *Scans) Queue(ctx context.Context, who admin.Caller, pipeline, queue string) (QueueView, error) {
	if err := s.allow(ctx, who, auth.Operator, "look_at_dead_letter_queue", pipeline); err != nil {
		return QueueView{}, err
	}
	l, err := s.deps.Queues.Find(pipeline, queue)
	if err != nil {
		return QueueView{}, err
	}
	return s.view(ctx, l), nil
}

// ParkingQueue returns the parking queue of a dead-letter queue as it is now. Operators may.
func (s *Scans) ParkingQueue(ctx context.Context, who admin.Caller, pipeline, queue string) (QueueView, error) {
	if err := s.allow(ctx, who, auth.Operator, "look_at_parking_queue", pipeline); err != nil {
		return QueueView{}, err
	}
	l, err := s.deps.Queues.Find(pipeline, queue)
	if err == nil && !l.Parked {
		l, err = l.Parking()
	}
	if err != nil {
		return QueueView{}, err
	}
	return s.view(ctx, l), nil
}

func (s *Scans) view(ctx context.Context, l Queue) QueueView {
	v := QueueView{Pipeline: l.Pipeline.Name, Queue: l.Dead, Job: s.deps.Queues.Holder(ctx, l), OperatorLimit: s.deps.OperatorLimit}
	if k := s.deps.Kept.Newest(l.Pipeline.Name, l.Ref); k != nil {
		scan := k.Masked
		v.Scan = &scan
	}
	if l.Parked {
		v.Queue = dedup.DeadLetterQueue{QueueRef: l.Ref, Type: "classic", Found: "parking queue of " + l.Dead.Name}
	}
	q, err := l.Live(ctx, l.Ref)
	if err != nil {
		why := dedup.PublicText(err)
		if l.Parked && dedup.KindOf(err) == dedup.NotFound {
			why = "the queue does not exist yet"
			v.Absent, v.Queue.Type, v.Queue.Depth = l.Dead.Name, "", dedup.Unknown(dedup.Count, why)
		}
		v.WhyNoScan, v.WhyNotSelective, v.WhyNoMove = why, why, why
		return v
	}
	if l.Parked {
		v.Queue.Depth, v.Queue.Consumers = figureOf(q.Messages, s.deps.Now()), figureOf(q.Consumers, s.deps.Now())
	}
	if v.Job == "" && !s.deps.Kept.outdated(l.Pipeline.Name, l.Ref) {
		v.Queue.Depth = newerDepth(v.Queue.Depth, v.Scan, s.deps.Now())
	}
	v.fill(l, q, s.WhyNot(l.Pipeline.Name))
	return v
}

// newerDepth is the depth that a look found, unless the queue was counted later, or should have been: then it is not known any more.
func newerDepth(counted dedup.Figure, scan *Scan, now time.Time) dedup.Figure {
	switch {
	case scan == nil:
		return counted
	case counted.Known() && counted.At.After(scan.At.Add(sampleLag)):
		return counted
	case !counted.Known() && now.After(scan.At.Add(sampleLag)):
		return counted
	}
	return dedup.Exact(dedup.Measured, dedup.Count, float64(scan.Ready), scan.At, "the last look at the queue")
}

func figureOf(n *int64, at time.Time) dedup.Figure {
	if n == nil {
		return dedup.Unknown(dedup.Count, "the broker does not say")
	}
	return dedup.Exact(dedup.Measured, dedup.Count, float64(*n), at, "management API")
}

// fill says what can be done with a queue.
func (v *QueueView) fill(l Queue, q dedup.Queue, whyNot string) {
	risk, whole := dedup.Returning(l.Info, q), l.WholeRisk(q)
	v.Effects = risk.Effects
	if !risk.Harmless {
		v.WhyNoScan, v.WhyNotSelective = risk.Why, risk.Why
	}
	if !whole.Harmless {
		v.WhyNoMove = whole.Why
	}
	if v.Job != "" {
		v.WhyNoScan = "a job is moving its messages"
	}
	if whyNot != "" {
		v.WhyNoScan, v.WhyNotSelective, v.WhyNoMove = whyNot, whyNot, whyNot
	}
}

// Scan takes messages from the head of a queue, reads them, puts them back, and looks their markers up. It passes the gate,
// because it changes the queue: what it does is in QueueView.Effects. Operators may.
func (s *Scans) Scan(ctx context.Context, who admin.Caller, req ScanRequest) (Scan, error) {
	act := admin.Action{Name: admin.ActLook, Target: admin.Printable(req.Queue, admin.MaxTarget), Needs: auth.Operator}
	if err := s.deps.Gate.Allow(ctx, who, act); err != nil {
		return Scan{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, ScanWithin)
	defer cancel()
	if req.Limit < 1 || req.Limit > MaxScan {
		return Scan{}, admin.Invalid(fmt.Sprintf("A look takes 1 to %d messages", MaxScan))
	}
	l, err := s.deps.Queues.Find(req.Pipeline, req.Queue)
	if err != nil {
		return Scan{}, err
	}
	act.Target = l.Target()
	limit, effects, err := s.mayLook(ctx, l, req.Limit)
	if err != nil {
		return Scan{}, s.deps.Gate.Refuse(ctx, who, act, err)
	}
	if err := s.looks.Enter(ctx, "broker "+l.Pipeline.Broker); err != nil {
		return Scan{}, &dedup.Error{Kind: dedup.Unavailable, Public: "Other looks at queues are under way; try again in a moment", Err: err}
	}
	defer s.looks.Leave()
	var peek dedup.Peek
	act.Run = func(ctx context.Context) (string, error) {
		wait, cancel := context.WithTimeout(ctx, lookWait)
		defer cancel()
		leave, err := s.deps.Queues.Turns.Enter(wait, l.Pipeline.Broker, l.Ref)
		if err != nil {
			return "", err
		}
		defer leave()
		ctx, cancel = context.WithTimeout(ctx, PeekTimeout)
		defer cancel()
		if peek, err = l.Broker.Mover.Peek(ctx, l.Ref, limit, MaxScanBytes); err != nil {
			return "", unlooked(err)
		}
		return fmt.Sprintf("%s of %d looked at and put back", admin.Plural(len(peek.Messages), "message"), peek.Ready), nil
	}
	if err := s.deps.Gate.Do(ctx, who, act); err != nil {
		return Scan{}, err
	}
	raw := s.scanOf(ctx, who, l, peek, effects)
	if limit < req.Limit && raw.Short == "" && int64(len(raw.Letters)) < raw.Ready {
		raw.Short = fmt.Sprintf("the queue is bounded and has room for %d more", limit)
	}
	shown := s.deps.Mask.scan(raw)
	s.deps.Kept.keep(raw, shown)
	return shown, nil
}

// mayLook says how many messages of a queue may be looked at, and what that does; an error says why none may.
func (s *Scans) mayLook(ctx context.Context, l Queue, limit int) (int, []string, error) {
	if err := s.deps.Queues.Acting(l); err != nil {
		return 0, nil, err
	}
	if job := s.deps.Queues.Holder(ctx, l); job != "" {
		return 0, nil, admin.Conflict("Job %s is moving messages of this queue; look at it when it has ended", job)
	}
	q, err := l.Live(ctx, l.Ref)
	if err != nil {
		return 0, nil, err
	}
	risk := dedup.Returning(l.Info, q)
	if !risk.Harmless {
		return 0, nil, admin.Conflict("Queue %s must not be looked at: %s", admin.Printable(l.Ref.Name, 255), risk.Why)
	}
	if risk.Room != nil {
		limit = int(min(int64(limit), *risk.Room))
	}
	return limit, risk.Effects, nil
}

// unlooked is the error of a look that failed.
func unlooked(err error) error {
	if dedup.KindOf(err) != dedup.Internal {
		return err
	}
	return &dedup.Error{Kind: dedup.Unavailable, Public: "The queue could not be looked at; what was taken is back in it. The program's log says why", Err: err}
}

// scanOf reads what a look has found.
func (s *Scans) scanOf(ctx context.Context, who admin.Caller, l Queue, peek dedup.Peek, effects []string) Scan {
	found := Scan{
		ID: rand.Text(), Pipeline: l.Pipeline.Name, Queue: l.Ref, By: who.Name, At: peek.At, Took: peek.Took,
		Ready: peek.Ready, Short: peek.Short, Effects: effects, Classes: preflight.Tally{},
		Letters: make([]Letter, len(peek.Messages)),
	}
	for i, m := range peek.Messages {
		found.Letters[i] = l.read(m)
	}
	ctx, cancel := context.WithTimeout(ctx, scanTimeout)
	defer cancel()
	found.StoreFailed = s.deps.Predictor.Foretell(ctx, l, found.Letters, s.deps.Now().Add(l.Wait()))
	for i := range found.Letters {
		found.Classes[found.Letters[i].Prediction.Class]++
	}
	return found
}

// Kept returns a scan that is still kept, masked for everybody. Operators may.
func (s *Scans) Kept(ctx context.Context, who admin.Caller, scan string) (Scan, error) {
	k, err := s.kept(ctx, who, auth.Operator, "read_scan", scan)
	if err != nil {
		return Scan{}, err
	}
	shown := k.Masked
	if newest := s.deps.Kept.Newest(shown.Pipeline, shown.Queue); newest != nil && newest != k {
		shown.NewerBy, shown.NewerAt = newest.Raw.By, newest.Raw.At
	}
	return shown, nil
}

func (s *Scans) kept(ctx context.Context, who admin.Caller, needs auth.Role, name, scan string) (*KeptScan, error) {
	if err := s.allow(ctx, who, needs, name, scan); err != nil {
		return nil, err
	}
	k := s.deps.Kept.Find(scan)
	if k == nil {
		return nil, admin.NotFound("This look at the queue is not kept any more: it lasts " + admin.Span(ScanLife) + ", and a few newer ones take its place. Look again")
	}
	return k, nil
}

// Letter returns one letter of a scan, masked for everybody. Operators may.
func (s *Scans) Letter(ctx context.Context, who admin.Caller, scan, ref string) (Letter, error) {
	k, err := s.kept(ctx, who, auth.Operator, "read_letter", scan)
	if err != nil {
		return Letter{}, err
	}
	i, ok := k.byRef[ref]
	if !ok {
		return Letter{}, admin.NotFound("The look did not see this message")
	}
	return s.deps.Mask.shown(k.Raw.Letters[i]), nil
}

// Reveal returns one letter of a scan as it is. It is audited with its hash. Admins may.
func (s *Scans) Reveal(ctx context.Context, who admin.Caller, scan, ref string) (Letter, error) {
	k, err := s.kept(ctx, who, auth.Admin, admin.ActReveal, scan)
	if err != nil {
		return Letter{}, err
	}
	i, ok := k.byRef[ref]
	if !ok {
		return Letter{}, admin.NotFound("The look did not see this message")
	}
	letter := k.Raw.Letters[i]
	err = s.deps.Gate.Do(ctx, who, admin.Action{
		Name: admin.ActReveal, Target: s.targetOf(k) + "/" + letter.Ref, Needs: auth.Admin,
		Run: func(context.Context) (string, error) {
			return fmt.Sprintf("%s, body of %d bytes, keyed hash %s", named(letter.ID), letter.Size, KeyedHash(s.deps.RefKey, letter.Hash)), nil
		},
	})
	if err != nil {
		return Letter{}, err
	}
	return letter, nil
}

func named(id string) string {
	if id == "" {
		return "message without id"
	}
	return "message " + admin.Printable(id, 200)
}

func (s *Scans) targetOf(k *KeptScan) string {
	return QueueTarget(s.deps.Queues.Pipelines[k.Raw.Pipeline].Broker, k.Raw.Queue)
}

// Export gives the letters of a scan that match a filter to send: as they are for admins, masked for operators. It is audited, as failed when
// send fails.
func (s *Scans) Export(ctx context.Context, who admin.Caller, scan, filter string, send func([]Letter) error) error {
	k, err := s.kept(ctx, who, auth.Operator, admin.ActExport, scan)
	if err != nil {
		return err
	}
	f, err := ParseFilter(filter, s.deps.Now().UTC())
	if err != nil {
		return err
	}
	shown, how := s.deps.Mask.shown, "masked"
	if who.Can(auth.Admin) {
		shown, how = func(l Letter) Letter { return l }, "as they are"
	}
	var letters []Letter
	for i := range k.Masked.Letters {
		// A filter sees what is shown, so that it tells nothing of what is hidden.
		if f.Matches(k.Masked.Letters[i]) {
			letters = append(letters, shown(k.Raw.Letters[i]))
		}
	}
	return s.deps.Gate.Do(ctx, who, admin.Action{
		Name: admin.ActExport, Target: s.targetOf(k), Needs: auth.Operator,
		Run: func(context.Context) (string, error) {
			what := admin.Plural(len(letters), "message") + " " + how
			if err := send(letters); err != nil {
				return "", &dedup.Error{Kind: dedup.Unavailable, Public: what + ", of which not all were sent", Err: err}
			}
			return what, nil
		},
	})
}
