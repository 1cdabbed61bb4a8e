package pipeline

import (
	"slices"
	"time"

	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/web/templates"
)

// howView tells how the duplicate rate of the judged window was found.
func howView(snap *dedup.Snapshot, p show.Judged, now time.Time) templates.How {
	w := show.JudgedWindow(p)
	v := templates.How{Pipeline: p.Pipeline.Name, Store: p.Pipeline.Store}
	listening := listens(snap, p.Pipeline.Store)
	if len(w.Estimates) == 0 {
		return v
	}
	uses := show.Uses(p, w)
	shown, check := "", ""
	st, stored := snap.Store(p.Pipeline.Store)
	for i, e := range w.Estimates {
		never := ""
		if stored && !e.Rate.Known() {
			never = st.Scheme.Refuses(e.Method)
		}
		if never != "" {
			e.Rate.Better = "" // no setting helps
		}
		row := howRow(p, e, uses[i], now)
		if never != "" {
			row.Why = show.Statement("never in this scheme: " + never)
		}
		v.Rows = append(v.Rows, row)
		v.Reports = v.Reports || e.Method == dedup.MethodReported && !e.Rate.Known() && e.Rate.Better != "" && show.ShortWhy(p.PipelineStatus, e.Rate.Why) == e.Rate.Why
		v.Listens = v.Listens || e.Method == dedup.MethodStoreEvents && !e.Rate.Known() && e.Rate.Better != "" && !listening
		if slices.Contains(uses[i], show.UseShown) {
			shown = lower(row.Source)
		}
		if slices.Contains(uses[i], show.UseCheck) {
			check = lower(row.Source)
		}
	}
	v.Line = howLine(w, shown, check, rule.Disputed(w, p.Pipeline.Limits))
	if shown == "" && (!stored || len(st.Scheme.RateSources()) == 0) {
		v.Line += "; this pipeline can have no rate unless its consumers report"
	}
	return v
}

// listens reports whether the events of a store come already, so that nobody needs to be told how to enable them.
func listens(snap *dedup.Snapshot, store string) bool {
	st, ok := snap.Store(store)
	return ok && st.Stats.Events != nil && st.Stats.Events.Listening
}

func howRow(p show.Judged, e dedup.Estimate, uses []string, now time.Time) templates.HowRow {
	source, counts := show.MethodWords(e.Method)
	f := show.Blameless(e.Rate)
	row := templates.HowRow{
		Source: source, Counts: counts, Figure: show.PipelineFigure(p.PipelineStatus, f, show.UseRefused, now), Age: show.Since(f.At, now), Uses: uses,
	}
	if f.N > 0 {
		row.N = templates.Number(f.N)
	}
	if f.Known() {
		return row
	}
	if within := show.Bounds(f); within != "" {
		row.Figure.Text = within
	}
	row.Why = show.Statement(show.ShortWhy(p.PipelineStatus, f.Why))
	if f.Better != "" {
		row.Better = show.Statement(f.Better)
	}
	return row
}

func howLine(w *dedup.WindowFigures, shown, check string, disputed bool) string {
	refused := 0
	for _, e := range w.Estimates {
		if !e.Rate.Known() {
			refused++
		}
	}
	switch {
	case shown == "":
		return "How this rate is found: each of " + show.Counted(len(w.Estimates), "source") + " refuses, and says why"
	case disputed:
		return "How this rate was found: by " + shown + ", disputed by " + check
	case check != "":
		return "How this rate was found: by " + shown + ", cross-checked by " + check
	case refused > 0:
		return "How this rate was found: by " + shown + "; " + show.Counted(refused, "other source") + " " + show.Plural(refused, "refuses", "refuse")
	}
	return "How this rate was found: by " + shown
}

// lower begins a word in the middle of a sentence.
func lower(s string) string {
	if s == "" {
		return s
	}
	return string(s[0]|0x20) + s[1:]
}
