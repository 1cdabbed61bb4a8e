package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/kinds"
)

// sampleKeys is how many markers of each store are decoded and shown.
const sampleKeys = 20

func readStore(ctx context.Context, cfg markers.Config, log *slog.Logger) (markers.Report, error) {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	store, err := kinds.Open(cfg, log)
	if err != nil {
		return markers.Report{}, err
	}
	defer store.Close()
	return store.Check(ctx, sampleKeys)
}

// A storeReport is what a look at a store found, with the words of its kind.
type storeReport struct {
	cfg     markers.Config
	report  markers.Report
	samples []dedup.Marker
	// undecoded counts the samples that could not be decoded.
	undecoded int
}

func newStoreReport(cfg markers.Config, r markers.Report) storeReport {
	c := storeReport{cfg: cfg, report: r, samples: r.Examples(sampleKeys)}
	for _, m := range c.samples {
		if m.State == dedup.StateUnknown {
			c.undecoded++
		}
	}
	return c
}

// inTable says whether the markers are rows.
func (c storeReport) inTable() bool { return c.cfg.Table != "" }

// printStore reports what a store holds: its server, missing rights, markers by state and a sample of decoded markers. Its
// error says what must be fixed before the store can be watched.
func printStore(w io.Writer, cfg markers.Config, r markers.Report) error {
	c := newStoreReport(cfg, r)
	fmt.Fprintf(w, "\nstore %s: preset %s, %s\n", cfg.Name, orNone(cfg.Preset), orNone(r.Server))
	if len(r.Missing) > 0 {
		fmt.Fprintf(w, "  PROBLEM the account lacks rights; grant: %s\n", strings.Join(r.Missing, " "))
		if len(r.Untried) > 0 {
			fmt.Fprintf(w, "    and run check again: only then it shows whether these are granted: %s\n", strings.Join(r.Untried, " "))
		}
		return errors.New("the account lacks rights")
	}
	for _, f := range r.Findings {
		if f.Kind == "table_missing" || f.Kind == "column_missing" {
			fmt.Fprintf(w, "  PROBLEM %s: %s\n    %s\n    fix: %s\n", f.Kind, f.Text, f.Evidence, f.Remedy)
			return errors.New(f.Kind)
		}
	}
	c.printExtent(w)
	if r.Events != "" {
		fmt.Fprintf(w, "  EVENTS %s\n", r.Events)
	}
	c.printStates(w)
	err := c.printMapping(w)
	for _, f := range r.Findings {
		label := "FINDING"
		switch f.Kind {
		case "no_markers", "markers_undecodable":
			continue // printMapping has said so
		case "processing_outlives_ttl", "times_in_the_future":
			// The configuration describes the markers otherwise than they are.
			label, err = "PROBLEM", errors.Join(err, errors.New(f.Kind))
		}
		fmt.Fprintf(w, "  %s %s: %s (%s)\n    fix: %s\n", label, f.Kind, f.Text, f.Evidence, f.Remedy)
	}
	printSamples(w, c.samples)
	return err
}

// printSharers notes that store events may not tell a rate: they do not while other stores on the server are asked by the same command. It knows
// servers by their address; the running dashboard by what they call themselves, and by their counts.
func printSharers(w io.Writer, cfg markers.Config, all []markers.Config) {
	sharers := kinds.CommandSharers(cfg, all)
	if !cfg.Events || len(sharers) == 0 || cfg.Scheme().Refuses(dedup.MethodStoreEvents) != "" {
		return
	}
	noun := "store"
	if len(sharers) > 1 {
		noun = "stores"
	}
	fmt.Fprintf(w, "  NOTE store events may not tell a duplicate rate while several are in use: the server counts the calls of %s together with those for %s %s\n", cfg.Ask, noun, strings.Join(sharers, ", "))
	fmt.Fprintf(w, "    fix: give the store a Redis server of its own, or let its consumers ask with a command that nobody else uses there\n")
}

// printExtent says how much there is and how much of it was looked at.
func (c storeReport) printExtent(w io.Writer) {
	r := c.report
	if c.inTable() {
		fmt.Fprintf(w, "  table %s: about %s, %.0f %% of them looked at, %s with an id\n",
			orNone(c.cfg.Table), amount(r.Keys, "row"), r.Coverage*100, amount(r.Pass.Matched, "row"))
	} else {
		fmt.Fprintf(w, "  %s in the database, %.0f %% of them looked at; match %q finds %s\n",
			amount(r.Keys, "key"), r.Coverage*100, c.cfg.Match, amount(r.Pass.Matched, "marker"))
	}
	if p := r.Pass; p.Misfits > 0 && p.Matched > 0 {
		fmt.Fprintf(w, "  NOTE %s `match` and `id` does not fit (e.g. %s): no marker is taken from there; list what is not yours under exclude\n", matching(p.Misfits), p.Misfit)
	}
	for _, y := range c.cfg.Yields {
		fmt.Fprintf(w, "  leaves to store %s what its %s finds, which is more specific\n", y.To, y.Claim)
	}
	if r.Blind != "" {
		fmt.Fprintf(w, "  NOTE no stuck marker here proves nothing: %s\n", r.Blind)
	}
}

// printStates counts the markers by state. What was counted by its life alone is an assumption where the sample does not
// bear it out.
func (c storeReport) printStates(w io.Writer) {
	r := c.report
	for _, state := range dedup.States() {
		n := r.Pass.States[state]
		if n == 0 {
			continue
		}
		assumed := int64(0)
		if state == r.LifeState && c.undecoded > 0 {
			assumed = r.ByLife
		}
		if n -= assumed; n > 0 {
			fmt.Fprintf(w, "  %-10s %d%s\n", state, n, withoutExpiry(r.Pass.NoExpiry[state]))
		}
		if assumed > 0 {
			fmt.Fprintf(w, "  %-10s %d assumed %s from their expiry alone, which is later than ttl.processing allows\n", "unread", assumed, state)
		}
	}
}

// printMapping says whether the configuration describes the markers: the decoded sample is the truth, whatever was
// counted.
func (c storeReport) printMapping(w io.Writer) error {
	r := c.report
	odd := r.Pass.States[dedup.StateUnknown]
	switch {
	case r.Pass.Unfit():
		c.printUnfit(w)
		return errors.New("id fits no key")
	case r.Pass.Matched == 0 && r.Keys == 0:
		fmt.Fprintf(w, "  NOTE the store is empty: whether the mapping is right cannot be told yet\n")
		return nil
	case r.Pass.Matched == 0 && c.inTable():
		fmt.Fprintf(w, "  PROBLEM no row has an id; compare columns.id with the table\n")
		return errors.New("no marker found")
	case r.Pass.Matched == 0:
		fmt.Fprintf(w, "  PROBLEM no key matches; compare match %q with the keys that your consumers write\n", c.cfg.Match)
		return errors.New("no marker found")
	case c.undecoded == 0 && odd == 0:
		return nil
	}
	sampled := fmt.Sprintf("%d of %d samples cannot be decoded", c.undecoded, len(c.samples))
	verdict := "the mapping is incomplete: "
	if c.undecoded == len(c.samples) {
		verdict = "the mapping is wrong: "
	}
	fmt.Fprintf(w, "  PROBLEM %s%s\n", verdict, sampled)
	c.printRemedy(w)
	return errors.New(verdict + sampled)
}

// printUnfit says that the keys are there and hold no id as it is written, with the line that would take one out of them.
func (c storeReport) printUnfit(w io.Writer) {
	p := c.report.Pass
	fmt.Fprintf(w, "  PROBLEM %s `match` (%q), but `id` (%q) fits none of them (e.g. %s)\n", matching(p.Misfits), c.cfg.Match, c.cfg.ID, p.Misfit)
	if prefix, star := strings.CutSuffix(c.cfg.Match, "*"); star && prefix != "" && !strings.ContainsAny(prefix, `*?[\`) {
		fmt.Fprintf(w, "    fix: if the id is what follows %q, leave id out in store %s, or write: id: %q\n", prefix, c.cfg.Name, "^"+regexp.QuoteMeta(prefix)+"(.+)$")
	}
}

func matching(keys int64) string {
	if keys == 1 {
		return "1 key matches"
	}
	return strconv.FormatInt(keys, 10) + " keys match"
}

// printRemedy names the values that no state lists, and the lines of the configuration that would map them.
func (c storeReport) printRemedy(w io.Writer) {
	const most = 8
	var seen []string
	for _, u := range c.report.Unmapped {
		if len(seen) == most {
			seen = append(seen, "…")
			break
		}
		seen = append(seen, fmt.Sprintf("%s (%d)", shortQuote(u.Status), u.Count))
	}
	if len(seen) > 0 {
		fmt.Fprintf(w, "    values seen in the samples: %s\n", strings.Join(seen, ", "))
	}
	if c.report.Fits != "" {
		fmt.Fprintf(w, "    fix: preset %s decodes every sample; if your consumers work as it says (docs/stores.md), write in store %s, in place of what stands there:\n",
			c.report.Fits, c.cfg.Name)
		for _, line := range c.report.Remedy {
			fmt.Fprintf(w, "      %s\n", line)
		}
		return
	}
	if hint := c.cfg.Hint(c.report.Unmapped); hint != "" {
		fmt.Fprintf(w, "    fix: %s\n", hint)
	}
	if len(c.report.Remedy) == 0 {
		return
	}
	fmt.Fprintf(w, "    fix: if these words mean what they seem to mean, write in store %s:\n", c.cfg.Name)
	for _, line := range c.report.Remedy {
		fmt.Fprintf(w, "      %s\n", line)
	}
}

// shortQuote shows a value on one line; a longer one is a payload rather than a status.
func shortQuote(text string) string {
	const most = 80
	if len(text) > most {
		return fmt.Sprintf("a value of %d bytes", len(text))
	}
	return strconv.Quote(text)
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
	t := tabwriter.NewWriter(w, 2, 4, 2, ' ', 0) // aligns columns, once it is flushed
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
