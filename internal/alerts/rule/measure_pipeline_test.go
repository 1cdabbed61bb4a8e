package rule

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

// A measureCase spoils a quiet pipeline, and says what one rule makes of it.
type measureCase struct {
	name   string
	rule   string
	spoil  func(*dedup.PipelineStatus)
	health Health
	enters dedup.Tier
	holds  dedup.Tier
	value  float64
	why    string
}

func (c measureCase) run(t *testing.T) {
	p := quietPipeline()
	c.spoil(p)
	j := judgeOne(t, p, c.rule)
	if j.Health != c.health || j.Enters != c.enters || j.Holds != c.holds || j.Value != c.value || !strings.Contains(j.Why, c.why) {
		t.Errorf("got %s, enters %s, holds %s by %v because %q; want %s, %s, %s by %v because %q",
			j.Health, j.Enters, j.Holds, j.Value, j.Why, c.health, c.enters, c.holds, c.value, c.why)
	}
}

// inHour changes the figures of the last hour.
func inHour(change func(*dedup.WindowFigures)) func(*dedup.PipelineStatus) {
	return func(p *dedup.PipelineStatus) { change(windowOf(p, time.Hour)) }
}

// knownOf is a count of a window of which only a part is known.
func knownOf(n float64, window, covered time.Duration) dedup.Figure {
	f := exactly(n)
	f.Window, f.Covered = window, covered
	return f
}

func perHourOf(v float64) dedup.Figure {
	f := dedup.Exact(dedup.Derived, dedup.PerHour, v, readAt, "")
	f.Window, f.Covered, f.N = time.Hour, time.Hour, v
	return f
}

func TestMeasuresOfDeadLettersAndMarkers(t *testing.T) {
	unknown := dedup.Unknown(dedup.Count, "not read yet")
	finding := func(kind string, tier dedup.Tier) []dedup.Finding {
		return []dedup.Finding{{Kind: kind, Tier: tier, Text: "found " + kind}}
	}
	for _, tt := range []measureCase{
		{"one dead letter is a warning", "dead_letters", func(p *dedup.PipelineStatus) { p.DeadLetters = exactly(1) }, HealthOK, dedup.Warning, dedup.Warning, 1, "1 dead letter, at or above the warning limit of 1"},
		{"acknowledged ones are not", "dead_letters", func(p *dedup.PipelineStatus) {
			p.DeadLetters, p.Baseline = exactly(12), &dedup.Baseline{Count: 12}
		}, HealthOK, dedup.Normal, dedup.Normal, 0, "0 dead letters beside 12 acknowledged, below the warning limit of 1"},
		{"one beyond them is", "dead_letters", func(p *dedup.PipelineStatus) {
			p.DeadLetters, p.Baseline = exactly(13), &dedup.Baseline{Count: 12}
		}, HealthOK, dedup.Warning, dedup.Warning, 1, "1 dead letter beside 12 acknowledged"},
		{"dead letters that are not known are no data", "dead_letters", func(p *dedup.PipelineStatus) { p.DeadLetters = unknown }, HealthNoData, 0, 0, 0, "not read yet"},
		{"nine dead letters in an hour are held only", "dead_letter_inflow", inHour(func(w *dedup.WindowFigures) { w.DeadLetterInflow = perHourOf(9) }), HealthOK, dedup.Normal, dedup.Severe, 9, "9 dead letters in 1 h, below the severe limit of 10 in an hour"},
		{"ten are severe", "dead_letter_inflow", inHour(func(w *dedup.WindowFigures) { w.DeadLetterInflow = perHourOf(10) }), HealthOK, dedup.Severe, dedup.Severe, 10, "at or above the severe limit of 10 in an hour"},
		{"a hundred are an emergency", "dead_letter_inflow", inHour(func(w *dedup.WindowFigures) { w.DeadLetterInflow = perHourOf(100) }), HealthOK, dedup.Emergency, dedup.Emergency, 100, "emergency limit of 100 in an hour"},
		{"one in the first half minute is one, and not 120", "dead_letter_inflow", inHour(func(w *dedup.WindowFigures) {
			w.DeadLetterInflow = perHourOf(120)
			w.DeadLetterInflow.N, w.DeadLetterInflow.Covered = 1, 30*time.Second
		}), HealthOK, dedup.Normal, dedup.Normal, 1, "1 dead letter in 30 s, below the severe limit"},
		{"one stuck marker is a warning", "stuck_markers", func(p *dedup.PipelineStatus) { p.Stuck = exactly(1) }, HealthOK, dedup.Warning, dedup.Warning, 1, "stuck markers: 1, at or above"},
		{"ten are severe", "stuck_markers", func(p *dedup.PipelineStatus) { p.Stuck = exactly(10) }, HealthOK, dedup.Severe, dedup.Severe, 10, "severe limit of 10"},
		{"a marker of which nothing can be told is a warning", "stuck_markers", func(p *dedup.PipelineStatus) { p.Findings = finding("stuck_markers", dedup.Warning) }, HealthOK, dedup.Warning, dedup.Warning, 0, "found stuck_markers"},
		{"the finding of stuck markers does not undo a limit", "stuck_markers", func(p *dedup.PipelineStatus) {
			p.Stuck, p.Findings = exactly(2), finding("stuck_markers", dedup.Severe)
		}, HealthOK, dedup.Warning, dedup.Warning, 2, "stuck markers: 2"},
		{"without a pass stuck markers are no data", "stuck_markers", func(p *dedup.PipelineStatus) { p.Stuck = unknown }, HealthNoData, 0, 0, 0, "not read yet"},
		{"markers that are meant to stay are none without an expiry", "markers_without_expiry", func(p *dedup.PipelineStatus) { p.MarkersNoExpiry = exactly(5000) }, HealthOK, dedup.Normal, dedup.Normal, 0, "no marker lacks"},
		{"few leaked markers are a warning", "markers_without_expiry", func(p *dedup.PipelineStatus) {
			p.MarkersNoExpiry, p.Findings = exactly(3), finding("marker_without_expiry", dedup.Normal)
		}, HealthOK, dedup.Warning, dedup.Warning, 3, "3 markers without an expiry, at or above the warning limit"},
		{"a hundred are severe", "markers_without_expiry", func(p *dedup.PipelineStatus) {
			p.MarkersNoExpiry, p.Findings = exactly(100), finding("marker_without_expiry", dedup.Warning)
		}, HealthOK, dedup.Severe, dedup.Severe, 100, "severe limit of 100"},
		{"one of work under way is as severe as the page says", "markers_without_expiry", func(p *dedup.PipelineStatus) {
			p.MarkersNoExpiry, p.Findings = exactly(1), finding("marker_without_expiry", dedup.Severe)
		}, HealthOK, dedup.Severe, dedup.Severe, 1, "found marker_without_expiry"},
	} {
		t.Run(tt.name, tt.run)
	}
}

func TestMeasuresOfWork(t *testing.T) {
	unknown := dedup.Unknown(dedup.Count, "nothing tells")
	least := func(v float64) dedup.Figure {
		f := exactly(v)
		f.AtLeast = true
		return f
	}
	between := exactly(0)
	between.High = 40
	givenUp := func(tier dedup.Tier) []dedup.Finding {
		return []dedup.Finding{{Kind: "messages_given_up", Tier: tier, Text: "4 messages were given up"}}
	}
	failures := func(hits, n float64) dedup.Figure { return rate(dedup.Measured, hits/n, hits/n, n) }
	for _, tt := range []measureCase{
		{"nine redeliveries are held only", "redelivery_loop", func(p *dedup.PipelineStatus) { windowOf(p, 15*time.Minute).Looping = exactly(9) }, HealthOK, dedup.Normal, dedup.Warning, 9, "below the warning limit of 10"},
		{"redeliveries of which nine minutes are known are those of nine minutes", "redelivery_loop", func(p *dedup.PipelineStatus) {
			windowOf(p, 15*time.Minute).Looping = knownOf(40, 15*time.Minute, 9*time.Minute+10*time.Second)
		}, HealthOK, dedup.Warning, dedup.Warning, 40, "40 redeliveries of messages that cannot proceed in 9 m, at or above"},
		{"and so are double effects", "double_effects", func(p *dedup.PipelineStatus) {
			windowOf(p, 24*time.Hour).DoubleEffects = knownOf(1, 24*time.Hour, 100*time.Second)
		}, HealthOK, dedup.Emergency, dedup.Emergency, 1, "double effects in 1 m 40 s: 1, at or above"},
		{"and lost messages", "lost_messages", inHour(func(w *dedup.WindowFigures) { w.Swallowed, w.Lost = knownOf(4, time.Hour, 12*time.Minute), exactly(6) }), HealthOK, dedup.Emergency, dedup.Emergency, 10,
			"4 swallowed in the 12 m that are known, 6 lost"},
		{"a loop is seen where no figure counts it", "redelivery_loop", func(p *dedup.PipelineStatus) {
			windowOf(p, 15*time.Minute).Looping = unknown
			p.Findings = []dedup.Finding{{Kind: "looping", Tier: dedup.Severe, Text: "Messages are looping"}}
		}, HealthOK, dedup.Severe, dedup.Severe, 0, "Messages are looping"},
		{"unacked messages with acks between are normal", "unacked_without_ack", func(p *dedup.PipelineStatus) {
			p.SetGauge(dedup.Unacked, exactly(5))
			p.LastActivity = readAt.Add(-time.Minute)
		}, HealthOK, dedup.Normal, dedup.Normal, 60, "5 unacked messages and no ack for 60 s, below"},
		{"ten minutes without an ack are a warning", "unacked_without_ack", func(p *dedup.PipelineStatus) {
			p.SetGauge(dedup.Unacked, exactly(1))
			p.LastActivity = readAt.Add(-10 * time.Minute)
		}, HealthOK, dedup.Warning, dedup.Warning, 600, "1 unacked message and no ack for 10 m, at or above the warning limit of 10 m"},
		{"work that may take an hour has an hour", "unacked_without_ack", func(p *dedup.PipelineStatus) {
			p.SetGauge(dedup.Unacked, exactly(1))
			p.LastActivity, p.Pipeline.MaxProcessing = readAt.Add(-20*time.Minute), time.Hour
		}, HealthOK, dedup.Normal, dedup.Normal, 1200, "below the warning limit of 1 h"},
		{"an empty pipeline that was quiet for a day is normal", "unacked_without_ack", func(p *dedup.PipelineStatus) { p.LastActivity = readAt.Add(-24 * time.Hour) }, HealthOK, dedup.Normal, dedup.Normal, 0, "no message is unacked"},
		{"where no ack was ever seen the time that was watched counts", "unacked_without_ack", func(p *dedup.PipelineStatus) {
			p.SetGauge(dedup.Unacked, exactly(1))
			p.LastActivity = time.Time{}
			f := exactly(0)
			f.Window, f.Covered = time.Hour, 12*time.Minute
			windowOf(p, time.Hour).Messages = f
		}, HealthOK, dedup.Warning, dedup.Warning, 720, "no ack for 12 m"},
		{"not where messages were acked in it", "unacked_without_ack", func(p *dedup.PipelineStatus) {
			p.SetGauge(dedup.Unacked, exactly(1))
			p.LastActivity = time.Time{}
			f := exactly(5)
			f.Window, f.Covered = time.Hour, 12*time.Minute
			windowOf(p, time.Hour).Messages = f
		}, HealthNoData, 0, 0, 0, "not known yet"},
		{"and where nothing was watched there is no data", "unacked_without_ack", func(p *dedup.PipelineStatus) {
			p.SetGauge(dedup.Unacked, exactly(1))
			p.LastActivity = time.Time{}
		}, HealthNoData, 0, 0, 0, "not known yet"},
		{"one swallowed message is severe", "lost_messages", inHour(func(w *dedup.WindowFigures) { w.Swallowed = exactly(1) }), HealthOK, dedup.Severe, dedup.Severe, 1, "1 swallowed, 0 lost, at or above the severe limit of 1"},
		{"swallowed and lost ones add up to an emergency", "lost_messages", inHour(func(w *dedup.WindowFigures) { w.Swallowed, w.Lost = exactly(4), least(6) }), HealthOK, dedup.Emergency, dedup.Emergency, 10, "4 swallowed, at least 6 lost"},
		{"what may be none sets no tier", "lost_messages", inHour(func(w *dedup.WindowFigures) { w.Swallowed = between }), HealthOK, dedup.Normal, dedup.Normal, 0, "0 to 40 swallowed"},
		{"one figure is enough to judge by", "lost_messages", inHour(func(w *dedup.WindowFigures) { w.Swallowed, w.Lost = unknown, least(2) }), HealthOK, dedup.Severe, dedup.Severe, 2, "at least 2 lost"},
		{"of neither there is no data", "lost_messages", inHour(func(w *dedup.WindowFigures) { w.Swallowed, w.Lost = unknown, unknown }), HealthNoData, 0, 0, 0, "swallowed messages unknown: nothing tells; lost messages unknown"},
		{"a finding tells of losses that no figure counts", "lost_messages", func(p *dedup.PipelineStatus) {
			w := windowOf(p, time.Hour)
			w.Swallowed, w.Lost, p.Findings = unknown, unknown, givenUp(dedup.Warning)
		}, HealthOK, dedup.Warning, dedup.Warning, 0, "4 messages were given up"},
		{"what consumers may publish to a listed queue is as bad as the page says", "lost_messages", func(p *dedup.PipelineStatus) {
			windowOf(p, time.Hour).Lost = least(20)
			p.Pipeline.DeadLetterQueues, p.Findings = []string{"parked"}, givenUp(dedup.Warning)
		}, HealthOK, dedup.Warning, dedup.Warning, 0, "4 messages were given up"},
		{"one double effect is an emergency", "double_effects", func(p *dedup.PipelineStatus) { windowOf(p, 24*time.Hour).DoubleEffects = least(1) }, HealthOK, dedup.Emergency, dedup.Emergency, 1, "double effects in 24 h: at least 1, at or above the emergency limit of 1"},
		{"an old one is as bad as the page says", "double_effects", func(p *dedup.PipelineStatus) {
			p.Findings = []dedup.Finding{{Kind: "double_effects", Tier: dedup.Warning, Text: "all of it longer than a day ago"}}
		}, HealthOK, dedup.Warning, dedup.Warning, 0, "longer than a day ago"},
		{"without a source double effects are no data", "double_effects", func(p *dedup.PipelineStatus) { windowOf(p, 24*time.Hour).DoubleEffects = unknown }, HealthNoData, 0, 0, 0, "nothing tells"},
		{"five of a hundred failures are too few to enter a warning, and hold one", "failure_rate", func(p *dedup.PipelineStatus) { windowOf(p, 15*time.Minute).FailureRate = failures(5, 100) }, HealthOK, dedup.Normal, dedup.Warning, 0.05, "too few to be sure"},
		{"fifty of a thousand failures are a warning", "failure_rate", func(p *dedup.PipelineStatus) { windowOf(p, 15*time.Minute).FailureRate = failures(50, 1000) }, HealthOK, dedup.Warning, dedup.Warning, 0.05, "failure rate 5.00 %, at or above the warning limit of 5.00 % (50 of 1,000 attempts in 15 m)"},
		{"few attempts are judged over an hour", "failure_rate", func(p *dedup.PipelineStatus) {
			windowOf(p, 15*time.Minute).FailureRate, windowOf(p, time.Hour).FailureRate = failures(9, 9), failures(20, 80)
		}, HealthOK, dedup.Severe, dedup.Severe, 0.25, "(20 of 80 attempts in 1 h)"},
		{"one ack timeout in the hour is a warning", "ack_timeouts", inHour(func(w *dedup.WindowFigures) { w.AckTimeouts = perHourOf(1) }), HealthOK, dedup.Warning, dedup.Warning, 1, "1 ack timeout in 1 h"},
		{"twelve restarts are a warning", "consumer_restarts", inHour(func(w *dedup.WindowFigures) { w.ConsumerRestarts = perHourOf(12) }), HealthOK, dedup.Warning, dedup.Warning, 12, "12 consumer restarts in 1 h, at or above the warning limit of 12 in an hour"},
		{"an estimate sets no tier", "consumer_restarts", inHour(func(w *dedup.WindowFigures) {
			w.ConsumerRestarts = perHourOf(99)
			w.ConsumerRestarts.Quality = dedup.Estimated
		}), HealthNoData, 0, 0, 0, "only estimated"},
	} {
		t.Run(tt.name, tt.run)
	}
}

func TestTheBacklogIsJudgedOnceItHasALimit(t *testing.T) {
	p := quietPipeline()
	p.SetGauge(dedup.Ready, exactly(1200))
	r := covering(resolve(t, Rule{Name: "backlog", Limits: Limits{Warning: Limit(1000)}}), "backlog", nil)[0]
	if js, _ := r.Judge(roundOf(p)); len(js) != 1 || js[0].Enters != dedup.Warning || js[0].Why != "1,200 messages waiting, at or above the warning limit of 1,000" {
		t.Errorf("the backlog is %+v", js)
	}
	p.SetGauge(dedup.Ready, dedup.Unknown(dedup.Count, "not read yet"))
	if js, _ := r.Judge(roundOf(p)); len(js) != 1 || js[0].Health != HealthNoData {
		t.Errorf("a backlog that is not known is %+v", js)
	}
}

func TestAPipelineWithoutAStoreHasNoLabelOfOne(t *testing.T) {
	p := quietPipeline()
	p.Pipeline.Store = ""
	if store, there := judgeOne(t, p, "dead_letters").Labels["store"]; there {
		t.Errorf("its label store is %q, which its owner wrote", store)
	}
}
