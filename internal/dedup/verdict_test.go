package dedup_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/dedup"
)

// judged is the moment at which the markers of these tests are judged. The store's clock is three minutes ahead of ours.
var judged = time.Date(2026, 3, 4, 3, 12, 30, 0, time.UTC)

const judgedOffset = 3 * time.Minute

func number(n int64) *int64 { return &n }

// textScheme writes processing and done, and nacks what it finds in flight.
func textScheme() dedup.Scheme {
	return dedup.Scheme{Preset: "redis-text-status", States: []dedup.State{dedup.Processing, dedup.Done}, OnInFlight: "nack", ProcessingTTL: 5 * time.Minute}
}

// aged is a processing marker of an age by our clock.
func aged(age time.Duration) dedup.Marker {
	return dedup.Marker{ID: "a", State: dedup.Processing, Since: judged.Add(judgedOffset - age), Expires: judged.Add(judgedOffset - age + 5*time.Minute)}
}

// bare is a marker without expiry that was first seen an age ago.
func bare(age time.Duration) dedup.Marker {
	return dedup.Marker{ID: "a", State: dedup.Processing, FirstSeen: judged.Add(-age)}
}

// ago are two moments before the judged one.
func ago(newest, older time.Duration) [2]time.Time {
	return [2]time.Time{judged.Add(-newest), judged.Add(-older)}
}

// busy is the evidence of a broker whose consumers are at work.
func busy() dedup.Evidence {
	return dedup.Evidence{At: judged, MaxProcessing: 30 * time.Second, ClockOffset: judgedOffset,
		Consumers: number(3), Ready: number(4), Unacked: number(2), DeadLetters: number(0), DeadLettersNow: number(0)}
}

// idle is the evidence of a broker at which nothing is out.
func idle() dedup.Evidence {
	e := busy()
	e.Unacked, e.NothingOut = number(0), ago(10*time.Second, 25*time.Second)
	return e
}

// drained is the evidence of a broker whose queues are all empty.
func drained() dedup.Evidence {
	e := idle()
	e.Ready, e.Empty = number(0), ago(10*time.Second, 25*time.Second)
	return e
}

// renewed is the evidence of a broker whose consumers all connected anew.
func renewed() dedup.Evidence {
	e := busy()
	e.Closed, e.ClosedSince = judged.Add(-5*time.Second), judged.Add(-time.Minute)
	return e
}

func changed(e dedup.Evidence, change func(*dedup.Evidence)) dedup.Evidence {
	change(&e)
	return e
}

// keyed is an aged marker with the key that met names.
func keyed(age time.Duration) dedup.Marker {
	m := aged(age)
	m.Key = "msg:a"
	return m
}

// met is evidence that deliveries meet the keyed markers of these tests again and again.
func met(e dedup.Evidence) dedup.Evidence {
	e.Redelivering = true
	e.Met = &dedup.Met{From: judged.Add(-10 * time.Second), To: judged.Add(-4 * time.Second), Expires: map[string]time.Time{"msg:a": keyed(12*time.Minute + 5*time.Second).Expires}}
	return e
}

func TestJudge(t *testing.T) {
	const old = 12*time.Minute + 5*time.Second
	tests := map[string]struct {
		marker   dedup.Marker
		evidence dedup.Evidence
		want     dedup.Verdict
		reason   string
	}{
		"a young marker while consumers work": {aged(8 * time.Second), busy(), dedup.StillWorking, "processing for 8 s; work takes at most 30 s"},
		"a marker that lacks the expiry its consumers set": {bare(old),
			changed(busy(), func(e *dedup.Evidence) { e.SetsExpiry = true }), dedup.ProbablyDead, "its owner ended between the two commands"},
		"a marker that lacks an expiry, with automatic acks": {bare(old),
			changed(busy(), func(e *dedup.Evidence) { e.SetsExpiry, e.AutoAck = true, true }), dedup.ProbablyDead, "its owner ended between the two commands"},
		"a young marker that lacks its expiry": {bare(8 * time.Second),
			changed(busy(), func(e *dedup.Evidence) { e.SetsExpiry = true }), dedup.StillWorking, "processing for ≥ 8 s"},
		"a marker without expiry whose consumers were never seen to set one": {bare(old), busy(), dedup.CannotTell, "may be among those that are out"},
		"a young marker when it is not known what is out": {aged(8 * time.Second),
			changed(busy(), func(e *dedup.Evidence) { e.Unacked, e.Consumers = nil, nil }), dedup.StillWorking, "how many messages are unacked is not known"},
		"a young marker that a leaving consumer finishes": {aged(8 * time.Second),
			changed(busy(), func(e *dedup.Evidence) { e.Consumers = number(0) }), dedup.StillWorking, "2 messages are unacked"},
		"a marker as old as slow work of the measured kind": {aged(50 * time.Second),
			changed(busy(), func(e *dedup.Evidence) { e.WorkP99 = 40 * time.Second }), dedup.StillWorking, "twice the 99th percentile of the work time is 1 m 20 s"},
		"a young marker with auto-acks":                                                    {aged(8 * time.Second), changed(busy(), func(e *dedup.Evidence) { e.AutoAck = true }), dedup.StillWorking, "3 consumers are there"},
		"a young marker with nobody to own it":                                             {aged(8 * time.Second), changed(busy(), func(e *dedup.Evidence) { e.Consumers, e.Unacked = number(0), number(0) }), dedup.CannotTell, "it can be told from 2026-03-04T03:12:52Z on"},
		"a young marker although nothing was out: its worker may have lost its connection": {aged(29 * time.Second), idle(), dedup.CannotTell, "a worker that lost its connection may still finish"},
		"a young marker although the queues were empty":                                    {aged(29 * time.Second), drained(), dedup.CannotTell, "a worker that lost its connection may still finish"},
		"a young marker although every connection is new": {changedMarker(aged(25*time.Second), nil),
			changed(renewed(), func(e *dedup.Evidence) { e.ClosedSince = judged.Add(-10 * time.Second) }), dedup.CannotTell, "every connection that consumed when the marker was set has been closed"},

		"an old marker in empty queues": {aged(old), drained(), dedup.Orphan,
			"the source queues held no message at 2026-03-04T03:12:05Z and 2026-03-04T03:12:20Z, and the dead-letter queues held none"},
		"an old marker without a worker":                        {aged(old), idle(), dedup.ProbablyDead, "no delivery was out at 2026-03-04T03:12:05Z and 2026-03-04T03:12:20Z (two readings)"},
		"an old marker whose message waits":                     {aged(old), idle(), dedup.ProbablyDead, "4 messages wait in the source queues"},
		"an old marker beside a dead letter":                    {aged(old), changed(drained(), func(e *dedup.Evidence) { e.DeadLetters, e.DeadLettersNow = number(1), number(1) }), dedup.ProbablyDead, "1 message is in the dead-letter queues"},
		"an old marker beside dead letters, of which more came": {aged(old), changed(drained(), func(e *dedup.Evidence) { e.DeadLetters, e.DeadLettersNow = number(34), number(208) }), dedup.ProbablyDead, "208 messages are in the dead-letter queues"},
		"an old marker that met none, and some came since":      {aged(old), changed(drained(), func(e *dedup.Evidence) { e.DeadLettersNow = number(5) }), dedup.Orphan, "the dead-letter queues held none"},
		"an old marker with unknown dead letters":               {aged(old), changed(drained(), func(e *dedup.Evidence) { e.DeadLetters, e.DeadLettersNow = nil, nil }), dedup.ProbablyDead, "whether its message was dead-lettered is not known"},
		"an old marker of queues that were empty once":          {aged(old), changed(drained(), func(e *dedup.Evidence) { e.Empty[1] = time.Time{} }), dedup.ProbablyDead, "processing for 12 m 5 s"},
		"an old marker after a restart of all consumers":        {aged(old), renewed(), dedup.ProbablyDead, "as seen at 2026-03-04T03:12:25Z"},
		"an old marker says what the broker cannot see":         {aged(old), renewed(), dedup.ProbablyDead, "the broker cannot see a worker that lost its connection and goes on; such a one would have been at it for 12 m 5 s"},
		"an old marker without expiry, seen before":             {dedup.Marker{State: dedup.Processing, FirstSeen: judged.Add(-time.Minute)}, idle(), dedup.ProbablyDead, "processing for ≥ 1 m"},
		"an old lock without a worker":                          {aged(old), idle(), dedup.ProbablyDead, "two readings"},
		"an old marker with something out":                      {aged(old), busy(), dedup.CannotTell, "2 messages are unacked"},
		"an old marker that deliveries meet again and again":    {keyed(old), met(busy()), dedup.Looping, "from 2026-03-04T03:12:20Z to 2026-03-04T03:12:26Z it was asked for again and again"},
		"such a marker while it is young":                       {keyed(8 * time.Second), met(busy()), dedup.StillWorking, ""},
		"such a marker whose connections have all closed":       {keyed(old), met(renewed()), dedup.ProbablyDead, ""},
		"a marker that was claimed anew after it was met": {changedMarker(keyed(old), func(m *dedup.Marker) { m.Expires = m.Expires.Add(time.Second) }), met(busy()), dedup.CannotTell,
			"may be among those that are out"},
		"a marker that was met before it was first seen":          {changedMarker(keyed(old), func(m *dedup.Marker) { m.FirstSeen = judged.Add(-9 * time.Second) }), met(busy()), dedup.CannotTell, "may be among"},
		"a marker that was met a while ago":                       {keyed(old), changed(met(busy()), func(e *dedup.Evidence) { e.Met.To = judged.Add(-2 * time.Minute) }), dedup.CannotTell, "may be among"},
		"a marker that is asked for while nothing is redelivered": {keyed(old), changed(met(busy()), func(e *dedup.Evidence) { e.Redelivering = false }), dedup.CannotTell, "may be among"},
		"a marker that is asked for where acks are automatic":     {keyed(old), changed(met(busy()), func(e *dedup.Evidence) { e.AutoAck = true }), dedup.CannotTell, "manual acks would settle it"},
		"an old marker with nobody left but unacked messages":     {aged(old), changed(busy(), func(e *dedup.Evidence) { e.Consumers, e.NoConsumersSince = number(0), judged.Add(-time.Minute) }), dedup.CannotTell, "there has been no consumer since 2026-03-04T03:11:30Z"},
		"an old marker, nothing out in one reading":               {aged(old), changed(idle(), func(e *dedup.Evidence) { e.NothingOut[1] = time.Time{} }), dedup.CannotTell, "one more reading with nothing out would settle it"},
		"an old marker, nothing out twice in the same reading":    {aged(old), changed(idle(), func(e *dedup.Evidence) { e.NothingOut[1] = e.NothingOut[0] }), dedup.CannotTell, "one more reading"},
		"an old marker, nothing out before its birth": {aged(old), changed(idle(), func(e *dedup.Evidence) { e.NothingOut = ago(old+time.Second, old+time.Minute) }), dedup.CannotTell,
			"the owner's delivery may be among those that are out"},
		"an old marker, nothing out within the doubt about its birth": {aged(old), changed(idle(), func(e *dedup.Evidence) { e.NothingOut[1] = judged.Add(-old + time.Second) }), dedup.CannotTell, "one more reading"},
		"an old marker, nothing out after the moment that is judged":  {aged(old), changed(idle(), func(e *dedup.Evidence) { e.NothingOut = ago(-time.Second, -2*time.Second) }), dedup.CannotTell, "may be among those"},
		"an old marker, its connections closed before its birth":      {aged(old), changed(renewed(), func(e *dedup.Evidence) { e.ClosedSince = judged.Add(-old) }), dedup.CannotTell, "may be among those"},
		"a marker that seems old but was first seen after the readings": {changedMarker(aged(old), func(m *dedup.Marker) { m.FirstSeen = judged.Add(-9 * time.Second) }), idle(),
			dedup.CannotTell, "may be among those"},
		"an old marker with auto-acks":        {aged(old), changed(idle(), func(e *dedup.Evidence) { e.AutoAck = true }), dedup.CannotTell, "manual acks would settle it"},
		"an old marker, no max_processing":    {aged(old), changed(idle(), func(e *dedup.Evidence) { e.MaxProcessing = 0 }), dedup.CannotTell, "set max_processing of the pipeline"},
		"a broker that does not answer":       {aged(old), changed(drained(), func(e *dedup.Evidence) { e.Missing = "broker main cannot be read: refused" }), dedup.CannotTell, "broker main cannot be read: refused"},
		"a marker of unknown beginning":       {dedup.Marker{State: dedup.Processing}, drained(), dedup.CannotTell, "when the marker was set is not known"},
		"a done marker":                       {changedMarker(aged(old), func(m *dedup.Marker) { m.State = dedup.Done }), drained(), dedup.CannotTell, "no owner to judge"},
		"an undecodable marker":               {changedMarker(aged(old), func(m *dedup.Marker) { m.State = dedup.StateUnknown }), drained(), dedup.CannotTell, "no owner to judge"},
		"a marker whose scheme has no states": {changedMarker(aged(old), func(m *dedup.Marker) { m.State = dedup.Present }), drained(), dedup.CannotTell, "show no state"},
		"a marker of the future":              {aged(-time.Hour), idle(), dedup.StillWorking, "processing for 0 s"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, reasons := dedup.Judge(tt.marker, tt.evidence, textScheme())
			if got != tt.want || !strings.Contains(strings.Join(reasons, "\n"), tt.reason) {
				t.Errorf("got %s because\n  %s\nwant %s with %q", got, strings.Join(reasons, "\n  "), tt.want, tt.reason)
			}
			if cheap := dedup.VerdictOf(tt.marker, tt.evidence, textScheme()); cheap != got {
				t.Errorf("without reasons %s, with reasons %s", cheap, got)
			}
		})
	}
}

func changedMarker(m dedup.Marker, change func(*dedup.Marker)) dedup.Marker {
	if change != nil {
		change(&m)
	}
	return m
}

func TestAMarkerThatCannotBeToldFromItsSuccessorIsNotJudged(t *testing.T) {
	s := textScheme()
	s.ProcessingTTL = 0
	m := dedup.Marker{State: dedup.Processing, FirstSeen: judged.Add(-time.Hour)}
	if v, reasons := dedup.Judge(m, drained(), s); v != dedup.CannotTell || !strings.Contains(strings.Join(reasons, "\n"), "neither a time nor an expiry") {
		t.Errorf("got %s because %q", v, reasons)
	}
}

func TestALockThatItsHolderRenewsIsAlive(t *testing.T) {
	s := dedup.Scheme{Lock: true, States: []dedup.State{dedup.Processing}, ProcessingTTL: 30 * time.Second}
	m := dedup.Marker{State: dedup.Processing, Since: judged.Add(judgedOffset - time.Hour), FirstSeen: judged.Add(-time.Hour), Owner: "c:1"}
	for left, want := range map[time.Duration]dedup.Verdict{25 * time.Second: dedup.StillWorking, time.Second: dedup.CannotTell, -time.Minute: dedup.Orphan} {
		m.Expires = judged.Add(judgedOffset + left)
		if v, reasons := dedup.Judge(m, drained(), s); v != want {
			t.Errorf("a lock whose lease ends in %s is %s because %q, want %s", left, v, reasons, want)
		}
	}
}

func TestASchemeThatIsBlindSaysWhy(t *testing.T) {
	s := dedup.Scheme{States: []dedup.State{dedup.Present}, Blind: "the timestamp is written before the work"}
	m := aged(time.Hour)
	m.State = dedup.Present
	if v, reasons := dedup.Judge(m, drained(), s); v != dedup.CannotTell || !slices.Contains(reasons, s.Blind) {
		t.Errorf("got %s because %q", v, reasons)
	}
}

// A living owner holds its delivery unacked, on a connection of before the marker's birth, until the marker ends. Whatever
// the broker was seen to show during such a life, and however wrong clocks are within their bounds, the verdict is neither
// dead nor orphan.
func TestALivingOwnerIsNeverCalledDeadOrOrphan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		age := time.Duration(rapid.IntRange(0, 3600).Draw(t, "age")) * time.Second
		doubt := time.Duration(rapid.IntRange(-2000, 2000).Draw(t, "clock error ms")) * time.Millisecond
		born := judged.Add(-age)
		m := dedup.Marker{State: dedup.Processing, Since: born.Add(judgedOffset - max(0, doubt))}
		if rapid.Bool().Draw(t, "wrong time to live") {
			m.Since, m.FirstSeen = m.Since.Add(-time.Hour), born.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "seen"))*time.Second)
		}
		before := func(what string) time.Time {
			return born.Add(-time.Duration(rapid.IntRange(0, 7200).Draw(t, what)) * time.Second)
		}
		e := changed(drained(), func(e *dedup.Evidence) {
			e.NothingOut = [2]time.Time{before("nothing out"), before("nothing out, older")}
			e.Empty, e.ClosedSince = e.NothingOut, before("oldest open connection")
			e.Closed = judged
			e.WorkP99 = time.Duration(rapid.IntRange(0, 60).Draw(t, "p99")) * time.Second
			e.Unacked = number(rapid.Int64Range(0, 3).Draw(t, "unacked"))
		})
		if v, reasons := dedup.Judge(m, e, textScheme()); v == dedup.ProbablyDead || v == dedup.Orphan {
			t.Fatalf("a living owner is %s because %q", v, reasons)
		}
	})
}

// Deliveries of a message touch its marker while it loops and at no other time; its owner touches it when it claims it. Whatever is
// seen of these touches, and however late, a marker is called looping only where its message did loop after the claim, for work that
// takes longer than processing may.
func TestOnlyAMarkerWhoseMessageLoopedIsCalledLooping(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seconds := func(least, most int, what string) time.Duration {
			return time.Duration(rapid.IntRange(least, most).Draw(t, what)) * time.Second
		}
		age := seconds(0, 290, "age")
		m := keyed(age)
		m.FirstSeen = judged.Add(-age + seconds(0, 20, "seen"))
		former := keyed(age + seconds(1, 600, "the claim before"))
		loops := rapid.Bool().Draw(t, "the message loops")
		loopedBefore := rapid.Bool().Draw(t, "that of the claim before looped")
		from := judged.Add(-seconds(0, 600, "looked"))
		e := changed(busy(), func(e *dedup.Evidence) {
			e.Redelivering = rapid.Bool().Draw(t, "something is redelivered")
			e.Met = &dedup.Met{From: from, To: from.Add(6 * time.Second), Expires: map[string]time.Time{}}
			switch born := judged.Add(-age); {
			case loops && from.After(born):
				e.Met.Expires[m.Key] = m.Expires
			case loopedBefore && from.Before(born):
				e.Met.Expires[m.Key] = former.Expires
			}
		})
		if v, reasons := dedup.Judge(m, e, textScheme()); v == dedup.Looping && (!loops || age <= e.Limit() || !e.Redelivering) {
			t.Fatalf("a marker of %s whose message loops (%v) is looping because %q", age, loops, reasons)
		}
	})
}

// Each living owner holds a delivery from before its marker until after it, so that whatever is read in between, the bound never
// calls more markers ownerless than are.
func TestTheBoundNeverCountsALivingOwnerAsGone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var markers []dedup.Marker
		var births []time.Time
		living := 0
		for range rapid.IntRange(0, 12).Draw(t, "markers") {
			age := time.Duration(rapid.IntRange(10, 290).Draw(t, "age")) * time.Second
			m := aged(age)
			m.FirstSeen = judged.Add(-age)
			markers = append(markers, m)
			if rapid.Bool().Draw(t, "its owner lives") {
				births, living = append(births, judged.Add(-age)), living+1
			}
		}
		var readings []dedup.OutReading
		for range rapid.IntRange(0, 12).Draw(t, "readings") {
			r := dedup.OutReading{At: judged.Add(-time.Duration(rapid.IntRange(0, 300).Draw(t, "read")) * time.Second)}
			r.Unacked = rapid.Int64Range(0, 5).Draw(t, "others that are out")
			for _, born := range births {
				if r.At.After(born) {
					r.Unacked++
				}
			}
			readings = append(readings, r)
		}
		e := busy()
		got := dedup.BoundOf(markers, readings, e, textScheme())
		if dead := int64(len(markers) - living); got.Gone > dead || got.Gone > got.Of || got.Of > int64(len(markers)) {
			t.Fatalf("%+v of %d markers, %d of which are nobody's", got, len(markers), dead)
		}
	})
}

func TestTheBoundIsSaidOfEachMarkerThatCannotBeTold(t *testing.T) {
	markers := []dedup.Marker{aged(60 * time.Second), aged(70 * time.Second), aged(80 * time.Second), aged(90 * time.Second), aged(5 * time.Second)}
	e := busy()
	read := func(ago time.Duration, n int64) dedup.OutReading {
		return dedup.OutReading{At: judged.Add(-ago), Unacked: n}
	}
	readings := []dedup.OutReading{read(85*time.Second, 0), read(40*time.Second, 3), read(30*time.Second, 2), read(20*time.Second, 1), read(10*time.Second, 4)}
	e.Bound = dedup.BoundOf(markers, readings, e, textScheme())
	if want := (dedup.Bound{Of: 4, Gone: 2, Out: 2, At: ago(20*time.Second, 30*time.Second)}); e.Bound != want {
		t.Fatalf("%+v, want %+v", e.Bound, want)
	}
	const want = "2 of the 4 overdue markers that cannot be told apart, or more, belong to nobody: at 2026-03-04T03:12:00Z and 2026-03-04T03:12:10Z at most 2 deliveries were out"
	if v, reasons := dedup.Judge(markers[0], e, textScheme()); v != dedup.CannotTell || !slices.Contains(reasons, want) {
		t.Errorf("%s because %q", v, reasons)
	}
	if _, reasons := dedup.Judge(markers[4], e, textScheme()); strings.Contains(strings.Join(reasons, "\n"), "belong to nobody") {
		t.Errorf("the bound is said of a young marker: %q", reasons)
	}
}

func BenchmarkVerdicts(b *testing.B) {
	all := make([]dedup.Marker, dedup.MaxListed)
	for i := range all {
		all[i] = aged(time.Duration(i) * time.Second)
	}
	e, s := drained(), textScheme()
	for b.Loop() {
		for i := range all {
			dedup.VerdictOf(all[i], e, s)
		}
	}
}

func TestAMarkerThatWeGaveAnExpiryIsJudgedAsBefore(t *testing.T) {
	m := bare(5 * time.Minute)
	m.Expires, m.ExpirySet = judged.Add(3*time.Minute), judged.Add(-2*time.Minute)
	e, s := changed(busy(), func(e *dedup.Evidence) { e.SetsExpiry = true }), dedup.Scheme{Kind: "redis-string", States: []dedup.State{dedup.Processing, dedup.Done}, ProcessingTTL: 5 * time.Minute}
	verdict, reasons := dedup.Judge(m, e, s)
	if verdict != dedup.ProbablyDead || !strings.Contains(strings.Join(reasons, "; "), "processing for ≥ 5 m; ") ||
		!strings.Contains(strings.Join(reasons, "; "), "it never expired until it was given an expiry from here at ") {
		t.Errorf("%s: %q", verdict, reasons)
	}
	m.FirstSeen = m.ExpirySet.Add(-2 * time.Second)
	if verdict, reasons := dedup.Judge(m, e, s); verdict != dedup.CannotTell {
		t.Errorf("without an expiry for 2 s: %s: %q", verdict, reasons)
	}
	s.Lock, m.FirstSeen = true, judged.Add(-5*time.Minute)
	m.Expires = judged.Add(judgedOffset + 3*time.Minute)
	if _, reasons := dedup.Judge(m, e, s); !strings.Contains(reasons[0], "processing for ≥ 5 m") {
		t.Errorf("an expiry that we gave is no renewal by a lock's holder: %q", reasons)
	}
}
