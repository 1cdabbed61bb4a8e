package rate

import (
	"math"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/estimate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

func TestWhatStatementsMetIsBoundedByWhatTheTableCounts(t *testing.T) {
	writes := func(n int64) *int64 { return &n }
	first, looks := dedup.Scheme{Kind: "sql-table", InsertFirst: true}, dedup.Scheme{Kind: "sql-table", Mark: "after"}
	for name, c := range map[string]struct {
		scheme      dedup.Scheme
		to          dedup.StatementStats
		asked, hits [2]float64
		what, why   string
	}{
		"each insert reached the table":            {first, dedup.StatementStats{Inserts: 100, Met: 7, Failed: 7, Writes: writes(100), LockWaits: writes(0)}, [2]float64{100, 100}, [2]float64{7, 7}, "INSERT", ""},
		"some failed before they reached it":       {first, dedup.StatementStats{Inserts: 100, Met: 7, Failed: 7, Writes: writes(95), LockWaits: writes(0)}, [2]float64{95, 100}, [2]float64{2, 2}, "INSERT", ""},
		"some may have failed by a lock":           {first, dedup.StatementStats{Inserts: 100, Met: 7, Failed: 7, Writes: writes(100), LockWaits: writes(2)}, [2]float64{100, 100}, [2]float64{5, 7}, "INSERT", ""},
		"some failed early, some by a lock":        {first, dedup.StatementStats{Inserts: 100, Met: 9, Failed: 9, Writes: writes(97), LockWaits: writes(2)}, [2]float64{97, 100}, [2]float64{4, 6}, "INSERT", ""},
		"nobody counts the waits for locks":        {first, dedup.StatementStats{Inserts: 100, Met: 7, Failed: 7, Writes: writes(100)}, [2]float64{100, 100}, [2]float64{0, 7}, "INSERT", ""},
		"to some a row that is there is no error":  {first, dedup.StatementStats{Inserts: 100, Met: 7, Failed: 4, Refused: 3, Writes: writes(97), LockWaits: writes(90)}, [2]float64{97, 100}, [2]float64{0, 7}, "INSERT", ""},
		"locks fail none that tell their rows":     {first, dedup.StatementStats{Inserts: 100, Met: 7, Refused: 3, Writes: writes(97), LockWaits: writes(90)}, [2]float64{97, 100}, [2]float64{7, 7}, "INSERT", ""},
		"a few writes are in no digest":            {first, dedup.StatementStats{Inserts: 100, Met: 7, Writes: writes(104)}, [2]float64{100, 104}, [2]float64{7, 11}, "INSERT", ""},
		"many writes are in no digest":             {first, dedup.StatementStats{Inserts: 100, Met: 7, Writes: writes(300)}, [2]float64{}, [2]float64{}, "", "no server-side prepared statements"},
		"statements that do not say what they met": {first, dedup.StatementStats{Inserts: 100, Met: 7, Unclear: 3}, [2]float64{100, 103}, [2]float64{7, 10}, "INSERT", ""},
		"no insert that fails is counted":          {first, dedup.StatementStats{Unfailed: 90}, [2]float64{}, [2]float64{}, "", "ON CONFLICT"},
		"hits that connections may hide":           {first, dedup.StatementStats{Inserts: 100, Same: 100}, [2]float64{}, [2]float64{}, "", "count rows they found"},
		"hits that connections do not hide":        {first, dedup.StatementStats{Inserts: 100, Met: 4, Same: 100, SameMet: 4}, [2]float64{100, 100}, [2]float64{4, 4}, "INSERT", ""},
		"consumers look first":                     {looks, dedup.StatementStats{Questions: 100, Found: 6, Inserts: 94, Met: 1, Writes: writes(94)}, [2]float64{100, 100}, [2]float64{7, 7}, "SELECT", ""},
		"they look after an insert that failed":    {looks, dedup.StatementStats{Questions: 6, Found: 6, Inserts: 100, Met: 6}, [2]float64{100, 100}, [2]float64{6, 6}, "INSERT", ""},
		"they look first, on PostgreSQL":           {looks, dedup.StatementStats{Questions: 100, Found: 6, Unfailed: 92}, [2]float64{100, 100}, [2]float64{6, 8}, "SELECT", ""},
	} {
		var from dedup.StatementStats
		if c.to.Writes != nil {
			from.Writes = writes(0)
		}
		if c.to.LockWaits != nil {
			from.LockWaits = writes(0)
		}
		got := StatementHits(c.scheme, &from, &c.to, 0)
		switch {
		case c.why != "" && !strings.Contains(got.Why, c.why):
			t.Errorf("%s: %q", name, got.Why)
		case c.why == "" && (got.Why != "" || got.Asked != c.asked || got.Hits != c.hits || got.What != c.what):
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestStatementsThatEndWhileTheyAreCountedAreNotTakenForEarlyFailures: the server is asked for the writes of the table before and after its digests,
// and a busy one takes long. 161 of 5749 inserts met a row.
func TestStatementsThatEndWhileTheyAreCountedAreNotTakenForEarlyFailures(t *testing.T) {
	n := func(n int64) *int64 { return &n }
	const inserts, met = 5749, 161
	for name, c := range map[string]struct {
		from, to dedup.StatementStats
		underway float64
		hits     [2]float64
	}{
		"two ended during the second reading":       {dedup.StatementStats{Writes: n(0)}, dedup.StatementStats{Writes: n(inserts), Writing: 2}, 0, [2]float64{met - 2, met}},
		"two began during the first":                {dedup.StatementStats{Writes: n(2), Writing: 2}, dedup.StatementStats{Writes: n(inserts)}, 0, [2]float64{met - 2, met}},
		"two had written before it, and ended then": {dedup.StatementStats{Writes: n(2)}, dedup.StatementStats{Writes: n(inserts)}, 5, [2]float64{met - 2, met}},
		"more failed early than were underway":      {dedup.StatementStats{Writes: n(0)}, dedup.StatementStats{Writes: n(inserts - 9)}, 5, [2]float64{met - 9, met - 4}},
	} {
		c.from.LockWaits, c.to.LockWaits = n(0), n(0)
		c.to.Inserts, c.to.Met, c.to.Failed = inserts, met, met
		if got := StatementHits(dedup.Scheme{InsertFirst: true}, &c.from, &c.to, c.underway); got.Hits != c.hits {
			t.Errorf("%s: %v, want %v", name, got.Hits, c.hits)
		}
	}
}

func TestALockWaitThatBeganBeforeTheWindowMayFailInIt(t *testing.T) {
	none := int64(0)
	from, to := dedup.StatementStats{Writes: &none, LockWaits: &none, LockWaiting: 2}, dedup.StatementStats{Writes: &none, LockWaits: &none}
	writes := int64(100)
	to.Inserts, to.Met, to.Failed, to.Writes = 100, 7, 7, &writes
	if got := StatementHits(dedup.Scheme{InsertFirst: true}, &from, &to, 0); got.Hits != [2]float64{5, 7} {
		t.Errorf("%v of 7 hits, though 2 may have failed by a lock", got.Hits)
	}
}

// TestInsertsOfWhichNoneIsCountedMayAllHaveFailed: PostgreSQL counts none that fails, so that in a quiet minute of duplicates alone it counts none.
func TestInsertsOfWhichNoneIsCountedMayAllHaveFailed(t *testing.T) {
	counted := dedup.StatementStats{Unfailed: 90, Questions: 200, Found: 5}
	asked := counted
	asked.Questions, asked.Found = 203, 7
	if got := StatementHits(dedup.Scheme{InsertFirst: true}, &counted, &counted, 0); !strings.Contains(got.Why, "no INSERT that fails") {
		t.Errorf("inserts of which none was counted: %+v", got)
	}
	if got := StatementHits(dedup.Scheme{Mark: "after"}, &counted, &asked, 0); got.Why != "" || got.Hits != [2]float64{2, 3} {
		t.Errorf("one that found nothing may have lost a race: %+v", got)
	}
}

func TestAllThatMayHaveBeenWrittenIsCounted(t *testing.T) {
	zero, writes := int64(0), int64(103)
	for name, c := range map[string]struct {
		from, to dedup.StatementStats
		written  float64
	}{
		"inserts that met nothing":                   {dedup.StatementStats{}, dedup.StatementStats{Inserts: 100, Met: 6}, 94},
		"inserts of which only those count that did": {dedup.StatementStats{}, dedup.StatementStats{Questions: 100, Found: 6, Unfailed: 94}, 94},
		"one insert may have written many rows":      {dedup.StatementStats{}, dedup.StatementStats{Inserts: 100, Met: 6, Unclear: 1}, math.Inf(1)},
		"the table counts what it wrote":             {dedup.StatementStats{Writes: &zero}, dedup.StatementStats{Inserts: 100, Met: 6, Unclear: 1, Writes: &writes}, 95 + 3},
	} {
		if got := StatementHits(dedup.Scheme{}, &c.from, &c.to, 0); got.Written != c.written {
			t.Errorf("%s: %v, want %v", name, got.Written, c.written)
		}
	}
}

func TestAcksThatWroteNoRowMetOneWhateverElseFailed(t *testing.T) {
	gain := sample.Gain{Live: true, Acked: [2]float64{1000, 1002}, Fetched: 1}
	for name, c := range map[string]struct {
		hits       [2]float64
		gain       sample.Gain
		low, least float64
	}{
		"half of what failed may have done so by a lock": {[2]float64{0, 60}, gain, 1000 - 1 - 960 - 5, 34},
		"no lock was waited for":                         {[2]float64{60, 60}, gain, 60, 34},
		"more was acked than asked":                      {[2]float64{0, 10}, gain, 10, 0},
		"the broker has no live counts":                  {[2]float64{0, 60}, sample.Gain{Acked: gain.Acked}, 0, 0},
	} {
		span := HitsSpan{Hits: c.hits, Written: 960}
		least := span.MeetWritten(dedup.Scheme{Mark: "after"}, c.gain, 5)
		if span.Hits != [2]float64{c.low, c.hits[1]} || least != c.least {
			t.Errorf("%s: %v, at least %v duplicates", name, span.Hits, least)
		}
		if least := span.MeetWritten(dedup.Scheme{Mark: "before", OnInFlight: "ack"}, c.gain, 5); least != 0 {
			t.Errorf("%s: %v duplicates, though they may have met work in flight", name, least)
		}
	}
}

func TestQuestionsThatDoNotFitTheBrokerRefuse(t *testing.T) {
	gain := sample.Gain{Acked: [2]float64{1000, 1000}, Delivered: [2]float64{1010, 1010}}
	for name, c := range map[string]struct {
		asked [2]float64
		why   string
	}{
		"as many as deliveries":   {[2]float64{1010, 1010}, ""},
		"others ask too":          {[2]float64{1400, 1400}, "others ask too"},
		"some consumers do not":   {[2]float64{700, 700}, "some consumers do not ask"},
		"as many as were waiting": {[2]float64{995, 995}, ""},
		"none at all":             {[2]float64{}, "0 times"},
	} {
		why := HitsSpan{What: "INSERT", Asked: c.asked}.Strangers(gain, [2]float64{5, 5})
		if (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%s: %q", name, why)
		}
	}
}

func TestAcksWithoutAnyQuestionRefuseHoweverFewTheyAre(t *testing.T) {
	for acked, refused := range map[float64]bool{0: false, 2: true} {
		why := HitsSpan{What: "INSERT"}.Strangers(sample.Gain{Acked: [2]float64{acked, acked}, Delivered: [2]float64{acked, acked}}, [2]float64{1, 1})
		if (why != "") != refused {
			t.Errorf("%v acked: %q", acked, why)
		}
	}
}

func TestHitsOnRowsThatAreNotDoneAreNoDuplicates(t *testing.T) {
	span, gain := HitsSpan{Hits: [2]float64{100, 100}}, sample.Gain{Redelivered: 4}
	pass := &dedup.Pass{States: map[dedup.State]int64{dedup.Done: 990, dedup.Processing: 10}}
	for name, c := range map[string]struct {
		scheme dedup.Scheme
		pass   *dedup.Pass
		most   float64
	}{
		"one transaction":                       {dedup.Scheme{Transactional: true, OnInFlight: "wait"}, nil, 2},
		"a row after the work":                  {dedup.Scheme{Mark: "after"}, nil, 2},
		"a row after the work, or of a failure": {dedup.Scheme{Mark: "after", States: []dedup.State{dedup.Done, dedup.Failed}}, pass, 100},
		"what is met comes back":                {dedup.Scheme{Mark: "before", OnInFlight: "nack"}, nil, 4 + 3},
		"what is met is acked":                  {dedup.Scheme{Mark: "before", OnInFlight: "ack"}, pass, 4 + 1 + 3*1.4143},
		"what is met is acked, rows unread":     {dedup.Scheme{Mark: "before", OnInFlight: "ack"}, nil, 100},
	} {
		got := UndoneRows(c.scheme, c.pass, span, gain, HitsAgain{Died: 2, Returned: 4 + 3})
		if got[0] != 0 || got[1] < c.most-0.01 || got[1] > c.most+0.01 {
			t.Errorf("%s: %v, want at most %v", name, got, c.most)
		}
	}
}

// TestDeadLettersThatWereTakenOutMayHaveMetTheirRows: sent again they are no redeliveries.
func TestDeadLettersThatWereTakenOutMayHaveMetTheirRows(t *testing.T) {
	scheme := dedup.Scheme{Mark: "before", OnInFlight: "ack"}
	pass := &dedup.Pass{States: map[dedup.State]int64{dedup.Done: 9900, dedup.Failed: 100}}
	const taken = 90
	if got := UndoneRows(scheme, pass, HitsSpan{Hits: [2]float64{100, 100}}, sample.Gain{Taken: taken}, HitsAgain{}); got[1] < taken {
		t.Errorf("at most %v of them, and %d dead letters were taken out", got[1], taken)
	}
	begin := time.Unix(1_800_000_000, 0)
	var frames sample.Frames
	for i := range 60 {
		at := begin.Add(time.Duration(i) * 15 * time.Second)
		f := sample.Frame{Began: at, Ended: at, DepthFrom: at}
		if i >= 30 {
			f.DeadSettled = taken
		}
		frames = append(frames, f)
	}
	if got := TakenBetween(frames, begin.Add(5*time.Minute), begin.Add(10*time.Minute)); got != taken {
		t.Errorf("%v were taken, want %d", got, taken)
	}
	frames[59].DeadGaps = 1
	if got := TakenBetween(frames, begin.Add(5*time.Minute), begin.Add(20*time.Minute)); !math.IsInf(got, 1) {
		t.Errorf("%v were taken though counts were missed", got)
	}
}

func TestTheShareOfHitsHoldsTheTruthWithinItsBounds(t *testing.T) {
	h := estimate.Hits{Hits: [2]float64{20, 22}, Undone: [2]float64{0, 5}, Messages: [2]float64{1000, 1010}}
	low, likely, high, ok := h.Rate()
	if !ok || low != 15./1010 || high != 22./1000 || likely < low || likely > high {
		t.Errorf("%v %v %v %v", low, likely, high, ok)
	}
	if _, _, _, ok := (estimate.Hits{}).Rate(); ok {
		t.Error("a share of nothing")
	}
}

func TestLostAcksThatNobodyCountedLeaveTheMessagesThatWere(t *testing.T) {
	met := estimate.Hits{Hits: [2]float64{0, 12}, Messages: [2]float64{600, math.Inf(1)}}
	got := OfHits(dedup.Figure{Window: time.Minute}, met, false)
	if f := got.Rate; f.N != 600 || f.Low != 0 || f.High != 0.02 {
		t.Errorf("[%v, %v] of %v messages, want [0, 0.02] of 600", f.Low, f.High, f.N)
	}
	if f := got.Messages(got.Rate); f.Value != 600 {
		t.Errorf("%v messages, want 600", f.Value)
	}
}
