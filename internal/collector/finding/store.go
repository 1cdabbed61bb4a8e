package finding

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// Markers is what is known of the markers of a pipeline and of their server.
type Markers struct {
	Store     string
	Scheme    dedup.Scheme
	Stats     dedup.StoreStats
	Growth    Growth
	EvictedAt time.Time // when the server was last seen to have thrown keys away
	Now       time.Time
	// MaxProcessing, IDFrom and Listed, the dead-letter queues, are those of the pipeline's configuration.
	MaxProcessing time.Duration
	IDFrom        string
	Listed        []string
}

// OfMarkers are the hazards that the markers of the store and its server show.
func OfMarkers(s Markers) []dedup.Finding {
	pass, facts := s.Stats.Pass, s.Stats.Facts
	evicted := evictions(s.Store, s.EvictedAt, s.Now, s.Scheme.DoneTTL)
	if len(evicted) == 0 {
		evicted = evictionPossible(s.Store, s.Stats.Health, s.Scheme)
	}
	return slices.Concat(
		messagesGivenUp(pass, s.Growth, s.Now, s.Listed...),
		failedAndAcked(pass, s.Scheme, s.Growth, s.Now),
		undecodable(s.Store, pass),
		markersWithoutExpiry(pass, s.Scheme),
		lockWaits(s.Store, s.Stats.Waits, s.MaxProcessing),
		evicted,
		vanished(s.Store, s.Stats.Events, s.Now, s.Scheme.DoneTTL),
		storeBusy(s.Store, s.Stats),
		purgeNotRunning(s.Store, pass, s.Growth),
		passLate(s.Store, s.Stats, s.Now),
		nullIDs(s.Store, facts),
		hashIDs(pass, s.IDFrom),
		repeatedKeys(pass),
		touchedAfterDone(s.Store, pass),
		idsTakenForOne(pass, facts),
		idsTooLong(pass, facts, s.IDFrom),
	)
}

// passLate finds a store whose passes do not end.
func passLate(store string, s dedup.StoreStats, now time.Time) []dedup.Finding {
	const late = 10 * time.Minute
	started := s.Progress.Started
	if started.IsZero() || now.Sub(started) < late {
		return nil
	}
	why := s.Progress.Waiting
	if why == "" {
		why = "the store holds many keys"
	}
	return []dedup.Finding{{
		Kind: "pass_incomplete", Tier: dedup.Warning,
		Text:     fmt.Sprintf("The pass over store %s has been under way for %s", text.Name(store), now.Sub(started).Round(time.Minute)),
		Evidence: fmt.Sprintf("%.0f %% covered, %s examined; %s", 100*s.Progress.Coverage, text.Counted(s.Progress.Examined, "key"), text.Plain(why, 200)),
		Remedy:   "Raise the store's budget, or put the markers into a database of their own.",
	}}
}

// sharedStore finds another pipeline that keeps its markers in the same store.
func sharedStore(store, partner string) []dedup.Finding {
	if partner == "" {
		return nil
	}
	return []dedup.Finding{{
		Kind: "store_shared", Tier: dedup.Normal,
		Text:     fmt.Sprintf("Store %s also holds the markers of pipeline %s, so the two cannot be told apart", text.Name(store), text.Name(partner)),
		Evidence: "Both pipelines name the store.",
		Remedy:   "Give each pipeline a store with a match pattern of its own, or put their queues into one pipeline.",
	}}
}

// lossTier says how bad it is that markers were lost so long ago: what they guarded may run twice for as long as they would have lived. life is
// that of done markers, 0 when they live for ever.
func lossTier(at, now time.Time, life time.Duration) (tier dedup.Tier, matters bool) {
	const fresh, longest = time.Hour, 24 * time.Hour
	if life <= 0 || life > longest {
		life = longest
	}
	age := now.Sub(at)
	if age <= fresh {
		return dedup.Severe, true
	}
	return dedup.Warning, age <= life
}

// evictions finds a store whose server threw keys away. at is when it was last seen to.
func evictions(store string, at, now time.Time, life time.Duration) []dedup.Finding {
	tier, matters := lossTier(at, now, life)
	if !matters {
		return nil
	}
	return []dedup.Finding{{
		Kind: "markers_evicted", Tier: tier,
		Text:     fmt.Sprintf("The server of store %s evicted keys: a message whose marker was among them runs twice", text.Name(store)),
		Evidence: "evicted_keys rose, last seen at " + text.Clock(at, now) + "; it counts the keys of every database of this server",
		Remedy:   "Give the server more memory, or set maxmemory-policy to noeviction.",
	}}
}

// vanished finds a server that took the place of another one without all of its markers.
func vanished(store string, e *dedup.StoreEvents, now time.Time, life time.Duration) []dedup.Finding {
	if e == nil || e.Vanished.Gone == 0 {
		return nil
	}
	tier, matters := lossTier(e.Vanished.At, now, life)
	if !matters {
		return nil
	}
	return []dedup.Finding{{
		Kind: "markers_vanished", Tier: tier,
		Text: fmt.Sprintf("Store %s lost done markers at %s, in a fail-over or a restart: a message whose marker was among them runs twice if it comes again",
			text.Name(store), text.Clock(e.Vanished.At, now)),
		Evidence: fmt.Sprintf("%s of the %s that were written last %s not on the server that answers now", text.Grouped(e.Vanished.Gone),
			text.Counted(e.Vanished.Asked, "done marker"), text.Agree(e.Vanished.Gone, "is", "are")),
		Remedy: "Look for double effects of that time. Against the next loss: min-replicas-to-write 1 with a short min-replicas-max-lag, and appendonly yes.",
	}}
}

// evictionPossible finds a server that may throw markers away although it has not done so yet.
func evictionPossible(store string, h dedup.StoreHealth, s dedup.Scheme) []dedup.Finding {
	if h.MemoryMax == nil || h.EvictionPolicy == "" || h.EvictionPolicy == "noeviction" {
		return nil
	}
	if strings.HasPrefix(h.EvictionPolicy, "volatile-") && s.ProcessingTTL <= 0 && s.DoneTTL <= 0 {
		return nil // only keys that expire are evicted, and these do not
	}
	evidence := "maxmemory-policy is " + text.Name(h.EvictionPolicy)
	if h.MemoryUsed != nil && *h.MemoryMax > 0 {
		evidence += fmt.Sprintf(", %.0f %% of maxmemory is used", 100*float64(*h.MemoryUsed)/float64(*h.MemoryMax))
	}
	return []dedup.Finding{{
		Kind: "eviction_possible", Tier: dedup.Warning,
		Text:     fmt.Sprintf("Store %s may evict markers when its memory is full: their messages would run twice", text.Name(store)),
		Evidence: evidence,
		Remedy:   "Set maxmemory-policy to noeviction, or keep markers on a server of their own.",
	}}
}

// storeBusy finds a server that works much while its notifications are followed: they cost a saturated server about half of
// what it can do. It is single-threaded, so that one core is all there is.
func storeBusy(store string, s dedup.StoreStats) []dedup.Finding {
	const hint, much = 0.25, 0.5
	if s.Events == nil || s.Health.CPU == nil || *s.Health.CPU <= hint {
		return nil
	}
	f := dedup.Finding{
		Kind: "store_cpu", Tier: dedup.Normal,
		Text:     fmt.Sprintf("The server of store %s uses %.0f %% of a core while its notifications are followed", text.Name(store), 100**s.Health.CPU),
		Evidence: "used_cpu_sys and used_cpu_user since the reading before; notifications about halve what a saturated server can do",
		Remedy:   "Watch it. Above 50 %, write events: false for this store and set notify-keyspace-events to \"\", or keep markers on a server of their own.",
	}
	if *s.Health.CPU > much {
		f.Tier = dedup.Warning
		f.Remedy = "Write events: false for this store and set notify-keyspace-events to \"\", or keep markers on a server of their own."
	}
	return []dedup.Finding{f}
}

// purgeNotRunning finds rows that have expired and are still there. Those of a day are what a nightly purge leaves.
func purgeNotRunning(store string, p *dedup.Pass, g Growth) []dedup.Finding {
	const few = 100
	if p == nil || p.Expired == 0 {
		return nil
	}
	f := dedup.Finding{
		Kind: "purge_not_running", Tier: dedup.Normal,
		Text: fmt.Sprintf("%s of store %s %s expired and %s not been purged yet",
			text.Counted(p.Expired, "row"), text.Name(store), text.Agree(p.Expired, "has", "have"), text.Agree(p.Expired, "has", "have")),
		Evidence: fmt.Sprintf("%s of %s", text.Grouped(p.Expired), text.Counted(p.Matched, "row")),
		Remedy:   "See that the purge job runs. Consumers that do not look at the expiry still take these rows for duplicates.",
	}
	if p.Expired >= few && 2*p.Expired > p.Matched {
		f.Tier = dedup.Warning
		f.Text = fmt.Sprintf("The purge of store %s does not run: most of its rows have expired and are still there", text.Name(store))
	}
	if then, ok := g.First(); ok && p.Expired > then.Expired && p.Ended.Sub(then.ended) >= time.Minute {
		f.Evidence += fmt.Sprintf(", %s more than %s before", text.Grouped(p.Expired-then.Expired), text.Span(p.Ended.Sub(then.ended)))
	}
	return []dedup.Finding{f}
}

// lockWaits finds sessions that hold a marker's row while others wait for it. That a duplicate waits for the transaction
// of the first delivery is how some schemes work; a long wait is not.
func lockWaits(store string, w *dedup.LockWaits, maxProcessing time.Duration) []dedup.Finding {
	const brief, long = 5 * time.Second, 30 * time.Second
	if w == nil {
		return nil
	}
	limit := max(maxProcessing, long)
	waiting := w.Waiters > 0 && w.Longest >= brief
	if !waiting && w.LongestTransaction <= limit {
		return nil
	}
	f := dedup.Finding{
		Kind: "marker_row_held", Tier: dedup.Normal,
		Text:   fmt.Sprintf("A session holds rows of store %s: its transaction has been open for %s", text.Name(store), text.Span(w.LongestTransaction)),
		Remedy: "Find the session and see what it waits for; end it only when nobody works in it.",
	}
	if w.LongestTransaction > limit {
		f.Tier = dedup.Warning
	}
	var evidence []string
	if waiting {
		f.Text = fmt.Sprintf("%s %s for rows of store %s that another session holds, the longest for %s",
			text.Counted(w.Waiters, "transaction"), text.Agree(w.Waiters, "waits", "wait"), text.Name(store), text.Span(w.Longest))
		if w.Longest > limit {
			f.Tier = dedup.Warning
		}
		if w.LongestTransaction > 0 {
			evidence = append(evidence, "the oldest open transaction is of "+text.Span(w.LongestTransaction))
		}
	}
	if len(w.Holders) > 0 {
		evidence = append(evidence, "held by "+text.SomeNames(w.Holders))
	}
	if len(evidence) == 0 {
		evidence = append(evidence, "the lock waits of the database")
	}
	f.Evidence = strings.Join(evidence, "; ")
	return []dedup.Finding{f}
}
