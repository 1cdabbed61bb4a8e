package alerts

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// nightly is a silence of one pipeline that is valid.
func nightly() Silence {
	return Silence{ID: "s1", Matchers: []Matcher{{Name: "pipeline", Op: MatchEqual, Value: "orders"}}, Author: "ada", Reason: "database moves",
		Starts: evaluatedAt, Ends: evaluatedAt.Add(2 * time.Hour), Created: evaluatedAt}
}

func TestASilenceCoversWhatAllItsMatchersMatch(t *testing.T) {
	labels := map[string]string{"rule": "duplicate_rate", "tier": "severe", "pipeline": "orders", "broker": "main", "team": "shop"}
	for _, tt := range []struct {
		name     string
		matchers []Matcher
		want     bool
	}{
		{"one that is equal", []Matcher{{Name: "pipeline", Op: MatchEqual, Value: "orders"}}, true},
		{"one that differs", []Matcher{{Name: "pipeline", Op: MatchEqual, Value: "emails"}}, false},
		{"equal and not another", []Matcher{{Name: "pipeline", Op: MatchEqual, Value: "orders"}, {Name: "rule", Op: MatchNotEqual, Value: "backlog"}}, true},
		{"one of two does not match", []Matcher{{Name: "pipeline", Op: MatchEqual, Value: "orders"}, {Name: "team", Op: MatchEqual, Value: "books"}}, false},
		{"an expression matches the whole value", []Matcher{{Name: "pipeline", Op: MatchRegexp, Value: "ord.*"}}, true},
		{"a part of the value is not the whole", []Matcher{{Name: "pipeline", Op: MatchRegexp, Value: "rder"}}, false},
		{"an alternative is anchored at both ends", []Matcher{{Name: "pipeline", Op: MatchRegexp, Value: "ord|ders"}}, false},
		{"a negated expression", []Matcher{{Name: "pipeline", Op: MatchNotRegexp, Value: "em.*"}}, true},
		{"a label that is not there counts as empty", []Matcher{{Name: "store", Op: MatchEqual, Value: ""}}, true},
		{"a broken expression matches nothing", []Matcher{{Name: "pipeline", Op: MatchRegexp, Value: "("}}, false},
		{"a broken negated expression matches nothing either", []Matcher{{Name: "pipeline", Op: MatchNotRegexp, Value: "("}}, false},
		{"no matchers cover nothing", nil, false},
		{"an unknown comparison covers nothing", []Matcher{{Name: "pipeline", Op: "~", Value: "orders"}}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := Silence{Matchers: tt.matchers}
			if got := s.Covers(labels); got != tt.want {
				t.Errorf("Covers = %t, want %t", got, tt.want)
			}
			if got := s.Compiled().Covers(labels); got != tt.want {
				t.Errorf("compiled, Covers = %t, want %t", got, tt.want)
			}
		})
	}
}

func TestASilenceIsCheckedBeforeItHolds(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Silence)
		want   string
	}{
		{"a complete one is valid", func(*Silence) {}, ""},
		{"90 days are valid", func(s *Silence) { s.Ends = s.Starts.Add(90 * 24 * time.Hour) }, ""},
		{"more than 90 days are not", func(s *Silence) { s.Ends = s.Starts.Add(90*24*time.Hour + time.Second) }, "90 days"},
		{"an end at its beginning is not", func(s *Silence) { s.Ends = s.Starts }, "ends before it begins"},
		{"nobody is no author", func(s *Silence) { s.Author = " " }, "author"},
		{"no reason is none", func(s *Silence) { s.Reason = "\n" }, "reason"},
		{"an endless reason is refused", func(s *Silence) { s.Reason = strings.Repeat("x", 1001) }, "reason"},
		{"no matchers are refused", func(s *Silence) { s.Matchers = nil }, "no matchers"},
		{"too many matchers are refused", func(s *Silence) {
			for range maxMatchers {
				s.Matchers = append(s.Matchers, s.Matchers[0])
			}
		}, "more than 20"},
		{"a matcher without a label", func(s *Silence) { s.Matchers[0].Name = "" }, "no label"},
		{"a comparison that there is not", func(s *Silence) { s.Matchers[0].Op = "~=" }, "use =, !=, =~ or !~"},
		{"a broken expression", func(s *Silence) { s.Matchers[0] = Matcher{Name: "pipeline", Op: MatchRegexp, Value: "a(b"} }, "regular expression of label"},
		{"an expression that closes our own group", func(s *Silence) { s.Matchers[0] = Matcher{Name: "pipeline", Op: MatchRegexp, Value: "a)|(b"} }, "regular expression"},
		{"an expression that is too long", func(s *Silence) {
			s.Matchers[0] = Matcher{Name: "pipeline", Op: MatchRegexp, Value: strings.Repeat("a", 513)}
		}, "513 bytes"},
		{"one that covers everything", func(s *Silence) { s.Matchers[0] = Matcher{Name: "pipeline", Op: MatchRegexp, Value: ".*"} }, "nearly everything"},
		{"one that covers all but one", func(s *Silence) { s.Matchers[0] = Matcher{Name: "team", Op: MatchNotEqual, Value: "shop"} }, "nearly everything"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := nightly()
			tt.change(&s)
			err := s.Validate()
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("Validate = %v, want nil", err)
			case tt.want != "" && (dedup.KindOf(err) != dedup.Invalid || err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("Validate = %v, want an invalid silence that says %q", err, tt.want)
			}
		})
	}
}

func TestASilenceSaysEverythingThatIsWrongAtOnce(t *testing.T) {
	err := Silence{}.Validate()
	for _, part := range []string{"matchers", "author", "reason", "ends before"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not say %q", err, part)
		}
	}
}

func TestASilenceHoldsFromItsBeginningToItsEnd(t *testing.T) {
	s := nightly()
	for _, tt := range []struct {
		name         string
		at           time.Time
		active, soon bool
		expired      bool
	}{
		{"before it begins", s.Starts.Add(-time.Second), false, false, false},
		{"at its beginning", s.Starts, true, false, false},
		{"a quarter before its end", s.Ends.Add(-15 * time.Minute), true, true, false},
		{"a moment before its end", s.Ends.Add(-time.Nanosecond), true, true, false},
		{"at its end", s.Ends, false, false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if s.Active(tt.at) != tt.active || s.ExpiresSoon(tt.at, 15*time.Minute) != tt.soon || s.Expired(tt.at) != tt.expired {
				t.Errorf("active %t, expires soon %t, expired %t", s.Active(tt.at), s.ExpiresSoon(tt.at, 15*time.Minute), s.Expired(tt.at))
			}
		})
	}
}

func TestAPreviewSaysWhatASilenceCoversAndWarnsWhenThatIsNothing(t *testing.T) {
	firing := &AlertView{Alert: Alert{Key: rule.Key{Rule: "backlog", Kind: rule.OfPipeline, Subject: "orders"},
		State: State{Phase: PhaseFiring, Tier: dedup.Severe}, Last: rule.Judgement{Labels: map[string]string{"pipeline": "orders", "broker": "main"}}}}
	calm := &AlertView{Alert: Alert{Key: rule.Key{Rule: "backlog", Kind: rule.OfPipeline, Subject: "emails"}, Last: rule.Judgement{Labels: map[string]string{"pipeline": "emails", "broker": "main"}}}}
	v := &View{Alerts: []*AlertView{firing, calm}, Rules: []rule.Rule{backlog()}}
	snap := watching("orders", "emails")
	for _, tt := range []struct {
		name     string
		matcher  Matcher
		alerts   int
		subjects string
		warns    bool
	}{
		{"an alert that fires, and its pipeline", Matcher{Name: "pipeline", Op: MatchEqual, Value: "orders"}, 1, "pipeline orders", false},
		{"a calm pipeline, for alerts to come", Matcher{Name: "pipeline", Op: MatchEqual, Value: "emails"}, 0, "pipeline emails", false},
		{"all pipelines of a broker", Matcher{Name: "broker", Op: MatchEqual, Value: "main"}, 1, "pipeline orders, pipeline emails", false},
		{"one tier only", Matcher{Name: "tier", Op: MatchEqual, Value: "warning"}, 0, "pipeline orders, pipeline emails", false},
		{"a mistyped pipeline", Matcher{Name: "pipeline", Op: MatchEqual, Value: "oders"}, 0, "", true},
		{"a rule that there is not", Matcher{Name: "rule", Op: MatchEqual, Value: "back_log"}, 0, "", true},
		{"a tier that there is not", Matcher{Name: "tier", Op: MatchEqual, Value: "critical"}, 0, "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := nightly()
			s.Matchers = []Matcher{tt.matcher}
			c := Preview(s, v, snap)
			if len(c.Alerts) != tt.alerts || strings.Join(c.Subjects, ", ") != tt.subjects || (c.Warning != "") != tt.warns {
				t.Errorf("got %+v, want %d alerts, subjects %q, a warning: %t", c, tt.alerts, tt.subjects, tt.warns)
			}
		})
	}
}
