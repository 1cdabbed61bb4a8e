package finding

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
	"dedup-dashboard/internal/text"
)

// hashIDs finds ids that are made from the body: two messages with equal bodies are then one.
func hashIDs(p *dedup.Pass, idFrom string) []dedup.Finding {
	const enough, share = 50, 0.2
	if p == nil || p.Matched < enough || float64(p.HashIDs) < share*float64(p.Matched) || (!hashesBodies(idFrom) && onlyUUIDs(p)) {
		return nil
	}
	return []dedup.Finding{{
		Kind: "hash_ids", Tier: dedup.Warning,
		Text:     "Ids look like hashes of the body: of two different messages with equal bodies the second is skipped",
		Evidence: fmt.Sprintf("%.0f %% of %s are 32 hex digits, as md5(body) makes them", 100*float64(p.HashIDs)/float64(p.Matched), text.Counted(p.Matched, "id")),
		Remedy:   "Let publishers set message_id, and refuse messages without one.",
	}}
}

// hashesBodies reports whether consumers take the hash of the body for the id, if only where there is no other.
func hashesBodies(idFrom string) bool {
	source, err := message.ParseIDSource(idFrom)
	return err == nil && source.FromBody() // the configuration admits none that cannot be parsed
}

var (
	hexDigits = regexp.MustCompile(`^[0-9a-f]{32}$`)
	// A UUID of version 4 or 7 written without dashes; of 64 hashes about two look like one.
	bareUUID = regexp.MustCompile(`^[0-9a-f]{12}[47][0-9a-f]{3}[89ab][0-9a-f]{15}$`)
	// Ids of a fixed length fill their column and are no longer than it: UUIDs, hashes in hex, ULIDs.
	fixedLength = regexp.MustCompile(`^(?i:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{128}|[0-9A-HJKMNP-TV-Z]{26})$`)
)

// onlyUUIDs reports whether every listed id of 32 hex digits is a UUID, and there is one.
func onlyUUIDs(p *dedup.Pass) bool {
	n := 0
	for _, id := range sampleIDs(p) {
		if !hexDigits.MatchString(id) {
			continue
		}
		if !bareUUID.MatchString(id) {
			return false
		}
		n++
	}
	return n > 0
}

// sampleIDs are the ids that a pass keeps, of whatever marker.
func sampleIDs(p *dedup.Pass) []string {
	all := []string{p.LongID}
	for _, list := range [][]dedup.Marker{p.OldestProcessing, p.FailedMarkers, p.Permanent, p.GaveUpMarkers} {
		all = append(all, ids(list)...)
	}
	return all
}

// repeatedKeys finds business keys that several messages carry: a producer that sends again under a new id gets past the
// dedup. When most keys do, they name something that has several messages, and nothing is wrong.
func repeatedKeys(p *dedup.Pass) []dedup.Finding {
	// seen is how many of the last rows a pass compares, common the share from which on it is how keys are used.
	const seen, common = 100_000, 0.2
	if p == nil || p.RepeatedKeys == 0 {
		return nil
	}
	f := dedup.Finding{
		Kind: "business_key_repeated", Tier: dedup.Warning,
		Text: fmt.Sprintf("%s %s several message ids: a message that is sent again under a new id is processed twice",
			text.Counted(p.RepeatedKeys, "business key"), text.Agree(p.RepeatedKeys, "has", "have")),
		Remedy: "Compare the messages of one key. If they are the same work, give a resent message the id of the first one, or take the id from the business key.",
	}
	if float64(p.RepeatedKeys) >= common*float64(min(p.Matched, seen)) {
		f.Tier = dedup.Normal
		f.Text += "; so many have that the key may well name something with several messages"
	}
	var some []string
	for _, r := range p.Repeated {
		some = append(some, fmt.Sprintf("%s (%s)", text.Plain(r.BusinessKey, 60), text.Counted(r.Count, "id")))
	}
	f.Evidence = "counted among the last rows of the table"
	if len(some) > 0 {
		f.Evidence += "; keys, for example: " + text.SomeNames(some)
	}
	return []dedup.Finding{f}
}

// idsTakenForOne finds an id column in which abc and ABC are one id. It matters where ids are written in both cases, and loses messages
// once the id of one has found the row of another.
func idsTakenForOne(p *dedup.Pass, facts *dedup.StoreFacts) []dedup.Finding {
	if facts == nil {
		return nil
	}
	differ, met := inWords(facts.IDIgnores), metIgnored(p, facts)
	if differ == "" && met == "" && facts.TwoIDs == nil {
		return nil
	}
	f := dedup.Finding{
		Kind: "id_case_insensitive", Tier: dedup.Normal,
		Text:     fmt.Sprintf("The id column takes ids that differ in %s for one: the second of such messages is skipped", cmp.Or(differ, met, "how they are written")),
		Evidence: "collation " + text.Name(cmp.Or(facts.Collation, "none")),
		Remedy:   "Give the column a binary collation, such as utf8mb4_bin; ids of digits and lower case alone are safe meanwhile.",
	}
	if met != "" {
		f.Tier = dedup.Warning
		f.Evidence += "; its ids may differ in " + met + " alone"
		if p.IDInBoth != "" {
			f.Evidence += ": one has letters in the other case than ids before it, " + text.Name(p.IDInBoth)
		}
	}
	if two := facts.TwoIDs; two != nil {
		f.Tier = dedup.Severe
		f.Evidence += fmt.Sprintf("; message %s was looked up at %s UTC, and consumers find the row of %s", text.Name(two.Asked), two.At.UTC().Format("15:04:05"), text.Name(two.Row))
		if two.MayBeOwn {
			f.Tier = dedup.Warning
			f.Evidence += ", which may be its own: the column cannot keep its id as it is"
		}
	}
	return []dedup.Finding{f}
}

// metIgnored names in what ids of the table may differ alone that the column ignores; empty where none does.
func metIgnored(p *dedup.Pass, facts *dedup.StoreFacts) string {
	if p == nil {
		return ""
	}
	var words []string
	for _, d := range facts.IDIgnores {
		if slices.Contains(p.IDsDiffer, d) {
			words = append(words, string(d))
		}
	}
	return strings.Join(words, ", ")
}

// Conflated says why a message may have been skipped for the row of another one, which looks like a duplicate to everything but the
// consumers' own effects; empty where nothing shows it.
func Conflated(p *dedup.Pass, facts *dedup.StoreFacts, idFrom string) string {
	const another = "a message whose id found the row of another one counts as a duplicate"
	if facts == nil {
		return ""
	}
	if facts.TwoIDs != nil {
		return "an id that was looked up found the row of another: " + another
	}
	if p == nil && inWords(facts.IDIgnores) != "" {
		return "the table was not walked through yet, and its id column ignores " + inWords(facts.IDIgnores) + ": " + another
	}
	if met := metIgnored(p, facts); met != "" {
		return "ids of the table may differ in " + met + " alone, which its column ignores: " + another
	}
	if len(idsTooLong(p, facts, idFrom)) > 0 {
		return "ids fill their column, which may have cut them: " + another
	}
	return ""
}

// inWords names differences that ids may have: nearly every collation of MySQL ignores trailing blanks, and hardly an id has any.
func inWords(ignores []dedup.IDDifference) string {
	var words []string
	for _, d := range ignores {
		if d != dedup.BlanksDiffer {
			words = append(words, string(d))
		}
	}
	return strings.Join(words, ", ")
}

// idsTooLong finds ids that fill their column: longer ones are cut, or refused again and again.
func idsTooLong(p *dedup.Pass, facts *dedup.StoreFacts, idFrom string) []dedup.Finding {
	const md5Length = 32
	if facts == nil || facts.IDLength <= 0 {
		return nil
	}
	f := dedup.Finding{
		Kind: "id_too_long", Tier: dedup.Warning,
		Text:   "Ids are as long as their column allows: a longer one is cut to another message's id, or refused at each delivery",
		Remedy: "Widen the id column.",
	}
	switch {
	case hashesBodies(idFrom) && facts.IDLength < md5Length:
		f.Tier = dedup.Severe
		f.Text = "The id column is too short for ids that are hashes of the body: they are cut to another message's id, or refused at each delivery"
		f.Evidence = fmt.Sprintf("the column holds %s, md5(body) has %d", text.Counted(facts.IDLength, "character"), md5Length)
	case p != nil && p.LongestID >= facts.IDLength && !fixedLength.MatchString(p.LongID):
		f.Evidence = fmt.Sprintf("the longest id has %s, the column holds %s", text.Counted(p.LongestID, "character"), text.Grouped(facts.IDLength))
		if p.LongID != "" {
			f.Evidence += ": " + text.Name(p.LongID)
		}
	default:
		return nil
	}
	return []dedup.Finding{f}
}

// nullIDs finds rows without an id.
func nullIDs(store string, facts *dedup.StoreFacts) []dedup.Finding {
	if facts == nil || facts.NullIDs == nil || *facts.NullIDs == 0 {
		return nil
	}
	n := *facts.NullIDs
	return []dedup.Finding{{
		Kind: "null_ids", Tier: dedup.Warning,
		Text:     fmt.Sprintf("%s of store %s %s no id: a unique key admits any number of them, so their messages are not deduplicated", text.Counted(n, "row"), text.Name(store), text.Agree(n, "has", "have")),
		Evidence: "counted in the last complete pass",
		Remedy:   "Find the publisher that leaves the id out, give the old rows one, and declare the column NOT NULL.",
	}}
}
