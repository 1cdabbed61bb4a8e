package events

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dedup-dashboard/internal/dedup"
)

func TestAnActOfOursIsTakenForOursOnce(t *testing.T) {
	clear := func() *OwnAct { return &OwnAct{Key: "a", Event: "del"} }
	lost := &LostError{errors.New("closed")}
	for name, c := range map[string]struct {
		run    func(t *testing.T, o *OwnActs) (ours []bool)
		want   []bool
		unsure bool
	}{
		"it is heard before we know that it is done": {func(t *testing.T, o *OwnActs) []bool {
			acts := o.Begin(clear())
			ours := o.take("a", "del") != nil
			o.End(acts, nil)
			return []bool{ours, o.take("a", "del") != nil}
		}, []bool{true, false}, false},
		"it is heard behind": {func(t *testing.T, o *OwnActs) []bool {
			o.End(o.Begin(clear()), nil)
			return []bool{o.take("b", "del") != nil, o.take("a", "set") != nil, o.take("a", "del") != nil, o.take("a", "del") != nil}
		}, []bool{false, false, true, false}, false},
		"it was not done": {func(t *testing.T, o *OwnActs) []bool {
			o.End(o.Begin(clear()), errors.New("a watched key was touched"))
			return []bool{o.take("a", "del") != nil}
		}, []bool{false}, false},
		"a consumer was taken for us": {func(t *testing.T, o *OwnActs) []bool {
			acts := o.Begin(clear())
			ours := o.take("a", "del") != nil
			o.End(acts, errors.New("a watched key was touched"))
			return []bool{ours}
		}, []bool{true}, true},
		"of two operators one does it": {func(t *testing.T, o *OwnActs) []bool {
			first, second := o.Begin(clear()), o.Begin(clear())
			ours := o.take("a", "del") != nil
			o.End(first, errors.New("a watched key was touched"))
			o.End(second, nil)
			return []bool{ours, o.take("a", "del") != nil}
		}, []bool{true, false}, false},
		"its answer was lost": {func(t *testing.T, o *OwnActs) []bool {
			o.End(o.Begin(clear()), lost)
			return []bool{o.take("a", "del") != nil}
		}, []bool{false}, true},
		"no notification of it came before an answer that is later": {func(t *testing.T, o *OwnActs) []bool {
			o.End(o.Begin(clear()), nil)
			o.reset()
			return []bool{o.take("a", "del") != nil}
		}, []bool{false}, false},
		"it was done behind the question": {func(t *testing.T, o *OwnActs) []bool {
			acts := o.Begin(clear())
			o.ask()
			o.End(acts, nil)
			o.answered()
			return []bool{o.take("a", "del") != nil}
		}, []bool{true}, false},
		"there are more than are remembered": {func(t *testing.T, o *OwnActs) []bool {
			for range mostOwn + 1 {
				o.End(o.Begin(clear()), nil)
			}
			return []bool{len(o.acts) <= mostOwn}
		}, []bool{true}, true},
	} {
		t.Run(name, func(t *testing.T) {
			o := &OwnActs{}
			if d := cmp.Diff(c.want, c.run(t, o)); d != "" {
				t.Errorf("ours (-want +got):\n%s", d)
			}
			if unsure := o.ask(); unsure != c.unsure || o.ask() {
				t.Errorf("unsure %v, want %v, and once", unsure, c.unsure)
			}
		})
	}
}

// TestABookCountsNeitherClearsNorRestoresAsWork lets each scheme meet the acts of an operator.
func TestABookCountsNeitherClearsNorRestoresAsWork(t *testing.T) {
	type counts struct {
		Book    bookCounts
		Cleared int64
	}
	before := rules{way: wayBefore, deletes: true, expiring: true}
	do := func(event string, state dedup.State) *OwnAct { return &OwnAct{Key: "a", Event: event, State: state} }
	for name, c := range map[string]struct {
		rules rules
		steps []any // names of events of consumers, and acts of ours
		want  counts
	}{
		"a claim is cleared":                         {twoSteps, []any{"set", do("del", "")}, counts{bookCounts{Claims: 1, Failures: 1}, 1}},
		"a claim is cleared, the next one fails":     {twoSteps, []any{"set", do("del", ""), "set", "del"}, counts{bookCounts{Claims: 2, Failures: 2}, 1}},
		"a completion is cleared":                    {twoSteps, []any{"set", "set", do("del", "")}, counts{bookCounts{Claims: 1, Completions: 1, Timed: 1}, 0}},
		"a claim is put back and completed":          {twoSteps, []any{"set", do("del", ""), do("set", dedup.Processing), "set"}, counts{bookCounts{Claims: 1, Completions: 1, Failures: 1}, 1}},
		"a claim is put back and fails":              {twoSteps, []any{do("set", dedup.Processing), "del"}, counts{bookCounts{Failures: 1}, 0}},
		"a completion is put back":                   {twoSteps, []any{"set", "set", do("del", ""), do("set", dedup.Done)}, counts{bookCounts{Claims: 1, Completions: 1, Timed: 1}, 0}},
		"a completion is put back and done again":    {twoSteps, []any{do("set", dedup.Done), "set"}, counts{bookCounts{Again: 1}, 0}},
		"a mark before the work is cleared and back": {before, []any{"set", "expire", do("del", ""), do("set", dedup.Present), "expire"}, counts{bookCounts{Claims: 1, Failures: 1}, 1}},
		"a flag is cleared and put back":             {rules{way: wayAfter}, []any{"set", do("del", ""), do("set", dedup.Present)}, counts{bookCounts{Completions: 1}, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			b, now := newBook(c.rules, bookDay, 0), bookDay.Add(time.Hour)
			for _, s := range c.steps {
				var err error
				now = now.Add(time.Millisecond)
				if act, ours := s.(*OwnAct); ours {
					err = b.ours(act, now)
				} else {
					err = b.event("a", "a", s.(string), now)
				}
				if err != nil {
					t.Fatal(s, err)
				}
			}
			if d := cmp.Diff(c.want, counts{countsOfBook(b), b.figures().Cleared}); d != "" {
				t.Errorf("counts (-want +got):\n%s", d)
			}
		})
	}
}

func TestARetryCounterThatWasPutBackIsNoFailure(t *testing.T) {
	r := newRetryCounts(5)
	r.restored(&OwnAct{Key: "r", Value: "5"})
	if err := r.event("r", "r", "set"); err != nil || len(r.ask(10)) != 1 {
		t.Fatal(err)
	}
	r.read("r", 6, true)
	if r.gaveUp != 1 {
		t.Errorf("%d given up, want the sixth failure alone", r.gaveUp)
	}
}
