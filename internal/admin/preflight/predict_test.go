package preflight_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/dedup"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// The schemes as their presets describe them.
func textStatus() dedup.Scheme {
	return dedup.Scheme{Kind: "redis-string", Mark: "before", OnInFlight: "nack", OnFailed: "nack", OnFail: "delete", GiveUp: 5,
		ProcessingTTL: 5 * time.Minute, DoneTTL: 24 * time.Hour, States: []dedup.State{dedup.Processing, dedup.Done}}
}

func timestampScheme() dedup.Scheme {
	return dedup.Scheme{Kind: "redis-string", Mark: "before", OnInFlight: "ack", OnFailed: "ack", OnFail: "delete", DoneTTL: 24 * time.Hour, States: []dedup.State{dedup.Present}}
}

func flagScheme() dedup.Scheme {
	return dedup.Scheme{Kind: "redis-string", Mark: "after", OnFail: "delete", DoneTTL: 24 * time.Hour, States: []dedup.State{dedup.Done}}
}

func lockScheme() dedup.Scheme {
	return dedup.Scheme{Kind: "redis-lock", Mark: "before", OnInFlight: "ack", OnFailed: "ack", OnFail: "delete", ProcessingTTL: 30 * time.Second, Lock: true, States: []dedup.State{dedup.Processing}}
}

func statusCode() dedup.Scheme {
	return dedup.Scheme{Kind: "sql-table", Mark: "before", OnInFlight: "ack", OnFailed: "ack", OnFail: "ack", States: []dedup.State{dedup.Processing, dedup.Done, dedup.Failed}}
}

func statusName() dedup.Scheme {
	s := statusCode()
	s.OnFail = "keep"
	return s
}

func with(s dedup.Scheme, change func(*dedup.Scheme)) dedup.Scheme {
	change(&s)
	return s
}

// marked is a marker that ends this long after noon; 0 never ends.
func marked(state dedup.State, ends time.Duration) *dedup.Sighting {
	s := &dedup.Sighting{Marker: dedup.Marker{Key: "k", State: state}, At: noon, Clock: noon, ExpiresMillis: dedup.NoExpiry}
	if ends != 0 {
		s.ExpiresMillis = noon.Add(ends).UnixMilli()
		s.Expires = noon.Add(ends)
	}
	return s
}

func counted(failures int64, ends time.Duration) *dedup.Sighting {
	s := marked(dedup.Failed, ends)
	s.Attempts, s.Retry = &failures, &dedup.RetryCounter{Key: "k", ExpiresMillis: s.ExpiresMillis}
	return s
}

func TestPredict(t *testing.T) {
	young := preflight.LetterFacts{ID: "m-1", Born: noon.Add(-time.Hour), At: noon.Add(time.Minute)}
	facts := func(change func(*preflight.LetterFacts)) preflight.LetterFacts {
		f := young
		change(&f)
		return f
	}
	old := facts(func(f *preflight.LetterFacts) { f.Born = noon.Add(-25 * time.Hour) })
	ageless := facts(func(f *preflight.LetterFacts) { f.Born = time.Time{} })
	retakes := with(statusName(), func(s *dedup.Scheme) { s.OnFailed, s.GiveUp = "run", 3 })
	failed := func(n int64) *dedup.Sighting {
		m := marked(dedup.Failed, 0)
		m.Attempts = &n
		return m
	}
	undecoded := marked(dedup.StateUnknown, 0)
	undecoded.Detail = "no state has the value"
	unnamed := marked(dedup.Processing, 0)
	unnamed.Key, unnamed.TooLong = "", `"msg:aaaa`
	tests := []struct {
		name   string
		scheme dedup.Scheme
		marker *dedup.Sighting
		facts  preflight.LetterFacts
		want   preflight.Class
		// can is f where clearing first is offered, f2 where that may have the work done a second time, d where clearing done is.
		can string
		why string
	}{
		{"without a store it may run twice", dedup.Scheme{}, nil, young, preflight.ClassMayRunTwice, "", "no dedup store"},
		{"without an id it may run twice", textStatus(), nil, facts(func(f *preflight.LetterFacts) { f.ID, f.NoID = "", "the message has no message_id" }), preflight.ClassMayRunTwice, "", "no message_id"},
		{"an id that cannot be read is unknown", textStatus(), nil, facts(func(f *preflight.LetterFacts) { f.ID, f.NoID, f.Unreadable = "", "the header x is a list", true }), preflight.ClassUnknown, "", "is a list"},
		{"a store that does not answer is unknown", textStatus(), nil, facts(func(f *preflight.LetterFacts) { f.StoreFailed = "Redis refused the connection" }), preflight.ClassUnknown, "", "refused the connection"},
		{"no marker runs", textStatus(), nil, young, preflight.ClassRuns, "", "it has no marker"},
		{"no marker and older than the window may run twice", textStatus(), nil, old, preflight.ClassMayRunTwice, "", "25 h old"},
		{"no marker and no age may run twice", textStatus(), nil, ageless, preflight.ClassMayRunTwice, "", "does not tell its age"},
		{"no row and no age runs where rows stay", statusName(), nil, ageless, preflight.ClassRuns, "", "it has no marker"},
		{"no row runs once where failures are acked", statusCode(), nil, young, preflight.ClassLastAttempt, "", "if it fails, it is gone"},
		{"no row runs where a failure rolls it back", with(statusCode(), func(s *dedup.Scheme) { s.Transactional = true }), nil, young, preflight.ClassRuns, "", ""},
		{"processing blocks where hits are nacked", textStatus(), marked(dedup.Processing, 5*time.Minute), young, preflight.ClassBlocks, "f", "until the marker ends at 2026-11-21T12:05:00Z"},
		{"processing blocks for ever without expiry", textStatus(), marked(dedup.Processing, 0), young, preflight.ClassBlocks, "f", "never ends by itself"},
		{"processing that ends before runs", textStatus(), marked(dedup.Processing, 50*time.Second), young, preflight.ClassRuns, "f", "ends at 2026-11-21T12:00:50Z, before the message is expected at 2026-11-21T12:01:00Z"},
		{"processing that ends with the message blocks", textStatus(), marked(dedup.Processing, 59*time.Second), young, preflight.ClassBlocks, "f", ""},
		{"processing is swallowed where hits are acked", statusCode(), marked(dedup.Processing, 0), young, preflight.ClassSwallowed, "f", "would be lost"},
		{"processing blocks where hits wait", with(textStatus(), func(s *dedup.Scheme) { s.OnInFlight = "wait" }), marked(dedup.Processing, 5*time.Minute), young, preflight.ClassBlocks, "f", "consumers wait until the marker ends"},
		{"a held lock blocks those that wait", with(lockScheme(), func(s *dedup.Scheme) { s.OnInFlight = "wait" }), marked(dedup.Processing, 5*time.Minute), young, preflight.ClassBlocks, "f2", "consumers wait until the marker ends"},
		{"a committed row of work in one transaction is swallowed", with(statusCode(), func(s *dedup.Scheme) { s.OnInFlight, s.Transactional = "wait", true }), marked(dedup.Processing, 0), young, preflight.ClassSwallowed, "f", "it is committed"},
		{"processing without a rule is unknown", with(textStatus(), func(s *dedup.Scheme) { s.OnInFlight = "" }), marked(dedup.Processing, 0), young, preflight.ClassUnknown, "", "on_inflight"},
		{"a marker whose key is too long cannot be cleared", textStatus(), unnamed, young, preflight.ClassBlocks, "", ""},
		{"done is skipped", textStatus(), marked(dedup.Done, time.Hour), young, preflight.ClassSkipped, "d", "the work was done"},
		{"done for ever is skipped", textStatus(), marked(dedup.Done, 0), young, preflight.ClassSkipped, "d", ""},
		{"done that ends before may run twice", textStatus(), marked(dedup.Done, time.Second), young, preflight.ClassMayRunTwice, "", "the work will be done again"},
		{"done that ends with the message may run twice", textStatus(), marked(dedup.Done, 61*time.Second), young, preflight.ClassMayRunTwice, "", ""},
		{"a done row that has expired may run twice", statusCode(), marked(dedup.Done, -time.Hour), young, preflight.ClassMayRunTwice, "", "once it is purged"},
		{"a processing row that has expired still stands", statusCode(), marked(dedup.Processing, -time.Hour), young, preflight.ClassSwallowed, "f", ""},
		{"a failed row is swallowed where hits are acked", statusName(), marked(dedup.Failed, 0), young, preflight.ClassSwallowed, "f", "failed before"},
		{"a failed row blocks where hits are nacked", with(statusName(), func(s *dedup.Scheme) { s.OnFailed = "nack" }), marked(dedup.Failed, 0), young, preflight.ClassBlocks, "f", ""},
		{"a failed row runs where it is taken again", retakes, failed(1), young, preflight.ClassRuns, "f", "take it again"},
		{"a failed row runs for the last time", retakes, failed(2), young, preflight.ClassLastAttempt, "f", "it failed 2 times"},
		{"a failed row that was given up is swallowed", retakes, failed(3), young, preflight.ClassSwallowed, "f", "from 3 on"},
		{"present is perhaps swallowed where it is written before", timestampScheme(), marked(dedup.Present, time.Hour), young, preflight.ClassPerhapsSwallowed, "f2", "does not tell whether the work was done"},
		{"present that ends before may run twice", timestampScheme(), marked(dedup.Present, time.Second), young, preflight.ClassMayRunTwice, "", ""},
		{"present is skipped where it is written after", with(flagScheme(), func(s *dedup.Scheme) { s.States = []dedup.State{dedup.Present} }), marked(dedup.Present, time.Hour), young, preflight.ClassSkipped, "d", ""},
		{"no flag runs", flagScheme(), nil, young, preflight.ClassRuns, "", ""},
		{"a held lock swallows, and does not tell what was done", lockScheme(), marked(dedup.Processing, 5*time.Minute), young, preflight.ClassPerhapsSwallowed, "f2", "does not tell whether the work was done"},
		{"present blocks where hits are nacked, and its work may be done", with(timestampScheme(), func(s *dedup.Scheme) { s.OnInFlight = "nack" }), marked(dedup.Present, time.Hour), young, preflight.ClassBlocks, "f2", ""},
		{"a free lock may run twice", lockScheme(), nil, young, preflight.ClassMayRunTwice, "", "leaves nothing behind"},
		{"a lock that ends before may run twice", lockScheme(), marked(dedup.Processing, 10*time.Second), young, preflight.ClassMayRunTwice, "", ""},
		{"a counter far from the limit runs", textStatus(), counted(3, time.Hour), young, preflight.ClassRuns, "", "only a retry counter"},
		{"a counter before the limit is the last attempt", textStatus(), counted(4, time.Hour), young, preflight.ClassLastAttempt, "f", "it failed 4 times: consumers give it up at 5"},
		{"a counter at the limit is the last attempt", textStatus(), counted(5, time.Hour), young, preflight.ClassLastAttempt, "f", ""},
		{"a counter that ends before counts nothing", textStatus(), counted(4, time.Second), young, preflight.ClassRuns, "", ""},
		{"a counter before the limit of an old message is the last attempt", textStatus(), counted(4, time.Hour), old, preflight.ClassLastAttempt, "f", ""},
		{"a limit of one makes every attempt the last", with(textStatus(), func(s *dedup.Scheme) { s.GiveUp = 1 }), nil, young, preflight.ClassLastAttempt, "", "at its first failure"},
		{"an undecodable marker is unknown", textStatus(), undecoded, young, preflight.ClassUnknown, "", "no state has the value"},
		{"a state that the scheme does not have is unknown", textStatus(), marked(dedup.Failed, 0), young, preflight.ClassUnknown, "", "does not have"},
		{"a business row is unknown", with(statusCode(), func(s *dedup.Scheme) { s.Business = true }), marked(dedup.Done, 0), young, preflight.ClassUnknown, "", "business rows"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := preflight.Predict(tt.scheme, tt.marker, tt.facts)
			can := map[bool]string{true: "f"}[got.ClearFirst] + map[bool]string{true: "2"}[got.MayRepeat] + map[bool]string{true: "d"}[got.ClearDone]
			if got.Class != tt.want || can != tt.can || !strings.Contains(got.Why(), tt.why) {
				t.Errorf("got %s (%s), can clear %q; want %s, %q … %q …", got.Class, got.Why(), can, tt.want, tt.can, tt.why)
			}
		})
	}
}

func TestEveryClassHasWords(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range preflight.Classes() {
		if c.Words() == "" || seen[c.Words()] {
			t.Errorf("%s is called %q", c, c.Words())
		}
		seen[c.Words()] = true
	}
	if got := (preflight.Prediction{Class: preflight.ClassBlocks, Until: noon}).Words(); got != "blocks until 2026-11-21T12:00:00Z" {
		t.Error(got)
	}
	if got := (preflight.Prediction{Class: preflight.ClassBlocks}).Words(); got != "blocks until somebody clears its marker" {
		t.Error(got)
	}
}

// drawn is any scheme with any marker and message.
type drawn struct {
	scheme dedup.Scheme
	marker *dedup.Sighting
	facts  preflight.LetterFacts
}

func draw(t *rapid.T) drawn {
	text := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(t, name) }
	seconds := func(name string) time.Duration {
		return time.Duration(rapid.IntRange(-200_000, 200_000).Draw(t, name)) * time.Second / 2
	}
	d := drawn{scheme: dedup.Scheme{
		Kind: text("kind", "redis-string", "redis-lock", "sql-table"), Mark: text("mark", "before", "after"),
		OnInFlight: text("on_inflight", "ack", "nack", "wait", ""), OnFail: text("on_fail", "ack", "delete", "keep"), OnFailed: text("on_failed", "ack", "nack", "run", ""),
		DoneTTL: rapid.SampledFrom([]time.Duration{0, time.Hour, 24 * time.Hour}).Draw(t, "ttl"), GiveUp: rapid.IntRange(0, 5).Draw(t, "give up"),
		Transactional: rapid.Bool().Draw(t, "transactional"), States: rapid.SliceOfDistinct(rapid.SampledFrom(dedup.States()), rapid.ID[dedup.State]).Draw(t, "states"),
	}}
	d.scheme.Lock = d.scheme.Kind == "redis-lock"
	d.facts = preflight.LetterFacts{ID: "m", At: noon.Add(seconds("at").Abs())}
	if rapid.Bool().Draw(t, "aged") {
		d.facts.Born = noon.Add(-seconds("born").Abs())
	}
	if rapid.IntRange(0, 4).Draw(t, "absent") == 0 {
		return d
	}
	m := marked(rapid.SampledFrom(dedup.States()).Draw(t, "state"), 0)
	if rapid.Bool().Draw(t, "expires") {
		m = marked(m.State, seconds("expiry"))
		if rapid.Bool().Draw(t, "near") {
			m = marked(m.State, d.facts.At.Sub(noon)+time.Duration(rapid.IntRange(-3000, 3000).Draw(t, "by"))*time.Millisecond)
		}
	}
	if rapid.Bool().Draw(t, "counted") {
		n := rapid.Int64Range(0, 7).Draw(t, "failures")
		m.Attempts = &n
		m.Retry = &dedup.RetryCounter{Key: text("counter", "k", "retry"), ExpiresMillis: rapid.SampledFrom([]int64{dedup.NoExpiry, m.ExpiresMillis}).Draw(t, "counter's expiry")}
	}
	if rapid.IntRange(0, 9).Draw(t, "unnamed") == 0 {
		m.Key = ""
	}
	d.marker = m
	return d
}

// standing reports whether the marker is there when the message is consumed, however late within the minute.
func (d drawn) standing() bool {
	m := d.marker
	return m != nil && !m.CounterAlone() && (d.scheme.Kind == "sql-table" || m.ExpiresMillis < 0 || time.UnixMilli(m.ExpiresMillis).After(d.facts.At))
}

// saysDone reports whether the marker says that the work was done.
func (d drawn) saysDone() bool {
	return d.marker.State == dedup.Done || d.marker.State == dedup.Present && d.scheme.Mark == "after"
}

// manyDraws is how many are drawn in each check of a property that is cheap.
const manyDraws = 50

func TestPredictionsNeverPromiseTooMuch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for range manyDraws {
			promisesNotTooMuch(t, draw(t))
		}
	})
}

func promisesNotTooMuch(t *rapid.T, d drawn) {
	got := preflight.Predict(d.scheme, d.marker, d.facts)
	wrong := func(why string) {
		t.Helper()
		t.Fatalf("%s (%s): %s\nscheme %+v\nmarker %+v\nfacts %+v", got.Class, got.Why(), why, d.scheme, d.marker, d.facts)
	}
	if !slices.Contains(preflight.Classes(), got.Class) || len(got.Reasons) == 0 || slices.Contains(got.Reasons, "") {
		wrong("no class, or no reasons")
	}
	takenAgain := d.marker != nil && d.marker.State == dedup.Failed && d.scheme.OnFailed == "run"
	switch got.Class {
	case preflight.ClassRuns, preflight.ClassLastAttempt:
		if d.standing() && !takenAgain {
			wrong("a marker is in its way")
		}
	case preflight.ClassSkipped:
		if !d.standing() || !d.saysDone() {
			wrong("no marker will be there that says that the work was done")
		}
	case preflight.ClassBlocks:
		if !got.Until.IsZero() && got.Until.Before(d.facts.At.Add(-2*time.Second)) {
			wrong("it blocks until before it comes")
		}
	case preflight.ClassSwallowed:
		if d.marker.State == dedup.Done || d.marker.State == dedup.Present || d.scheme.Lock && d.marker.State == dedup.Processing {
			wrong("its work was done, or that cannot be told")
		}
	case preflight.ClassPerhapsSwallowed:
		if d.marker.State != dedup.Present && !(d.scheme.Lock && d.marker.State == dedup.Processing) {
			wrong("its marker tells that the work was not done")
		}
	}
	if got.MayRepeat && !got.ClearFirst {
		wrong("what is not cleared first does not repeat by it")
	}
	if got.ClearFirst && (d.marker == nil || d.marker.Key == "" || d.marker.State == dedup.StateUnknown || d.saysDone()) {
		wrong("clearing first is offered for what must not be cleared")
	}
	if got.ClearDone && (got.Class != preflight.ClassSkipped || got.ClearFirst || d.marker.Key == "") {
		wrong("clearing done is offered wrongly")
	}
	if d.marker != nil && d.marker.State == dedup.StateUnknown && got.Class != preflight.ClassUnknown {
		wrong("what cannot be decoded tells nothing")
	}
	if got.Until.IsZero() != (got.Class != preflight.ClassBlocks || d.scheme.Kind == "sql-table" || d.marker.ExpiresMillis < 0) {
		wrong("until")
	}
}

// The store's clock may be any time off: what counts is what is left of a life.
func TestPredictionsDoNotDependOnTheStoresClock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for range manyDraws {
			ignoresTheClock(t, draw(t))
		}
	})
}

func ignoresTheClock(t *rapid.T, d drawn) {
	want := preflight.Predict(d.scheme, d.marker, d.facts)
	if d.marker == nil {
		return
	}
	off := time.Duration(rapid.IntRange(-100_000, 100_000).Draw(t, "off")) * time.Second
	shifted := *d.marker
	shifted.Clock = shifted.Clock.Add(off)
	if shifted.ExpiresMillis >= 0 {
		shifted.ExpiresMillis += off.Milliseconds()
	}
	if shifted.Retry != nil && shifted.Retry.ExpiresMillis >= 0 {
		retry := *shifted.Retry
		retry.ExpiresMillis += off.Milliseconds()
		shifted.Retry = &retry
	}
	got := preflight.Predict(d.scheme, &shifted, d.facts)
	if got.Class != want.Class || !got.Until.Equal(want.Until) || got.Why() != want.Why() {
		t.Fatalf("%s (%s) with a clock that is %s off, else %s (%s)", got.Class, got.Why(), off, want.Class, want.Why())
	}
}
