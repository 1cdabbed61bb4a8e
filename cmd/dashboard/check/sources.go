package check

import (
	"fmt"
	"io"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/collector"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
)

// printSources says which sources can tell the duplicate rate of a pipeline by the scheme of its store, and where none can but the
// consumers themselves.
func printSources(w io.Writer, p dedup.Pipeline, stores []markers.Config) {
	var s dedup.Scheme
	var store *markers.Config
	for i := range stores {
		if stores[i].Name == p.Store {
			store, s = &stores[i], stores[i].Scheme()
		}
	}
	fmt.Fprintf(w, "  sources of the duplicate rate:\n")
	for _, m := range dedup.Methods() {
		fmt.Fprintf(w, "    %-18s %s\n", methodName(m), sourceWords(m, s, store))
	}
	if store == nil || len(s.RateSources()) == 0 {
		fmt.Fprintf(w, "  NOTE this pipeline can have no duplicate rate unless its consumers report their outcomes (docs/consumers.md)\n")
	}
}

func sourceWords(m dedup.Method, s dedup.Scheme, store *markers.Config) string {
	switch {
	case m == dedup.MethodReported:
		return "can: where the consumers report what became of each delivery (docs/consumers.md)"
	case store == nil:
		return "cannot: the pipeline has no store"
	case s.Refuses(m) != "":
		return "cannot: " + s.Refuses(m)
	}
	words := "can"
	if m == dedup.MethodExports {
		return words + ": where the consumers' framework publishes counters, by a recipe (docs/consumers.md)"
	}
	if s.BoundsOnly(m) {
		words = "can tell an upper bound"
	}
	if m == dedup.MethodStoreHits {
		return words + hitsNeed(store, s)
	}
	if m == dedup.MethodStoreEvents && !store.Events {
		return words + ", once store events are on: events: true, and notify-keyspace-events K$gxe in Redis (docs/stores.md)"
	}
	if m == dedup.MethodStoreEvents && store.Ask == "" {
		return words + ", once the store says with which command consumers ask: ask (docs/stores.md)"
	}
	return words
}

// hitsNeed says what store hits need that the configuration does not have, or cannot say.
func hitsNeed(store *markers.Config, s dedup.Scheme) string {
	switch {
	case s.CountsStatements():
		return ", where the server counts statements (docs/stores.md)"
	case !store.Events:
		return ", once store events are on (docs/stores.md)"
	case store.Ask == "":
		return ", once the store says with which command consumers ask: ask (docs/stores.md)"
	case store.Ask == "GET" || store.Ask == "EXISTS":
		return ", where notify-keyspace-events has m: K$gxem (docs/stores.md)"
	}
	return ""
}

func methodName(m dedup.Method) string {
	return map[dedup.Method]string{dedup.MethodReported: "reported counters", dedup.MethodExports: "exported counters", dedup.MethodIDGap: "id gap",
		dedup.MethodStoreHits: "store hits", dedup.MethodLive: "live counts", dedup.MethodStoreEvents: "store events", dedup.MethodResidual: "residual interval"}[m]
}

// printTimeout notes a timeout that never comes to hold: a whole reading ends before it.
func printTimeout(w io.Writer, b broker.Config, c collector.Config) {
	if bound := c.WithDefaults().Timeout; b.Timeout > bound {
		fmt.Fprintf(w, "  NOTE timeout of %s has no effect: a reading ends after collector.timeout, %s\n", b.Timeout, bound)
	}
}
