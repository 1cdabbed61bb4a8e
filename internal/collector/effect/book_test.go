package effect

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/collector/finding"
	"dedup-dashboard/internal/dedup"
)

// readEffects is a reading of keys written as in "a b:3", which ends with + where the answer was cut.
func readEffects(at time.Time, text string) dedup.EffectReading {
	r := dedup.EffectReading{At: at, Took: time.Second}
	for _, word := range strings.Fields(text) {
		if word == "+" {
			r.More = true
			continue
		}
		key, count, _ := strings.Cut(word, ":")
		k := dedup.EffectKey{Key: key, ID: key, Count: 2}
		if count != "" {
			_, _ = fmt.Sscan(count, &k.Count)
		}
		r.Keys = append(r.Keys, k)
	}
	return r
}

func TestNewDoubleEffectsAreToldFromOldOnes(t *testing.T) {
	t0 := time.Date(2026, 11, 22, 2, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		// runs are answers, a quarter of an hour apart; fresh is how many keys the last of them showed to be new.
		runs     []string
		fresh    int64
		baseline int64
		total    int64
		// hour is the figure of the hour after the last run.
		hour string
	}{
		"the first run is the baseline":                    {[]string{"a b"}, 0, 2, 2, "unknown"},
		"nothing new":                                      {[]string{"a b", "a b"}, 0, 2, 2, "0"},
		"a new key":                                        {[]string{"a b", "a b c"}, 1, 2, 3, "1"},
		"a new key that is there again":                    {[]string{"a", "a c", "a c"}, 0, 1, 2, "1"},
		"an old key that was done once more":               {[]string{"a b", "a b:3"}, 1, 1, 2, "1"},
		"a key that was fixed in part":                     {[]string{"a:3", "a:2"}, 0, 1, 1, "0"},
		"a key that was fixed counts as what happened":     {[]string{"a", "a c", "a"}, 0, 1, 1, "1"},
		"a key that comes again after it was fixed":        {[]string{"a", "", "a"}, 1, 0, 1, "1"},
		"a first answer that was cut":                      {[]string{"a +", "b +"}, 0, 1, 1, "≥0"},
		"after a cut nobody knows what is new":             {[]string{"a +", "a b"}, 0, 2, 2, "≥0"},
		"after a cut a count that rises is new":            {[]string{"a +", "a:3 +"}, 1, 0, 1, "≥1"},
		"a cut after a whole answer shows what is new":     {[]string{"a b", "b c +"}, 1, 1, 2, "≥1"},
		"what hides behind a cut is no news when it shows": {[]string{"a b", "b +", "a b"}, 0, 2, 2, "≥0"},
		"new keys count once the answer is whole again":    {[]string{"a +", "a b", "a b c"}, 1, 2, 3, "≥1"},
		"no double effect at all":                          {[]string{"", ""}, 0, 0, 0, "0"},
		"the first double effect of all":                   {[]string{"", "a"}, 1, 0, 1, "1"},
		"several at once":                                  {[]string{"", "a b c"}, 3, 0, 3, "3"},
		"one key that is done again and again counts once": {[]string{"", "a:2", "a:3", "a:4"}, 1, 0, 1, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			b, fresh, at := newBook("q"), int64(0), t0
			for i, run := range tt.runs {
				at = t0.Add(time.Duration(i) * 15 * time.Minute)
				fresh = b.take(readEffects(at, run))
				// A restart changes nothing.
				b = restoreBook("q", b.record())
			}
			s := b.status(at)
			if fresh != tt.fresh || s.Baseline != tt.baseline || s.Total != tt.total || s.Since != t0 || s.At != at {
				t.Errorf("%d new, %d of the first run, %d in all: %+v", fresh, s.Baseline, s.Total, s)
			}
			f := b.figure(time.Hour, 15*time.Minute, at.Add(time.Minute))
			got := "unknown"
			if f.Known() {
				got = fmt.Sprint(f.Value)
				if f.AtLeast {
					got = "≥" + got
				}
			}
			if got != tt.hour {
				t.Errorf("the hour has %s, want %s: %+v", got, tt.hour, f)
			}
		})
	}
}

func TestTheFigureOfDoubleEffectsSaysWhatItCovers(t *testing.T) {
	t0 := time.Date(2026, 11, 22, 2, 0, 0, 0, time.UTC)
	b := newBook("q")
	for i, run := range []string{"", "a", "a b", "a b c"} {
		b.take(readEffects(t0.Add(time.Duration(i)*15*time.Minute), run))
	}
	now := t0.Add(50 * time.Minute)
	for _, tt := range []struct {
		window  time.Duration
		now     time.Time
		value   float64
		covered time.Duration
		why     string
	}{
		{5 * time.Minute, now, 0, 0, "fewer than two runs of the effect check, which runs every 15 m"},
		{15 * time.Minute, now, 0, 0, "fewer than two runs"},
		{25 * time.Minute, now, 1, 15 * time.Minute, ""},
		{time.Hour, now, 3, 45 * time.Minute, ""},
		{24 * time.Hour, now, 3, 45 * time.Minute, ""},
		{24 * time.Hour, now.Add(3 * time.Hour), 0, 0, "the last effect check that succeeded is 3 h 5 m old"},
	} {
		f := b.figure(tt.window, 15*time.Minute, tt.now)
		if f.Known() != (tt.why == "") || f.Value != tt.value || f.Covered != tt.covered || !strings.Contains(f.Why, tt.why) || f.Window != tt.window {
			t.Errorf("%s: %+v", tt.window, f)
		}
		if f.Known() && (f.Quality != dedup.Measured || f.Low != f.Value || f.High != f.Value || f.At.IsZero() || f.Formula == "") {
			t.Errorf("%s lacks its provenance: %+v", tt.window, f)
		}
	}
	if f := newBook("q").figure(time.Hour, time.Minute, now); f.Known() || !strings.Contains(f.Why, "has not run yet") {
		t.Errorf("before the first run: %+v", f)
	}
	if r := restoreBook("another", b.record()); !r.last().IsZero() || len(r.known) != 0 {
		t.Error("what another query found is taken over")
	}
}

// TestNoDoubleEffectIsLostOrMadeUp compares the book with a model that sees every whole answer.
func TestNoDoubleEffectIsLostOrMadeUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, at := newBook("q"), time.Date(2026, 11, 22, 2, 0, 0, 0, time.UTC)
		before := map[string]int{}
		for run := range rapid.IntRange(1, 12).Draw(t, "runs") {
			now := rapid.MapOf(rapid.SampledFrom([]string{"a", "b", "c", "d"}), rapid.IntRange(2, 4)).Draw(t, "answer")
			var words []string
			want := int64(0)
			for _, k := range slices.Sorted(maps.Keys(now)) {
				words = append(words, fmt.Sprintf("%s:%d", k, now[k]))
				if run > 0 && now[k] > before[k] {
					want++
				}
			}
			if got := b.take(readEffects(at, strings.Join(words, " "))); got != want {
				t.Fatalf("run %d: %d new, want %d", run, got, want)
			}
			if s := b.status(at); s.Total != int64(len(now)) || s.Fresh < want || s.Baseline > s.Total {
				t.Fatalf("run %d: %+v", run, s)
			}
			before = now
			at = at.Add(15 * time.Minute)
			if rapid.Bool().Draw(t, "restart") {
				b = restoreBook("q", b.record())
			}
		}
	})
}

func TestAYearOfDoubleEffectsIsForgotten(t *testing.T) {
	b, at := newBook("q"), time.Date(2026, 11, 22, 2, 0, 0, 0, time.UTC)
	for i := range 3000 {
		at = at.Add(15 * time.Minute)
		b.take(readEffects(at, fmt.Sprintf("k%d", i)))
	}
	if len(b.checks) > 97 || len(b.known) > 100 || len(b.gone) > 100 {
		t.Errorf("%d runs, %d keys and %d that are gone are kept", len(b.checks), len(b.known), len(b.gone))
	}
}

// An answer that was cut, or a query that lists every row, may bring other keys at each run.
func TestHoweverManyDoubleEffectsAreNewABoundedNumberIsRemembered(t *testing.T) {
	for _, end := range []string{"", " +"} {
		b, at := newBook("q"), time.Date(2026, 11, 22, 2, 0, 0, 0, time.UTC)
		b.take(readEffects(at, ""))
		for run := range 6 {
			at = at.Add(time.Minute)
			var keys strings.Builder
			for i := range 9000 {
				fmt.Fprintf(&keys, "k%d-%d ", run, i)
			}
			if run == 5 {
				keys.WriteString(end)
			}
			b.take(readEffects(at, keys.String()))
			b = restoreBook("q", b.record())
		}
		if len(b.known) != kept || len(b.gone) > kept || len(b.record().Known) != kept {
			t.Errorf("%d keys and %d that are gone are kept", len(b.known), len(b.gone))
		}
		f, s := b.figure(time.Hour, time.Minute, at), b.status(at)
		if f.Value != kept || !f.AtLeast || f.Why == "" || s.Fresh != kept || !s.FreshAtLeast || s.Total != 9000 {
			t.Errorf("figure %+v, %d fresh, at least %t", f, s.Fresh, s.FreshAtLeast)
		}
		if found := finding.DoubleEffects(&s, at); len(found) != 1 || !strings.Contains(found[0].Text, "at least 20,000 business keys") {
			t.Errorf("findings %+v", found)
		}
		if f := b.figure(90*time.Second, time.Minute, at); f.Value != 9000 || f.AtLeast != (end != "") {
			t.Errorf("the keys of the last run: %+v", f)
		}
		if s := b.status(at.Add(25 * time.Hour)); s.FreshAtLeast || s.Fresh != 0 {
			t.Errorf("a day later: %d fresh, at least %t", s.Fresh, s.FreshAtLeast)
		}
	}
}

func TestDoubleEffectsAreAnEmergencyForADay(t *testing.T) {
	t0 := time.Date(2026, 11, 22, 2, 0, 0, 0, time.UTC)
	b := newBook("q")
	b.take(readEffects(t0, "old-1 old-2"))
	if f := finding.DoubleEffects(ptrTo(b.status(t0)), t0); len(f) != 1 || f[0].Tier != dedup.Warning || !strings.Contains(f[0].Evidence, "2 keys were there at the first check, 02:00 UTC") {
		t.Errorf("after the first run: %+v", f)
	}
	at := t0.Add(15 * time.Minute)
	b.take(readEffects(at, "old-1 old-2 new-1\u202e"))
	f := finding.DoubleEffects(ptrTo(b.status(at)), at)
	if len(f) != 1 || f[0].Tier != dedup.Emergency || !strings.Contains(f[0].Text, "1 business key was done more than once: new") ||
		!strings.Contains(f[0].Evidence, "new-1") || strings.Contains(f[0].Evidence, "\u202e") || !strings.Contains(f[0].Evidence, "2 keys were there at the first check") {
		t.Errorf("a new one: %+v", f)
	}
	later := at.Add(25 * time.Hour)
	b.take(readEffects(later, "old-1 old-2 new-1\u202e"))
	if f := finding.DoubleEffects(ptrTo(b.status(later)), later); len(f) != 1 || f[0].Tier != dedup.Warning || !strings.Contains(f[0].Evidence, "and 1 key found later") {
		t.Errorf("a day later: %+v", f)
	}
	b.take(readEffects(later.Add(time.Hour), ""))
	if f := finding.DoubleEffects(ptrTo(b.status(later)), later); f != nil {
		t.Errorf("when all are fixed: %+v", f)
	}
	if finding.DoubleEffects(nil, t0) != nil || finding.DoubleEffects(&dedup.EffectCheck{}, t0) != nil {
		t.Error("a finding without a run")
	}
}

func TestTheLargerOfTwoCountsOfDoubleEffectsIsShown(t *testing.T) {
	known := func(source string, v float64) dedup.Figure {
		return dedup.Exact(dedup.Measured, dedup.Count, v, time.Now(), source)
	}
	none := dedup.Unknown(dedup.Count, "no events")
	for name, tt := range map[string]struct {
		events, check dedup.Figure
		value         float64
		known         bool
		source, why   string
	}{
		"the check alone":     {none, known("effect check", 2), 2, true, "effect check", ""},
		"the events alone":    {known("store events", 3), dedup.Unknown(dedup.Count, "it failed"), 3, true, "store events", "it failed"},
		"the events saw more": {known("store events", 3), known("effect check", 2), 3, true, "store events and effect check", "effect check: 2"},
		"the check saw more":  {known("store events", 1), known("effect check", 2), 2, true, "effect check and store events", "store events: 1"},
		"neither":             {none, dedup.Unknown(dedup.Count, "it failed"), 0, false, "", "it failed"},
	} {
		f := larger(tt.events, tt.check)
		if f.Known() != tt.known || f.Value != tt.value || f.Source != tt.source || !strings.Contains(f.Why, tt.why) {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

func ptrTo[T any](v T) *T { return &v }
