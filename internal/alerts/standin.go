package alerts

import "time"

// A Matcher is a stand-in.
type Matcher struct {
	Name  string
	Op    MatchOp
	Value string
}

// A MatchOp is a stand-in.
type MatchOp string

// MatchEqual is a stand-in.
const MatchEqual MatchOp = "="

// A Silence is a stand-in.
type Silence struct {
	ID             string
	Matchers       []Matcher
	Author, Reason string
	Starts, Ends   time.Time
}

// Covers is a stand-in.
func (s Silence) Covers(labels map[string]string) bool {
	for _, m := range s.Matchers {
		if labels[m.Name] != m.Value {
			return false
		}
	}
	return len(s.Matchers) > 0
}

// A Tick is a stand-in.
type Tick struct {
	At     time.Time
	Alerts []Alert
	Edges  []Transition
	Due    []Notification
	// Sent is what Dispatcher.Sent returns after the plan of this tick.
	Sent []Sent
}

// A Backlog is a stand-in.
type Backlog struct {
	Oldest          time.Time
	Waiting, Failed int64
	Errors          []string
}
