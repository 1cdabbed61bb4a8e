package overview

import (
	"maps"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/web/templates"
)

// headline sums what can be summed over the pipelines that know it, and says how many those are.
func headline(all []show.Judged, now time.Time) []templates.Stat {
	t := tally{
		of: len(all), dead: map[string]float64{}, busy: map[string]float64{}, known: map[string]int{}, blind: map[string]int{}, atLeast: map[string]bool{},
		quality: map[string]dedup.Quality{}, oldest: map[string]time.Time{},
	}
	for _, p := range all {
		t.add(p)
	}
	messages := t.stat("Messages", "messages", templates.Rate(t.rate)+"/s")
	if messages.Known {
		messages.Note = strings.TrimSuffix("mean of "+templates.Window(t.window)+" · "+messages.Note, " · ")
	}
	stats := []templates.Stat{
		messages,
		t.stat("Duplicate rate", "rate", templates.PercentBand((t.low+t.high)/2/t.n, t.low/t.n, t.high/t.n)),
		t.stat("Dead letters", "dead", templates.Number(show.Sum(t.dead))),
		t.stat("Processing markers", "busy", templates.Number(show.Sum(t.busy))),
	}
	for i, key := range []string{"messages", "rate", "dead", "busy"} {
		t.prove(&stats[i], key, now)
	}
	return stats
}

// prove gives a sum its provenance: the weakest quality of its parts, and how they were added.
func (t *tally) prove(s *templates.Stat, key string, now time.Time) {
	formula := map[string]string{
		"messages": "sum of the messages per second of each pipeline",
		"rate":     "mean of the judged duplicate rates, each by its messages; estimates are left out",
		"dead":     "sum of the depths of dead-letter queues, each queue once",
		"busy":     "sum of the processing markers, each store once",
	}[key]
	f := dedup.Figure{
		Quality: t.quality[key], Source: templates.Number(t.known[key]) + " of " + show.Counted(t.of, "pipeline"), Formula: formula, At: t.oldest[key],
		Better: "the page of each pipeline has the source of each part",
	}
	if !s.Known {
		f.Why = "no pipeline knows its part"
	}
	s.Figure = templates.Figure{Text: s.Value, Known: s.Known, Quality: f.Quality.String(), Facts: show.FigureFacts(f, now)}
}

// A tally adds up the figures of all pipelines, and counts how many of them know each.
type tally struct {
	of                 int
	rate, n, low, high float64
	// dead is by dead-letter queue and busy by store: pipelines that share one show the same messages and markers.
	dead, busy map[string]float64
	window     time.Duration
	known      map[string]int
	// blind counts the pipelines whose part is not known and rests on a source that does not answer.
	blind   map[string]int
	atLeast map[string]bool
	// quality is the weakest of what was summed, oldest when the oldest sample in it was taken.
	quality map[string]dedup.Quality
	oldest  map[string]time.Time
}

func (t *tally) add(p show.Judged) {
	had := maps.Clone(t.known)
	defer func() { t.miss(p.Down, had) }()
	if len(p.Windows) > 0 {
		if m := p.Windows[0].Messages; m.Known() && m.Covered > 0 {
			t.rate += m.Value / m.Covered.Seconds()
			t.window = p.Windows[0].Window
			t.count("messages", m)
		}
	}
	if d := p.Verdict.Judged; d.Known() && d.Quality != dedup.Estimated && d.N > 0 {
		t.n, t.low, t.high = t.n+d.N, t.low+d.Low*d.N, t.high+d.High*d.N
		t.count("rate", d)
	}
	if p.DeadLetters.Known() {
		t.addDeadLetters(p.PipelineStatus)
		depth := p.DeadLetters
		depth.Quality = dedup.Measured // whose the messages are is in doubt, and not how many there are
		t.count("dead", depth)
	}
	if f := show.Processing(p.PipelineStatus); f.Known() {
		t.busy[p.Pipeline.Store] = max(t.busy[p.Pipeline.Store], f.Value)
		t.count("busy", f)
	}
}

// restsOn are the kinds of sources that a sum rests on.
func restsOn(key string) []string {
	return map[string][]string{
		"messages": {"broker"}, "rate": {"broker", "store", "reported"}, "dead": {"broker"}, "busy": {"store"},
	}[key]
}

// miss counts the sums to which a pipeline that was added gave nothing, because a source of theirs is down; had are the counts of before.
func (t *tally) miss(down []dedup.SourceHealth, had map[string]int) {
	for _, key := range []string{"messages", "rate", "dead", "busy"} {
		lacks := func(h dedup.SourceHealth) bool { return slices.Contains(restsOn(key), h.Kind) }
		if t.known[key] == had[key] && slices.ContainsFunc(down, lacks) {
			t.blind[key]++
		}
	}
}

func (t *tally) addDeadLetters(p *dedup.PipelineStatus) {
	if len(p.DeadLetterQueues) == 0 {
		t.dead["pipeline "+p.Pipeline.Name] = p.DeadLetters.Value
	}
	for _, q := range p.DeadLetterQueues {
		if q.Depth.Known() {
			// No name of a broker, vhost or queue holds a NUL.
			key := strings.Join([]string{p.Pipeline.Broker, q.Vhost, q.Name}, "\x00")
			t.dead[key] = max(t.dead[key], q.Depth.Value)
		}
	}
}

func (t *tally) count(key string, f dedup.Figure) {
	t.known[key]++
	t.atLeast[key] = t.atLeast[key] || f.AtLeast
	t.quality[key] = max(t.quality[key], f.Quality)
	if old := t.oldest[key]; old.IsZero() || !f.At.IsZero() && f.At.Before(old) {
		t.oldest[key] = f.At
	}
}

func (t *tally) stat(label, key, value string) templates.Stat {
	s := templates.Stat{Label: label, Value: value, Known: t.known[key] > 0}
	if t.atLeast[key] {
		s.Value = "≥ " + value
	}
	if !s.Known {
		s.Value, s.Note = "unknown", "no pipeline knows"
	} else if t.known[key] < t.of {
		s.Note = templates.Number(t.known[key]) + " of " + templates.Number(t.of) + " pipelines"
	}
	if n := t.blind[key]; n > 0 { // else a number would look better because the worst is not in it any more
		s.Note += " · " + templates.Number(n) + " cannot be read"
	}
	return s
}
