package server

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/web/templates"
)

// bannerNames is how many lost sources the banner names; the rest is counted.
const bannerNames = 2

// lostSource is a broker or store that does not answer.
type lostSource struct {
	name  string
	since time.Time
}

// banner says the worst of the whole in one or two sentences: pipelines that are severe or worse, brokers and stores that do not
// answer, and rounds that do not end. What cannot be seen is severe: a total outage must not look calm. Both are empty
// when there is nothing of it.
func banner(snap *dedup.Snapshot, verdicts []alerts.Verdict, now time.Time) (text string, tier dedup.Tier) {
	counts := map[dedup.Tier]int{}
	for _, v := range verdicts {
		counts[v.Tier]++
	}
	blind := blindText(snap, now)
	if unknown := counts[dedup.TierUnknown]; len(blind) > 0 && unknown > 0 {
		blind = append(blind, show.Pipelines(unknown)+" unknown")
	}
	emergency, severe := counts[dedup.Emergency], counts[dedup.Severe]
	switch {
	case emergency > 0 && severe > 0:
		text = fmt.Sprintf("%s in emergency, %d severe", show.Pipelines(emergency), severe)
	case emergency > 0:
		text = show.Pipelines(emergency) + " in emergency"
	case severe > 0:
		text = show.Pipelines(severe) + " severe"
	}
	if text != "" {
		shares := judgedBy(snap, verdicts)
		if emergency > 0 && severe > 0 {
			text += show.OfThese(emergency+severe, shares)
		} else {
			text += show.OfThem(shares)
		}
	}
	text = withBlind(text, blind, blindFirst(snap, now))
	switch {
	case text == "":
		return "", dedup.TierUnknown
	case emergency > 0:
		tier = dedup.Emergency
	default:
		tier = dedup.Severe
	}
	return text, tier
}

// blindText says what cannot be seen: everything while rounds do not end, else brokers and stores that do not answer.
func blindText(snap *dedup.Snapshot, now time.Time) []string {
	if show.Late(snap, now) != "" {
		return []string{"no reading since " + show.Moment(snap.At, now).Text}
	}
	return lostText(snap, now)
}

// blindFirst reports whether what cannot be seen is what is wrong first: without a broker, or without rounds, the tiers that are shown
// are of before or of a part.
func blindFirst(snap *dedup.Snapshot, now time.Time) bool {
	return show.Late(snap, now) != "" || slices.ContainsFunc(snap.Brokers, func(b dedup.BrokerStatus) bool { return show.IsLost(b.Health) })
}

// withBlind joins what is wrong and what cannot be seen.
func withBlind(text string, blind []string, first bool) string {
	unseen := strings.Join(blind, "; ")
	switch {
	case text == "" || unseen == "":
		return text + unseen
	case first:
		return unseen + ". " + text
	}
	return text + "; " + unseen
}

// judgedBy says of the pipelines that are severe or worse, and of which a source is down, what their tiers rest on.
func judgedBy(snap *dedup.Snapshot, verdicts []alerts.Verdict) []show.Share {
	var before, rest int
	for i, v := range verdicts {
		switch {
		case v.Tier < dedup.Severe || len(snap.Pipelines[i].Down) == 0:
		case v.Alert != nil && v.Alert.Stale():
			before++
		default:
			rest++
		}
	}
	return []show.Share{{N: before, Word: " as last judged"}, {N: rest, Word: " by what still answers"}}
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
		q := url.Values{}
		for _, t := range tiers {
			if found[t] {
				q.Add("tier", t.String())
			}
		}
		return base + "/?" + q.Encode()
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
		if b := &snap.Brokers[i]; show.IsLost(b.Health) {
			brokers = append(brokers, lostSource{b.Name, show.LostSince(b.Health)})
		}
	}
	for i := range snap.Stores {
		if st := &snap.Stores[i]; show.IsLost(st.Health) {
			stores = append(stores, lostSource{st.Name, show.LostSince(st.Health)})
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

func lostWords(kind string, list []lostSource, now time.Time) string {
	first := list[0].since
	var names []string
	for i, l := range list {
		if l.since.Before(first) {
			first = l.since
		}
		if i < bannerNames {
			names = append(names, show.ShortName(l.name))
		}
	}
	if len(list) == 1 {
		return kind + " " + names[0] + " " + show.UnreachableSince(first, now)
	}
	text := show.Counted(len(list), kind) + " " + show.UnreachableSince(first, now) + ": "
	if more := len(list) - len(names); more > 0 {
		return text + strings.Join(names, ", ") + " and " + templates.Number(more) + " more"
	}
	return text + strings.Join(names, " and ")
}
