package server

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/web/templates"
)

// bannerNames is how many lost sources the banner names; the rest is counted.
const bannerNames = 2

// lostSource is a broker or store that does not answer.
type lostSource struct {
	name  string
	since time.Time
}

// banner says the worst of the whole in one sentence: pipelines that are severe or worse, brokers and stores that do not
// answer, and rounds that do not end. What cannot be seen is severe: a total outage must not look calm. Both are empty
// when there is nothing of it.
func banner(snap *dedup.Snapshot, verdicts []alerts.Verdict, now time.Time) (text string, tier dedup.Tier) {
	counts := map[dedup.Tier]int{}
	for _, v := range verdicts {
		counts[v.Tier]++
	}
	var blind []string
	if why := late(snap, now); why != "" {
		blind = append(blind, "no reading since "+moment(snap.At, now).Text)
	} else {
		blind = lostText(snap, now)
	}
	if unknown := counts[dedup.TierUnknown]; len(blind) > 0 && unknown > 0 {
		blind = append(blind, pipelines(unknown)+" unknown")
	}
	var parts []string
	emergency, severe := counts[dedup.Emergency], counts[dedup.Severe]
	switch {
	case emergency > 0 && severe > 0:
		parts = append(parts, fmt.Sprintf("%s in emergency, %d severe", pipelines(emergency), severe))
	case emergency > 0:
		parts = append(parts, pipelines(emergency)+" in emergency")
	case severe > 0:
		parts = append(parts, pipelines(severe)+" severe")
	}
	parts = append(parts, blind...)
	switch {
	case len(parts) == 0:
		return "", dedup.TierUnknown
	case emergency > 0:
		tier = dedup.Emergency
	default:
		tier = dedup.Severe
	}
	return strings.Join(parts, "; "), tier
}

// bannerAddress leads from the banner to what it is about: the one pipeline that is severe or worse, the list of them, or,
// where there is none, the pipelines that are unknown because a source does not answer.
func bannerAddress(snap *dedup.Snapshot, verdicts []alerts.Verdict, base string) string {
	only := func(tiers ...dedup.Tier) string {
		var name string
		n := 0
		found := map[dedup.Tier]bool{}
		for i, v := range verdicts {
			if slices.Contains(tiers, v.Tier) {
				name, n = snap.Pipelines[i].Pipeline.Name, n+1
				found[v.Tier] = true
			}
		}
		switch n {
		case 0:
			return base + "/#sources"
		case 1:
			return base + "/pipelines/" + url.PathEscape(name)
		}
		q := overviewQuery{page: 1, sort: sortWorst, descending: true, tiers: slices.DeleteFunc(slices.Clone(tiers), func(t dedup.Tier) bool { return !found[t] })}
		return q.address(base)
	}
	for _, v := range verdicts {
		if v.Tier >= dedup.Severe {
			return only(dedup.Emergency, dedup.Severe)
		}
	}
	return only(dedup.TierUnknown)
}

// lostText names the brokers and the stores that do not answer, and since when.
func lostText(snap *dedup.Snapshot, now time.Time) []string {
	var brokers, stores []lostSource
	for i := range snap.Brokers {
		if b := &snap.Brokers[i]; lost(b.Health) {
			brokers = append(brokers, lostSource{b.Name, lostSince(b.Health)})
		}
	}
	for i := range snap.Stores {
		if st := &snap.Stores[i]; lost(st.Health) {
			stores = append(stores, lostSource{st.Name, lostSince(st.Health)})
		}
	}
	var out []string
	if len(brokers) > 0 {
		out = append(out, lostWords("broker", brokers, now))
	}
	if len(stores) > 0 {
		out = append(out, lostWords("store", stores, now))
	}
	return out
}

// lost reports whether a source was tried and does not answer.
func lost(h dedup.SourceHealth) bool { return h.Tried && !h.OK }

// lostSince is since when a source does not answer, as well as it is known.
func lostSince(h dedup.SourceHealth) time.Time {
	if h.Since.IsZero() {
		return h.LastTry
	}
	return h.Since
}

func lostWords(kind string, list []lostSource, now time.Time) string {
	first := list[0].since
	var names []string
	for i, l := range list {
		if l.since.Before(first) {
			first = l.since
		}
		if i < bannerNames {
			names = append(names, templates.Plain(l.name, nameLimit).Short)
		}
	}
	if len(list) == 1 {
		return kind + " " + names[0] + " " + unreachableSince(first, now)
	}
	text := counted(len(list), kind) + " " + unreachableSince(first, now) + ": "
	if more := len(list) - len(names); more > 0 {
		return text + strings.Join(names, ", ") + " and " + templates.Number(float64(more)) + " more"
	}
	return text + strings.Join(names, " and ")
}

func unreachableSince(at, now time.Time) string {
	if at.IsZero() {
		return "unreachable"
	}
	return "unreachable since " + moment(at, now).Text
}

func pipelines(n int) string { return counted(n, "pipeline") }

// counted writes a number of things: "1 broker", "2 brokers".
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return templates.Number(float64(n)) + " " + thing + "s"
}
