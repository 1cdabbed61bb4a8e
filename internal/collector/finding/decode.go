package finding

import (
	"fmt"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// undecodable finds markers whose state nobody can tell: each may be in progress, stuck or done. When nearly all values
// that were read are such, the configuration is wrong rather than the markers. No value is quoted: it may be a payload.
func undecodable(store string, p *dedup.Pass) []dedup.Finding {
	// few is the number up to which even all values may be strays, and nearlyAll the share from which on the mapping is
	// wrong.
	const few, nearlyAll = 1, 0.9
	if p == nil || p.States[dedup.StateUnknown] == 0 {
		return nil
	}
	n := p.States[dedup.StateUnknown]
	read := max(n, valuesDecoded(p))
	f := dedup.Finding{
		Kind: "markers_undecodable", Tier: dedup.Warning,
		Text: fmt.Sprintf("%s of store %s cannot be decoded: nobody can tell whether %s in progress, stuck or done",
			text.Counted(n, "marker"), text.Name(store), text.Agree(n, "it is", "they are")),
		Evidence: fmt.Sprintf("%s of the %s that %s read in the last complete pass; a sample is in the list unknown of the pipeline's markers",
			text.Grouped(n), text.Counted(read, "value"), text.Agree(read, "was", "were")),
		Remedy: "Run dashboard check: it decodes a sample. Exclude under exclude of the store what belongs to somebody else; " +
			"correct preset, value, columns.status or states for the rest.",
	}
	if n > few && float64(n) >= nearlyAll*float64(read) {
		f.Tier = dedup.Severe
		f.Text += "; the mapping is probably wrong"
		f.Remedy = "Run dashboard check: it decodes a sample. Correct preset, value, columns.status or states of the store to what the consumers write. " +
			"Until then the counts of processing and stuck markers prove nothing."
	}
	return []dedup.Finding{f}
}

// Unfit says that no marker of a store is known although it has keys; empty where the keys have ids, or there are none. No key
// is quoted: it may hold what viewers must not see.
func Unfit(store string, p *dedup.Pass) string {
	if !p.Unfit() {
		return ""
	}
	return fmt.Sprintf("%s of store %s %s match, but id fits none of them", text.Counted(p.Misfits, "key"), text.Name(store), text.Agree(p.Misfits, "is found by", "are found by"))
}

// IDMisfits finds a store whose id expression is not for the keys that match finds. A single key may be a stray.
func IDMisfits(store string, p *dedup.Pass) []dedup.Finding {
	why := Unfit(store, p)
	if why == "" {
		return nil
	}
	f := dedup.Finding{
		Kind: "markers_without_id", Tier: dedup.Severe, Text: why + ": no marker of it is known, in no state",
		Evidence: text.Counted(p.Misfits, "key") + " in the last complete pass, from none of which the id expression of the store takes a message id",
		Remedy: "Run dashboard check, which names one of the keys. Correct id of the store, or leave it out: it follows from a match that is " +
			"text and a star at its end.",
	}
	if p.Misfits == 1 {
		f.Tier = dedup.Warning
	}
	return []dedup.Finding{f}
}

// valuesDecoded is how many markers were decoded by their values, in vain or not. Where reading disturbs, most done
// markers are told by what is left of their lives, which proves nothing of the mapping. Retry counters are no markers.
func valuesDecoded(p *dedup.Pass) int64 {
	if p.ValuesRead == 0 {
		return p.Matched
	}
	return p.ValuesRead - p.Retrying - p.GaveUp.Total() - p.UndatedGaveUp
}
