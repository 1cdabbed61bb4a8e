package markers

import (
	"slices"

	"dedup-dashboard/internal/dedup"
)

// A Report is what Check found in a store, so that a mapping can be trusted before it is used.
type Report struct {
	// Server is the version and role, as in "redis 7.0.15, master".
	Server string
	// Keys is the number of keys in the database, of this store or not.
	Keys int64
	// Pass counts what was seen; Coverage is the share of the database that it covers, 0..1.
	Pass     dedup.Pass
	Coverage float64
	// ByLife are the markers of Pass that were counted under LifeState by how long they live, without their value being read.
	ByLife    int64
	LifeState dedup.State
	// Samples are markers as they were decoded: what they say goes before what Pass counts.
	Samples []dedup.Marker
	// Unmapped are the statuses of sampled markers that no state lists, the most frequent first, and Remedy the lines of the
	// store's entry in the configuration that would map them, as far as their meaning can be guessed.
	Unmapped []Unmapped
	Remedy   []string
	// Fits is the preset that decodes the whole sample where the configured one does not; Remedy are then the lines that choose it.
	Fits string
	// Missing are the ACL rules to grant: "+pexpiretime", "%R~msg:*". Untried are those that can be tried only once the missing ones are granted.
	Missing, Untried []string
	// Blind says why no stuck marker proves nothing in this scheme; empty where a stuck marker shows.
	Blind string
	// Events says whether the store's notifications can be followed; empty where that was not asked for.
	Events string
	// Findings are hazards of the server or of the mapping.
	Findings []dedup.Finding
}

// Examples returns at most n markers of the sample, with those that tell most in front: some that are in flight and some
// that could not be decoded. A sample of a healthy store holds neither.
func (r Report) Examples(n int) []dedup.Marker {
	oldest, odd := r.Pass.OldestProcessing, r.Pass.Undecodable
	all := slices.Concat(oldest[:min(examplesFirst, len(oldest))], odd[:min(examplesFirst, len(odd))], r.Samples)
	seen := map[string]bool{}
	all = slices.DeleteFunc(all, func(m dedup.Marker) bool {
		double := seen[m.Key] && m.Key != ""
		seen[m.Key] = true
		return double
	})
	return all[:min(len(all), n)]
}

// examplesFirst is how many markers of each kind that tells much go before the others of a sample.
const examplesFirst = 5
