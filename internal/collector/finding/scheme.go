package finding

import (
	"fmt"
	"slices"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// SchemeUse is how a pipeline uses the scheme of its store.
type SchemeUse struct {
	Store   string
	Partner string // another pipeline with the same store; empty for none
	Scheme  dedup.Scheme
	// MaxProcessing is that of the configuration, Work the 99th percentile of the processing time.
	MaxProcessing time.Duration
	Work          dedup.Figure
	Oldest        DeadLetterAge
	Anew          float64 // work of the last 24 h that was done again after its done marker had ended
	Prolonged     bool    // consumers prolong claims while they work, and none expired
}

// OfScheme are the hazards of the scheme and of how it is used.
func OfScheme(u SchemeUse) []dedup.Finding {
	return slices.Concat(
		ttlTooShort(u),
		windowTooShort(u.Scheme, u.Oldest),
		windowUnusual(u.Scheme),
		lockWithoutMarker(u.Scheme),
		blindScheme(u.Scheme),
		workedAnew(u.Anew, u.Scheme),
		sharedStore(u.Store, u.Partner),
	)
}

// ttlTooShort finds processing markers, or leases, that end before the work does: a second delivery then does it too. Those that consumers
// prolong do not.
func ttlTooShort(u SchemeUse) []dedup.Finding {
	const enough = 50 // messages, for a p99 that is worth comparing
	s, maxProcessing, work := u.Scheme, u.MaxProcessing, u.Work
	if s.ProcessingTTL <= 0 || u.Prolonged {
		return nil
	}
	f := dedup.Finding{
		Kind:   "ttl_too_short",
		Text:   "Processing markers expire before the work ends: a second delivery then does the work twice",
		Remedy: "Raise the time to live above the longest work, or renew it while working.",
	}
	ttl := text.Span(s.ProcessingTTL)
	p99 := time.Duration(work.Value * float64(time.Second))
	switch {
	case work.Known() && work.N >= enough && p99 > s.ProcessingTTL:
		f.Tier = dedup.Severe
		f.Evidence = fmt.Sprintf("1 %% of %s took %s or longer, markers live for %s", text.Counted(text.Whole(work.N), "message"), text.Span(p99), ttl)
	case maxProcessing > s.ProcessingTTL:
		f.Tier = dedup.Warning
		f.Text = "Processing markers expire before the longest work ends: a second delivery can do the work twice"
		f.Evidence = fmt.Sprintf("max_processing is %s, markers live for %s", text.Span(maxProcessing), ttl)
	default:
		return nil
	}
	return []dedup.Finding{f}
}

// windowTooShort finds dead letters that are older than done markers get: nothing remembers any more whether their work
// was done.
func windowTooShort(s dedup.Scheme, d DeadLetterAge) []dedup.Finding {
	if s.DoneTTL <= 0 || s.Lock || !d.Known || d.Age <= s.DoneTTL {
		return nil
	}
	return []dedup.Finding{{
		Kind: "dedup_window_short", Tier: dedup.Warning,
		Text:     fmt.Sprintf("Dead letters of %s are older than the dedup window: requeued, they may run twice", text.Name(d.Queue)),
		Evidence: fmt.Sprintf("the oldest is of an age of at least %s by %s, done markers live for %s", text.Span(d.Age), d.How, text.Span(s.DoneTTL)),
		Remedy:   "Check by the business data whether the work was done before you requeue them; look after dead letters sooner, or keep done markers longer.",
	}}
}

// windowUnusual finds a dedup window outside of what is good practice: 24 h to 7 days.
func windowUnusual(s dedup.Scheme) []dedup.Finding {
	const least, most = 24 * time.Hour, 7 * 24 * time.Hour
	f := dedup.Finding{Kind: "dedup_window_unusual", Tier: dedup.Normal, Evidence: fmt.Sprintf("done markers live for %s", text.Span(s.DoneTTL))}
	switch {
	case s.DoneTTL <= 0 || s.Lock:
		return nil
	case s.DoneTTL < least:
		f.Text = "The dedup window is shorter than 24 h: a message that comes back the next day is processed again"
		f.Remedy = "Keep done markers for at least as long as a producer, or an operator, may send a message again."
	case s.DoneTTL > most:
		f.Text = "The dedup window is longer than 7 days: the store holds markers that hardly any message meets again"
		f.Remedy = "Shorten it if the store grows too large; otherwise leave it."
	default:
		return nil
	}
	return []dedup.Finding{f}
}

// workedAnew finds work that was done again n times after its done marker had ended, as the store's events of the last day show. It may be
// meant: an id that is used again each day is work of its own.
func workedAnew(n float64, s dedup.Scheme) []dedup.Finding {
	if n <= 0 {
		return nil
	}
	f := dedup.Finding{
		Kind: "worked_again", Tier: dedup.Warning,
		Text:     "Work was done again after its done marker had ended",
		Evidence: fmt.Sprintf("at least %s in 24 h, by the store's events", text.Counted(text.Whole(n), "time")),
		Remedy:   "See whether the second effect was meant. If not, keep done markers longer than a message can be sent again, and see who deletes them.",
	}
	if s.DoneTTL > 0 {
		f.Evidence += fmt.Sprintf("; done markers live for %s", text.Span(s.DoneTTL))
	}
	return []dedup.Finding{f}
}

// lockWithoutMarker finds a lock that is all there is.
func lockWithoutMarker(s dedup.Scheme) []dedup.Finding {
	if !s.Lock {
		return nil
	}
	return []dedup.Finding{{
		Kind: "lock_without_marker", Tier: dedup.Warning,
		Text:     "A lock alone does not stop duplicates: a second delivery that comes after the first one ended does the work again",
		Evidence: "the store of the pipeline holds locks, which leave nothing behind",
		Remedy:   "Write a done marker under the lock and check it before the work. If there is one already, name its store in the pipeline.",
	}}
}

// blindScheme says so where no stuck marker proves nothing.
func blindScheme(s dedup.Scheme) []dedup.Finding {
	if s.Blind == "" {
		return nil
	}
	return []dedup.Finding{{
		Kind: "blind_scheme", Tier: dedup.Normal,
		Text:     "That no marker is stuck proves nothing in this scheme",
		Evidence: text.Plain(s.Blind, 400),
		Remedy:   "Watch redeliveries, dead letters and reported counters instead; nothing need be done about the scheme for this alone.",
	}}
}
