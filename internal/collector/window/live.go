package window

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"time"

	"dedup-dashboard/internal/collector/estimate"
	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// longEnough is how long a time must be for its first part to be given up.
const longEnough = 4 * depthAround

// live estimates the rate from the acks of the broker and the completions of the store, both known for the same moments.
type live struct {
	p       *Pipeline
	traffic *Traffic
	store   *Store
	view    View
}

// estimate estimates the rate from the acks of the broker and the completions of the store, both known for the same moments.
func (l live) estimate(w time.Duration, auto sample.Increase) rate.LiveResult {
	if why, better := l.refusal(); why != "" {
		return rate.LiveResult{Rate: rate.Refused(w, rate.LiveSource, rate.LiveFormula, why, better)}
	}
	near := l.ends(w, l.p.fresh())
	fresh, calmer := l.between(near, w, auto)
	if rate.Narrow(fresh.Rate) {
		return fresh
	}
	if t, ok := l.afterLosses(near); ok {
		if shorter, _ := l.between(t, w, auto); shorter.Told && 2*(shorter.Rate.High-shorter.Rate.Low) < fresh.Rate.High-fresh.Rate.Low {
			fresh = shorter
		}
	}
	far := l.ends(w, rate.QuietReach)
	if far.last == near.last && !calmer {
		return fresh
	}
	if quiet, _ := l.between(far, w, auto); !rate.Fresher(fresh.Rate, quiet.Rate, l.p.ends[windowOf{dedup.MethodLive, w}]) {
		return quiet
	}
	return fresh
}

// between is the estimate of a window with the ends given. It reports whether one that ends a little earlier has a calmer end.
func (l live) between(t liveEnds, w time.Duration, auto sample.Increase) (rate.LiveResult, bool) {
	waiting := l.traffic.waitingAcks(l.view.Now.Add(-w), l.view.Scheme, l.view.Several)
	r, ok := l.residual(t, w, waiting)
	return l.judge(r, ok, waiting, w, auto), r.Calmer
}

// judge turns a residual into the interval of the rate.
func (l live) judge(r estimate.Residual, ok bool, waiting estimate.Unacked, w time.Duration, auto sample.Increase) rate.LiveResult {
	f := dedup.Figure{Unit: dedup.Ratio, Source: rate.LiveSource, Formula: rate.LiveFormula, Window: w, Better: rate.BetterReport}
	e := l.view.Stats.Events
	switch {
	case ok && l.view.Now.Sub(r.To) > sample.LiveStale:
		f.Why = text.Reasons("broker and store were not counted together since "+text.Clock(r.To, l.view.Now), l.view.Live.Why)
		return rate.LiveResult{Rate: f}
	case auto.Known && auto.Delta > 0:
		f.Why = "messages were delivered with automatic acks in the window, which the broker does not count as acks"
		return rate.LiveResult{Rate: f}
	case !ok:
		f.Why = text.Reasons("broker and store were not counted together often enough yet", l.view.Live.Why)
		return rate.LiveResult{Rate: f}
	}
	f.Covered, f.At = r.Covered, r.To
	if other := l.busyPartner(r); other != "" {
		f.Why = fmt.Sprintf("the store is shared with pipeline %s", text.Name(other))
		return rate.LiveResult{Rate: f}
	}
	if l.store.Disturbed.After(r.From) {
		f.Why = l.store.DisturbedWhy + text.UntilAbout(l.store.Disturbed.Add(w), l.view.Now)
		return rate.LiveResult{Rate: f}
	}
	if r.Acked == 0 {
		f.Why = "no message was acked in the window"
		return rate.LiveResult{Rate: f}
	}
	if f.Why = l.view.strange(r.Acked - r.Sent + r.Claims); f.Why != "" {
		return rate.LiveResult{Rate: f}
	}
	if l.view.Scheme.BoundsOnly(dedup.MethodLive) {
		return rate.LiveBound(f, l.traffic.Joints.Readings, r, w, waiting, l.traffic.unackedAround(r.From))
	}
	if over := -(r.Sent + r.Band + r.Unsure); over > 3*math.Sqrt(r.Acked) {
		f.Why = fmt.Sprintf("the store shows %s more than the broker shows acks: it holds markers of other work", text.Counted(text.Whole(over), "completed message"))
		return rate.LiveResult{Rate: f}
	}
	r.Failed = ackedFailures{l.p, l.view}.most(r.From, r.To)
	checked := l.p.askedIn(&r, l.view)
	if l.view.Vanishing {
		r.Redelivered = math.Inf(1) // what came again may have left the queue unseen
	}
	r.Doubled = l.p.doubledUnseen(r.From)
	r.Ends = l.traffic.unackedEnds(r.Stretches)
	closed := l.traffic.closedMost(r)
	out := rate.LiveResult{Told: true, Checked: checked, Residual: r, Lost: l.traffic.acksLost(r, l.view.Scheme, l.view.Several, closed)}
	if l.view.Scheme.AcksEach && l.view.Several == "" {
		out.Lost = max(0, out.Lost-rate.DiedAtWork(l.traffic.Joints.Readings, r, e, l.p.Config.MaxProcessing))
	}
	out.LostUntrusted = max(out.Lost, lostWith(closed, l.traffic.Prefetches.Since(r.From)))
	out.Rate = out.Judge(f, l.view.Scheme)
	out.Rate.Why = text.Reasons(out.Rate.Why, rate.DoubledWords(r.Doubled), rate.FailedWords(r.Failed), rate.AgainWords(r.Again), rate.FetchedWords(r.Fetched), rate.UnaskedWords(r.Unasked))
	return out
}

// askedIn completes a residual by what the store counted of its consumers' questions, and reports whether these were checked.
func (p *Pipeline) askedIn(r *estimate.Residual, v View) (checked bool) {
	asks := rate.AsksOf(p.Traffic.Joints.Readings, p.Store.Events.Epoch(), v.Scheme, *r)
	if r.Fetched > 0 || v.ignores || r.Covered > ignoredFor && p.ignores(r.From, r.To, v) {
		r.Unasked = max(0, asks.Unasked[1]-p.rejectedLeast(r, v))
	}
	r.Fetched = asks.Fetched
	switch low, _, _ := r.Duplicates(0); {
	case asks.Checked && low > asks.Hits: // some asked nothing, or claimed, did nothing and were acked: these met no marker either
		r.Unasked = max(r.Unasked+low-asks.Least, asks.Unasked[1])
	case !asks.Checked && (v.Scheme.Unasked || low > asks.Hits): // and nobody knows how many
		r.Unasked = r.Acked
	}
	r.Unasked = max(r.Unasked, p.unfinished(r, v))
	return asks.Checked
}

// ignoredFor is how long a time shows whether consumers ack deliveries without asking.
const ignoredFor = time.Hour

// ignores reports whether more deliveries asked nothing between two times than chance and rejections explain.
func (p *Pipeline) ignores(from, to time.Time, v View) bool {
	const late = 3 * sample.CounterLag // what is counted of dead letters comes late
	joints, frames := p.Traffic.Joints.Readings, p.Traffic.Frames
	j := sort.Search(len(joints), func(j int) bool { return joints[j].At.After(to.Add(-late)) }) - 1
	if p.Store == nil || j < 0 || len(frames) == 0 {
		return false
	}
	asked := p.Store.Events.Epoch()
	if len(asked) == 0 {
		return false
	}
	from = slices.MaxFunc([]time.Time{from, asked[0].At, frames[0].Ended.Add(late)}, time.Time.Compare)
	i := sort.Search(j, func(i int) bool { return joints[i].Run == joints[j].Run && !joints[i].At.Before(from) })
	first, last := &joints[i], &joints[j]
	acked, settled := last.Acked-first.Acked, last.Settled-first.Settled
	r := estimate.Residual{From: first.At, To: last.At, Covered: last.At.Sub(first.At), Acked: acked, Sent: acked - settled, Redelivered: last.Redelivered - first.Redelivered,
		GaveBack: last.Failed - first.Failed, Retried: last.Retried - first.Retried}
	return rate.AsksOf(joints, asked, v.Scheme, r).Unasked[0] > p.rejectedMost(&r, v)
}

// rejectedLeast is how many deliveries at least were rejected before they asked the store, and so were not acked: the dead letters of the time that
// neither work that failed and gave its claim back, nor a claim that was left, nor what was in work when it began explains. What meets work in flight is
// returned, and not rejected.
func (p *Pipeline) rejectedLeast(r *estimate.Residual, v View) float64 {
	if !p.rejectionsShow(r, v) || v.failuresAcked {
		return 0
	}
	return max(0, p.Traffic.Frames.DeadLetteredLeast(r.From, r.To)-p.buriedFailures(r)-max(0, claimsLeft(r))-p.inWork(r.From, v))
}

// rejectedMost is about how many were so at most; 0 where that does not show.
func (p *Pipeline) rejectedMost(r *estimate.Residual, v View) float64 {
	dead := p.Traffic.Frames.DeadLetteredMost(r.From, r.To)
	if !p.rejectionsShow(r, v) || math.IsInf(dead, 1) {
		return 0
	}
	return max(0, dead-p.buriedFailures(r))
}

// rejectionsShow reports whether each message that becomes a dead letter was rejected.
func (p *Pipeline) rejectionsShow(r *estimate.Residual, v View) bool {
	return v.Scheme.Mark == "before" && v.Scheme.OnFail == "delete" && !v.Vanishing && !v.limited() && !v.diesUnaided() && r.Covered == r.To.Sub(r.From)
}

// buriedFailures bounds the deliveries whose work failed and that became dead letters: what was claimed again came back, unless it was a copy, or a dead letter
// that was taken out.
func (p *Pipeline) buriedFailures(r *estimate.Residual) float64 {
	copies := r.GaveBack * min(1, (max(0, r.Sent)+r.Band)/max(1, r.Acked))
	retried := r.Retried - p.retriedUncounted(r.To) - rate.TakenBetween(p.Traffic.Frames, r.From, r.To) - min(r.Failing, p.Traffic.waitingAround(r.From)) - copies
	return r.GaveBack - max(0, min(retried, r.Redelivered))
}

// retriedUncounted are the claims of failures up to a time since when it is not counted yet how many dead letters were taken out.
func (p *Pipeline) retriedUncounted(to time.Time) float64 {
	joints, frames := p.Traffic.Joints.Readings, p.Traffic.Frames
	if _, ok := frames.Counted(to); ok || len(frames) == 0 {
		return 0
	}
	before := func(at time.Time) *estimate.Joint {
		return &joints[max(0, sort.Search(len(joints), func(i int) bool { return joints[i].At.After(at) })-1)]
	}
	last, counted := before(to), before(frames[len(frames)-1].Began.Add(-2*sample.CounterLag))
	if last.Run != counted.Run {
		return math.Inf(1)
	}
	return max(0, last.Retried-counted.Retried)
}

// unfinished bounds the deliveries that claimed, neither finished nor gave their claim back, and may have been acked. It is 0 where none of them need be:
// no more are left than are in work, had their channel closed, or became dead letters without a failure.
func (p *Pipeline) unfinished(r *estimate.Residual, v View) float64 {
	const few = 3 // claims that are read late
	if v.Scheme.Mark != "before" || v.Scheme.OnFail != "delete" {
		return 0
	}
	s := rate.Residual{Scheme: v.Scheme, Several: v.Several, Prefetch: p.Traffic.Prefetches.Since(r.From)}
	closed := lostWith(p.Traffic.closedMost(*r), s.LostPerChannel())
	dead := max(0, p.Traffic.Frames.Buried(r.From, r.To)-r.GaveBack)
	left := claimsLeft(r)
	if left <= max(p.inWork(r.From, v), p.inWork(r.To, v))+closed+dead+few {
		return 0
	}
	return left + p.inWork(r.From, v)
}

// claimsLeft are the claims of the time that were neither completed nor given back in it, less those of before that were.
func claimsLeft(r *estimate.Residual) float64 { return r.Claims - (r.Acked - r.Sent) - r.GaveBack }

// inWork is the most deliveries that were in work at a time: one for each consumer that settles each before the next, else all that were unacked.
func (p *Pipeline) inWork(at time.Time, v View) float64 {
	most := math.Inf(1)
	if (rate.Residual{Scheme: v.Scheme, Several: v.Several}).Trusted() {
		most = p.Traffic.consumersMost(at)
	}
	return min(most, p.Traffic.unackedAround(at))
}

// refusal says why live counts can tell nothing of the pipeline, and what would help.
func (l live) refusal() (why, better string) {
	e := l.view.Stats.Events
	switch {
	case l.store == nil || l.view.StoreDown != "":
		return l.view.StoreDown, ""
	case l.view.Scheme.Refuses(dedup.MethodLive) != "":
		return l.view.Scheme.Refuses(dedup.MethodLive), ""
	case e == nil:
		return "store events are off", rate.BetterEvents
	case !e.Listening:
		return text.Reasons("store events do not come", e.Why), rate.BetterEvents
	case l.view.noCounts() != "":
		return l.view.noCounts(), rate.BetterReport
	case !l.p.Joined:
		return "the broker has no live counts", rate.BetterLive
	}
	// One that fails now and then cuts out its seconds alone.
	if n := len(l.traffic.Joints.Readings); n > 0 && l.view.Now.Sub(l.traffic.Joints.Readings[n-1].At) <= sample.LiveStale {
		return "", ""
	}
	return l.view.Live.Down, l.view.Live.Better
}

// liveEnds are the joint readings at which a window begins and ends. A calm one is looked for no further back than calm before the last.
type liveEnds struct {
	first, last int
	calm        time.Duration
}

// ends are quiet ends of the newest window, the last one no earlier than late before the newest reading.
func (l live) ends(w, late time.Duration) liveEnds {
	readings := l.traffic.Joints.Readings
	last := len(readings) - 1
	if last < 0 {
		return liveEnds{last: last}
	}
	at := func(i int) time.Time { return readings[i].At }
	begin := at(last).Add(-w)
	// What was unacked at a time is known from what was counted before it: of a time that is long enough the very first part is given up for that.
	if known := at(0).Add(depthAround); begin.Before(known) && at(last).Sub(known) >= longEnough {
		begin = known
	}
	earliest, first := at(last).Add(-late), sample.FirstSince(len(readings), at, begin)
	if begin, end := rate.QuietEnds(l.traffic.unrest, at, first, last, late); begin < end {
		first, last = begin, end
	}
	return liveEnds{first, last, at(last).Sub(earliest)}
}

// afterLosses begins a window behind the last loss of acks or channels that may be of the pipeline, where most of it is left. Who lost a channel may
// complete its work all the same, for as long as work takes.
func (l live) afterLosses(t liveEnds) (liveEnds, bool) {
	if t.last <= t.first {
		return t, false
	}
	readings := l.traffic.Joints.Readings
	lost := estimate.LastLoss(readings[t.first : t.last+1])
	begin := readings[t.first+lost].At.Add(l.p.Config.MaxProcessing)
	whole, left := readings[t.last].At.Sub(readings[t.first].At), readings[t.last].At.Sub(begin)
	t.first = sample.FirstSince(len(readings), func(i int) time.Time { return readings[i].At }, begin)
	return t, lost > 0 && t.first < t.last && left >= longEnough && 2*left >= whole
}

// residual is the residual between ends.
func (l live) residual(t liveEnds, w time.Duration, waiting estimate.Unacked) (estimate.Residual, bool) {
	readings := l.traffic.Joints.Readings
	if t.last < 0 {
		return estimate.Residual{}, false
	}
	return estimate.ResidualUpTo(readings[:t.last+1], min(w, readings[t.last].At.Sub(readings[t.first].At)), t.calm, waiting)
}

// busyPartner names a pipeline with the same store that may have written there in the time; empty where none has: one to whose consumers
// nothing was delivered settled nothing, as one of a dead-letter queue in which nothing dies.
func (l live) busyPartner(r estimate.Residual) string {
	if l.p.Partner == "" {
		return ""
	}
	for _, other := range l.store.Users {
		if other != l.p && (!other.Joined || other.Config.Broker != l.p.Config.Broker || !other.Traffic.Joints.Quiet(r.From, r.To)) {
			return other.Config.Name
		}
	}
	return ""
}
