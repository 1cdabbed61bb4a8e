package estimate

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
)

const (
	// mostRepeated, mostOrigins and mostCopies bound the lists of a result.
	mostRepeated = 500
	mostOrigins  = 20
	mostCopies   = 5
	// mostHeaders bounds the headers of a copy that are kept, longestHeader each text of it.
	mostHeaders   = 12
	longestHeader = 120
	// leastBand is the least half width of a count, in messages and as a share: what sessions of known truth were off by.
	leastBand  = 1
	leastShare = 0.0005
	// coarsest is the coarsest time of a marker that tells latencies.
	coarsest = 100 * time.Millisecond
)

// sessionTotals adds up the fates of ids.
type sessionTotals struct {
	j         *joined
	r         dedup.SessionResult
	over      int64
	under     int64
	hidden    int64
	latencies []float64
	origins   map[string]*dedup.Origin
}

func newSessionTotals(j *joined) *sessionTotals {
	t := &sessionTotals{j: j, origins: map[string]*dedup.Origin{}}
	t.r = dedup.SessionResult{Began: j.Trace.Began, Ended: j.Trace.Ended, Traced: j.Trace.Traced, Counted: j.Trace.Counted, Events: j.Listened, AtMost: j.claims()}
	for i := range j.all {
		if j.all[i].ID == "" {
			t.r.NoID++
			t.r.WhyNoID = j.all[i].NoID
		}
	}
	return t
}

func (t *sessionTotals) add(id string, at []int, f fate) {
	r := &t.r
	r.Messages += f.messages
	r.Duplicates += f.duplicates
	r.Redelivered += f.redelivered
	r.Sent += f.duplicates - f.redelivered
	r.InFlight += f.inFlight
	r.Swallowed += f.swallowed
	r.Failures += f.failures
	r.Retries += f.retries
	r.Doubled += f.doubled
	r.Unsettled += f.unsettled
	t.over += f.over
	t.under += f.under
	t.hidden += f.hidden
	if f.worker >= 0 && f.doubled == 0 && !f.unordered {
		took := f.done.Sub(t.j.all[f.worker].At)
		if set := t.j.Markers[id].Set; len(set) > 0 && f.done.Equal(set[0]) {
			took += t.j.Resolution / 2 // what was cut off a time is half of its last place in the mean
		}
		t.latencies = append(t.latencies, max(0, took.Seconds()))
	}
	if f.duplicates > 0 {
		r.RepeatedIDs++
		r.Repeated = append(r.Repeated, t.repeated(id, at, f))
	}
}

// repeated describes an id that was duplicated.
func (t *sessionTotals) repeated(id string, at []int, f fate) dedup.RepeatedID {
	all := t.j.all
	p := dedup.RepeatedID{ID: id, Deliveries: int64(len(at)), Duplicates: f.duplicates, Redelivered: f.redelivered, First: all[at[0]].At, Before: f.before}
	for k := 1; k < len(at); k++ {
		p.Gap = max(p.Gap, all[at[k]].At.Sub(all[at[k-1]].At))
	}
	if !f.done.IsZero() && len(f.repeats) > 0 {
		p.Done = max(0, all[f.repeats[0]].At.Sub(f.done))
	}
	copies := map[string]*dedup.Origin{}
	for _, i := range at {
		o := originOf(&all[i])
		repeat := slices.Contains(f.repeats, i)
		count(t.origins, o, repeat)
		o.Headers = headerTexts(all[i].Headers)
		count(copies, o, repeat)
	}
	p.Origins = sortedOrigins(copies, mostCopies)
	return p
}

func originOf(d *dedup.TracedDelivery) dedup.Origin {
	return dedup.Origin{Exchange: d.Exchange, RoutingKey: d.RoutingKey, UserID: d.UserID, AppID: d.AppID}
}

// count adds a copy to those of the same origin.
func count(all map[string]*dedup.Origin, o dedup.Origin, repeat bool) {
	name := originName(o)
	if all[name] == nil {
		all[name] = &o
	}
	all[name].Copies++
	if repeat {
		all[name].Duplicates++
	}
}

func originName(o dedup.Origin) string {
	name := fmt.Sprintf("%q %q %q %q", o.Exchange, o.RoutingKey, o.UserID, o.AppID)
	for _, h := range slices.Sorted(maps.Keys(o.Headers)) {
		name += fmt.Sprintf(" %q=%q", h, o.Headers[h])
	}
	return name
}

func sortedOrigins(all map[string]*dedup.Origin, most int) []dedup.Origin {
	var list []dedup.Origin
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, *all[name])
	}
	slices.SortStableFunc(list, func(a, b dedup.Origin) int {
		return cmp.Or(cmp.Compare(b.Duplicates, a.Duplicates), cmp.Compare(b.Copies, a.Copies))
	})
	return list[:min(len(list), most)]
}

// headerTexts are the headers of a copy as short texts, as many as are kept.
func headerTexts(headers map[string]any) map[string]string {
	if len(headers) == 0 {
		return nil
	}
	out := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		if len(out) == mostHeaders {
			break
		}
		switch v := headers[name].(type) {
		case map[string]any, []any, []byte, nil:
			continue
		case time.Time:
			out[cutText(name)] = v.UTC().Format(time.RFC3339)
		default:
			out[cutText(name)] = cutText(fmt.Sprint(v))
		}
	}
	return out
}

func cutText(s string) string {
	if len(s) <= longestHeader {
		return s
	}
	return strings.ToValidUTF8(s[:longestHeader], "") + "…"
}

// result completes the sums.
func (t *sessionTotals) result() *dedup.SessionResult {
	r := &t.r
	missed := max(0, math.Abs(r.Counted-r.Traced)-t.j.Trace.Unsure)
	r.Band = max(leastBand, leastShare*float64(r.Messages), float64(max(t.over, t.under))/2) + missed/2 + float64(t.hidden)
	slices.SortStableFunc(r.Repeated, func(a, b dedup.RepeatedID) int { return cmp.Compare(b.Duplicates, a.Duplicates) })
	r.Repeated = r.Repeated[:min(len(r.Repeated), mostRepeated)]
	r.Origins = sortedOrigins(t.origins, mostOrigins)
	switch {
	case t.j.claims() || t.j.Scheme.DatesClaim && !t.j.Listened:
		r.LatencyWhy = "markers tell when work began, not when it ended"
	case !t.j.Listened && t.j.Resolution > coarsest:
		r.LatencyWhy = "the times of markers are too coarse"
	case t.j.late:
		r.LatencyWhy = "traces came late, as on a machine that is too busy"
	case len(t.latencies) == 0:
		r.LatencyWhy = "no work was done"
	default:
		r.Latency = latencyOf(t.latencies, t.j.Resolution)
	}
	return r
}

// latencyBounds are the upper ends of the bars of a histogram, in seconds.
func latencyBounds() []float64 {
	return []float64{0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30}
}

func latencyOf(seconds []float64, resolution time.Duration) dedup.SessionLatency {
	slices.Sort(seconds)
	l := dedup.SessionLatency{N: int64(len(seconds)), Resolution: resolution.Seconds(), Bounds: latencyBounds()}
	l.Counts = make([]int64, len(l.Bounds)+1)
	sum := 0.0
	for _, s := range seconds {
		sum += s
		i, _ := slices.BinarySearch(l.Bounds, s)
		l.Counts[i]++
	}
	l.Mean = sum / float64(len(seconds))
	l.P50, l.P95, l.P99 = rank(seconds, 0.5), rank(seconds, 0.95), rank(seconds, 0.99)
	return l
}

// rank is the quantile of sorted values, by nearest rank.
func rank(sorted []float64, q float64) float64 {
	return sorted[min(len(sorted)-1, int(math.Ceil(q*float64(len(sorted))))-1)]
}
