package broker

import (
	"slices"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/brokertest"
)

func TestTracingThatSomebodyLeftOnIsAProblem(t *testing.T) {
	const on, off = `[{"name":"/","tracing":false},{"name":"it's","tracing":true}]`, `[{"name":"/","tracing":false},{"name":"it's","tracing":false}]`
	server := brokertest.NewServer(t, brokertest.V310)
	client := newClient(t, server.URL, func(c *Config) {})
	start := time.Date(2026, 11, 24, 3, 0, 0, 0, time.UTC)
	for _, step := range []struct {
		name  string
		after time.Duration
		reply string
		left  bool
	}{
		{"seen for the first time", 0, on, false},
		{"as long as a trace of ours takes", dedup.MaxTrace, on, false},
		{"longer than any of ours", tracingLeft, on, true},
		{"between two looks", tracingLeft + tracingAge/2, off, true},
		{"switched off", tracingLeft + 2*tracingAge, off, false},
		{"on again", tracingLeft + 3*tracingAge, on, false},
		{"left on again", 2*tracingLeft + 3*tracingAge, on, true},
		{"no list that can be read", 3*tracingLeft + 3*tracingAge, `"x"`, false},
		{"the clock was set back", time.Minute, on, false},
	} {
		server.Reply("vhosts", step.reply)
		problems := client.traced.problems(t.Context(), start.Add(step.after))
		if left := len(problems) == 1; left != step.left || len(problems) > 1 {
			t.Errorf("%s: %+v", step.name, problems)
		} else if left && (problems[0].Kind != ProblemTracingLeftOn || !strings.HasSuffix(problems[0].Remedy, `rabbitmqctl trace_off -p 'it'\''s'`)) {
			t.Errorf("%s: %+v", step.name, problems[0])
		}
	}
}

func TestASampleTellsOfTracingThatWasLeftOn(t *testing.T) {
	server := brokertest.NewServer(t, brokertest.V310)
	server.Reply("vhosts", `[{"name":"/","tracing":true}]`)
	client := newClient(t, server.URL, func(c *Config) {})
	long := time.Now().Add(-2 * tracingLeft)
	client.traced.at, client.traced.since = long, map[string]time.Time{"/": long}
	sample, err := client.Sample(t.Context())
	must(t, err)
	if !slices.ContainsFunc(sample.Problems, func(p dedup.Problem) bool { return p.Kind == ProblemTracingLeftOn }) {
		t.Errorf("%+v", sample.Problems)
	}
}
