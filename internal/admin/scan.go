package admin

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
)

// ScanWithin bounds a look from asking to answer: its turn, the peek and the look-ups after it.
const ScanWithin = 2 * time.Minute

const (
	// peekTimeout bounds a look at a queue, which is over long before a broker takes messages away.
	peekTimeout = 30 * time.Second
	// scanTimeout bounds the look-ups after it.
	scanTimeout = 30 * time.Second
	// sampleLag is how old the broker's figures may be when they are read: it takes them every 5 s, and we read them after that.
	sampleLag = 10 * time.Second
)

// Scans looks at dead-letter queues, and shows what its looks found for as long as they are kept. Looking passes the gate. It is safe for
// concurrent use; its errors are *dedup.Error.
type Scans struct {
	gate      *Gate
	queues    *queueFinder
	predictor *predictor
	mask      letterMasker
	shelf     *scanShelf
	// looks bounds the looks that are under way at once.
	looks turnstile
	refs  dedup.RefKey
	// limit is the most messages that an operator may requeue with one job.
	limit int
	now   func() time.Time
}

// WhyNot returns why dead letters of a pipeline can neither be looked at nor moved, in words for a page, and "" when they can.
func (s *Scans) WhyNot(pipeline string) string { return s.queues.WhyNot(pipeline) }

// allow refuses and records whoever lacks the role.
func (s *Scans) allow(ctx context.Context, who Caller, needs auth.Role, name, target string) error {
	return s.gate.allow(ctx, who, action{name: name, target: printable(target, maxTarget), needs: needs})
}

// Queue returns a dead-letter queue of a pipeline as it is now. Operators may.
func (s *Scans) Queue(ctx context.Context, who Caller, pipeline, queue string) (QueueView, error) {
	if err := s.allow(ctx, who, auth.Operator, "look_at_dead_letter_queue", pipeline); err != nil {
		return QueueView{}, err
	}
	l, err := s.queues.line(pipeline, queue)
	if err != nil {
		return QueueView{}, err
	}
	return s.view(ctx, l), nil
}

// ParkingQueue returns the parking queue of a dead-letter queue as it is now. Operators may.
func (s *Scans) ParkingQueue(ctx context.Context, who Caller, pipeline, queue string) (QueueView, error) {
	if err := s.allow(ctx, who, auth.Operator, "look_at_parking_queue", pipeline); err != nil {
		return QueueView{}, err
	}
	l, err := s.queues.line(pipeline, queue)
	if err == nil && !l.parked {
		l, err = l.parking()
	}
	if err != nil {
		return QueueView{}, err
	}
	return s.view(ctx, l), nil
}

func (s *Scans) view(ctx context.Context, l line) QueueView {
	v := QueueView{Pipeline: l.pipeline.Name, Queue: l.dead, Job: s.queues.holder(ctx, l), OperatorLimit: s.limit}
	if k := s.shelf.newest(l.pipeline.Name, l.queue); k != nil {
		scan := k.masked
		v.Scan = &scan
	}
	if l.parked {
		v.Queue = dedup.DeadLetterQueue{QueueRef: l.queue, Type: "classic", Found: "parking queue of " + l.dead.Name}
	}
	q, err := l.live(ctx, l.queue)
	if err != nil {
		why := dedup.PublicText(err)
		if l.parked && dedup.KindOf(err) == dedup.NotFound {
			why = "there is no parking queue: nothing was discarded yet"
			v.Queue.Depth = dedup.Exact(dedup.Measured, dedup.Count, 0, s.now(), "management API")
		}
		v.WhyNoScan, v.WhyNotSelective, v.WhyNoMove = why, why, why
		return v
	}
	if l.parked {
		v.Queue.Depth, v.Queue.Consumers = figureOf(q.Messages, s.now()), figureOf(q.Consumers, s.now())
	}
	if v.Job == "" && !s.shelf.outdated(l.pipeline.Name, l.queue) {
		v.Queue.Depth = newerDepth(v.Queue.Depth, v.Scan, s.now())
	}
	v.fill(l, q, s.WhyNot(l.pipeline.Name))
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
func (v *QueueView) fill(l line, q dedup.Queue, whyNot string) {
	risk, whole := dedup.Returning(l.info, q), l.wholeRisk(q)
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
func (s *Scans) Scan(ctx context.Context, who Caller, req ScanRequest) (Scan, error) {
	act := action{name: actLook, target: printable(req.Queue, maxTarget), needs: auth.Operator}
	if err := s.gate.allow(ctx, who, act); err != nil {
		return Scan{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, ScanWithin)
	defer cancel()
	if req.Limit < 1 || req.Limit > MaxScan {
		return Scan{}, invalid(fmt.Sprintf("A look takes 1 to %d messages", MaxScan))
	}
	l, err := s.queues.line(req.Pipeline, req.Queue)
	if err != nil {
		return Scan{}, err
	}
	act.target = l.target()
	limit, effects, err := s.mayLook(ctx, l, req.Limit)
	if err != nil {
		return Scan{}, s.gate.refuse(ctx, who, act, err)
	}
	if err := s.looks.enter(ctx, "broker "+l.pipeline.Broker); err != nil {
		return Scan{}, &dedup.Error{Kind: dedup.Unavailable, Public: "Other looks at queues are under way; try again in a moment", Err: err}
	}
	defer s.looks.leave()
	var peek dedup.Peek
	act.run = func(ctx context.Context) (string, error) {
		wait, cancel := context.WithTimeout(ctx, lookWait)
		defer cancel()
		leave, err := s.queues.turns.enter(wait, l.pipeline.Broker, l.queue)
		if err != nil {
			return "", err
		}
		defer leave()
		ctx, cancel = context.WithTimeout(ctx, peekTimeout)
		defer cancel()
		if peek, err = l.broker.Mover.Peek(ctx, l.queue, limit, MaxScanBytes); err != nil {
			return "", unlooked(err)
		}
		return fmt.Sprintf("%s of %d looked at and put back", plural(len(peek.Messages), "message"), peek.Ready), nil
	}
	if err := s.gate.do(ctx, who, act); err != nil {
		return Scan{}, err
	}
	raw := s.scanOf(ctx, who, l, peek, effects)
	if limit < req.Limit && raw.Short == "" && int64(len(raw.Letters)) < raw.Ready {
		raw.Short = fmt.Sprintf("the queue is bounded and has room for %d more", limit)
	}
	shown := s.mask.scan(raw)
	s.shelf.keep(raw, shown)
	return shown, nil
}

// mayLook says how many messages of a queue may be looked at, and what that does; an error says why none may.
func (s *Scans) mayLook(ctx context.Context, l line, limit int) (int, []string, error) {
	if err := s.queues.acting(l); err != nil {
		return 0, nil, err
	}
	if job := s.queues.holder(ctx, l); job != "" {
		return 0, nil, conflict("Job %s is moving messages of this queue; look at it when it has ended", job)
	}
	q, err := l.live(ctx, l.queue)
	if err != nil {
		return 0, nil, err
	}
	risk := dedup.Returning(l.info, q)
	if !risk.Harmless {
		return 0, nil, conflict("Queue %s must not be looked at: %s", printable(l.queue.Name, 255), risk.Why)
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
func (s *Scans) scanOf(ctx context.Context, who Caller, l line, peek dedup.Peek, effects []string) Scan {
	found := Scan{
		ID: rand.Text(), Pipeline: l.pipeline.Name, Queue: l.queue, By: who.Name, At: peek.At, Took: peek.Took,
		Ready: peek.Ready, Short: peek.Short, Effects: effects, Classes: Tally{},
		Letters: make([]Letter, len(peek.Messages)),
	}
	for i, m := range peek.Messages {
		found.Letters[i] = l.read(m)
	}
	ctx, cancel := context.WithTimeout(ctx, scanTimeout)
	defer cancel()
	found.StoreFailed = s.predictor.foretell(ctx, l, found.Letters, s.now().Add(l.wait()))
	for i := range found.Letters {
		found.Classes[found.Letters[i].Prediction.Class]++
	}
	return found
}

// Kept returns a scan that is still kept, masked for everybody. Operators may.
func (s *Scans) Kept(ctx context.Context, who Caller, scan string) (Scan, error) {
	k, err := s.kept(ctx, who, auth.Operator, "read_scan", scan)
	if err != nil {
		return Scan{}, err
	}
	shown := k.masked
	if newest := s.shelf.newest(shown.Pipeline, shown.Queue); newest != nil && newest != k {
		shown.NewerBy, shown.NewerAt = newest.raw.By, newest.raw.At
	}
	return shown, nil
}

func (s *Scans) kept(ctx context.Context, who Caller, needs auth.Role, name, scan string) (*keptScan, error) {
	if err := s.allow(ctx, who, needs, name, scan); err != nil {
		return nil, err
	}
	k := s.shelf.find(scan)
	if k == nil {
		return nil, notFound("This look at the queue is not kept any more: it lasts " + span(ScanLife) + ", and a few newer ones take its place. Look again")
	}
	return k, nil
}

// Letter returns one letter of a scan, masked for everybody. Operators may.
func (s *Scans) Letter(ctx context.Context, who Caller, scan, ref string) (Letter, error) {
	k, err := s.kept(ctx, who, auth.Operator, "read_letter", scan)
	if err != nil {
		return Letter{}, err
	}
	i, ok := k.byRef[ref]
	if !ok {
		return Letter{}, notFound("The look did not see this message")
	}
	return s.mask.shown(k.raw.Letters[i]), nil
}

// Reveal returns one letter of a scan as it is. It is audited with its hash. Admins may.
func (s *Scans) Reveal(ctx context.Context, who Caller, scan, ref string) (Letter, error) {
	k, err := s.kept(ctx, who, auth.Admin, actReveal, scan)
	if err != nil {
		return Letter{}, err
	}
	i, ok := k.byRef[ref]
	if !ok {
		return Letter{}, notFound("The look did not see this message")
	}
	letter := k.raw.Letters[i]
	err = s.gate.do(ctx, who, action{
		name: actReveal, target: s.targetOf(k) + "/" + letter.Ref, needs: auth.Admin,
		run: func(context.Context) (string, error) {
			return fmt.Sprintf("%s, body of %d bytes, keyed hash %s", named(letter.ID), letter.Size, keyedHash(s.refs, letter.Hash)), nil
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
	return "message " + printable(id, 200)
}

func (s *Scans) targetOf(k *keptScan) string {
	return queueTarget(s.queues.pipelines[k.raw.Pipeline].Broker, k.raw.Queue)
}

// Export gives the letters of a scan that match a filter to send: as they are for admins, masked for operators. It is audited, as failed when
// send fails.
func (s *Scans) Export(ctx context.Context, who Caller, scan, filter string, send func([]Letter) error) error {
	k, err := s.kept(ctx, who, auth.Operator, actExport, scan)
	if err != nil {
		return err
	}
	f, err := ParseFilter(filter, s.now().UTC())
	if err != nil {
		return err
	}
	shown, how := s.mask.shown, "masked"
	if who.Can(auth.Admin) {
		shown, how = func(l Letter) Letter { return l }, "as they are"
	}
	var letters []Letter
	for i := range k.masked.Letters {
		// A filter sees what is shown, so that it tells nothing of what is hidden.
		if f.Matches(k.masked.Letters[i]) {
			letters = append(letters, shown(k.raw.Letters[i]))
		}
	}
	return s.gate.do(ctx, who, action{
		name: actExport, target: s.targetOf(k), needs: auth.Operator,
		run: func(context.Context) (string, error) {
			what := plural(len(letters), "message") + " " + how
			if err := send(letters); err != nil {
				return "", &dedup.Error{Kind: dedup.Unavailable, Public: what + ", of which not all were sent", Err: err}
			}
			return what, nil
		},
	})
}
