package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
)

// printStore reports what a store holds: its server, missing rights, markers by state and a sample of decoded keys.
func printStore(w io.Writer, cfg markers.Config, r markers.Report) {
	fmt.Fprintf(w, "\nstore %s: preset %s, %s\n", cfg.Name, orNone(cfg.Preset), orNone(r.Server))
	if len(r.Missing) > 0 {
		fmt.Fprintf(w, "  PROBLEM the account lacks rights; grant: %s\n", strings.Join(r.Missing, " "))
		return
	}
	fmt.Fprintf(w, "  keys: %d in the database, %.0f %% of it looked at, %d match %q\n", r.Keys, r.Coverage*100, r.Pass.Matched, cfg.Match)
	for _, y := range cfg.Yields {
		fmt.Fprintf(w, "  leaves to store %s what its %s finds, which is more specific\n", y.To, y.Claim)
	}
	if r.Blind != "" {
		fmt.Fprintf(w, "  NOTE no stuck marker here proves nothing: %s\n", r.Blind)
	}
	for _, state := range dedup.States() {
		if n := r.Pass.States[state]; n > 0 {
			fmt.Fprintf(w, "  %-10s %d%s\n", state, n, withoutExpiry(r.Pass.NoExpiry[state]))
		}
	}
	if r.Pass.Matched == 0 {
		fmt.Fprintf(w, "  PROBLEM no key matches; compare match %q with the keys that your consumers write\n", cfg.Match)
	}
	if n := r.Pass.States[dedup.StateUnknown]; n > 0 {
		fmt.Fprintf(w, "  PROBLEM %d markers could not be decoded; the mapping may be wrong\n", n)
	}
	for _, f := range r.Findings {
		fmt.Fprintf(w, "  FINDING %s: %s\n    mend: %s\n", f.Kind, f.Text, f.Mend)
	}
	printSamples(w, telling(r))
}

// telling returns the sample with the markers that tell most in front: some that are in flight and some that could not
// be decoded. A sample of a healthy store holds neither.
func telling(r markers.Report) []dedup.Marker {
	const most = 5
	oldest, odd := r.Pass.OldestProcessing, r.Pass.Undecodable
	all := slices.Concat(oldest[:min(most, len(oldest))], odd[:min(most, len(odd))], r.Samples)
	seen := map[string]bool{}
	all = slices.DeleteFunc(all, func(m dedup.Marker) bool {
		double := seen[m.Key] && m.Key != ""
		seen[m.Key] = true
		return double
	})
	return all[:min(len(all), sampleKeys)]
}

func withoutExpiry(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d without expiry)", n)
}

func printSamples(w io.Writer, samples []dedup.Marker) {
	if len(samples) == 0 {
		return
	}
	t := table(w)
	fmt.Fprintf(t, "  id\tstate\tsince\texpires\t\n")
	for _, m := range samples {
		detail := m.Detail
		if m.Sample != "" {
			detail += ": " + m.Sample
		}
		if m.Owner != "" {
			detail = strings.TrimSpace("held by " + m.Owner + " " + detail)
		}
		fmt.Fprintf(t, "  %q\t%s\t%s\t%s\t%s\n", m.ID, m.State, at(m.Since, "unknown"), at(m.Expires, "never"), detail)
	}
	_ = t.Flush()
}

func at(t time.Time, zero string) string {
	if t.IsZero() {
		return zero
	}
	return t.UTC().Format(time.RFC3339)
}
