package finding

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"dedup-dashboard/internal/collector/topology"
	"dedup-dashboard/internal/dedup"
)

// hostile is a name as an attacker would choose it; no finding may show it as it is.
const hostile = "<b>\x1b[31m\u202ex\n"

// A findingCase is one situation, named by a sentence that goes on from its kind, and what must be found in it.
type findingCase struct {
	kind, name string
	found      []dedup.Finding
	// tier of the finding of this kind; unknown means that there must be none.
	tier dedup.Tier
	// says are parts that its text and evidence must hold.
	says []string
}

const silent = dedup.TierUnknown

func findingCases() []findingCase {
	return slices.Concat(passCases(), storeCases(), idCases(), queueCases(), deadLetterCases(), topologyCases(), blockCases(), backlogCases(), recoveryCases(), schemeCases(), anewCases(), effectCases())
}

func TestFindings(t *testing.T) {
	for _, tt := range findingCases() {
		t.Run(tt.kind+" "+tt.name, func(t *testing.T) {
			var got []dedup.Finding
			for _, f := range tt.found {
				if f.Kind == tt.kind {
					got = append(got, f)
				}
			}
			if tt.tier == silent {
				if len(got) > 0 {
					t.Errorf("found %+v, want none", got)
				}
				return
			}
			if len(got) != 1 || got[0].Tier != tt.tier {
				t.Fatalf("found %+v, want one that is %s", got, tt.tier)
			}
			f := got[0]
			if f.Text == "" || f.Evidence == "" || f.Remedy == "" {
				t.Errorf("a finding without words: %+v", f)
			}
			for _, part := range tt.says {
				if !strings.Contains(f.Text+" | "+f.Evidence, part) {
					t.Errorf("%q | %q does not say %q", f.Text, f.Evidence, part)
				}
			}
			for _, s := range []string{f.Text, f.Evidence, f.Remedy} {
				// '.*' would let the watching account read: consume and purge.
				if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) || len(s) > 1500 || strings.Contains(s, ".*") {
					t.Errorf("not plain, or not safe: %q", s)
				}
			}
		})
	}
}

// TestEveryKindOfFindingIsTestedBothWays keeps anybody from adding a kind without a case in which it is found and one in
// which it must not be.
func TestEveryKindOfFindingIsTestedBothWays(t *testing.T) {
	page, err := os.ReadFile("../../../docs/findings.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|").FindAllStringSubmatch(string(page), -1) {
		documented[m[1]] = true
	}
	fires, quiet := map[string]bool{}, map[string]bool{}
	for _, c := range findingCases() {
		if !documented[c.kind] {
			t.Errorf("%q is tested and not documented", c.kind)
		}
		if c.tier == silent {
			quiet[c.kind] = true
		} else {
			fires[c.kind] = true
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(documented)) {
		if !fires[kind] {
			t.Errorf("no case finds %s", kind)
		}
		if !quiet[kind] {
			t.Errorf("no case in which %s must not be found", kind)
		}
	}
	if len(documented) < 25 {
		t.Errorf("only %d kinds are documented", len(documented))
	}
}

func TestNothingIsFoundInAbsentData(t *testing.T) {
	now := findingNow
	for what, got := range map[string][]dedup.Finding{
		"given up":       messagesGivenUp(nil, Growth{}, now),
		"failed":         failedAndAcked(nil, dedup.Scheme{OnFail: "ack"}, Growth{}, now),
		"expiry":         markersWithoutExpiry(nil, nackScheme),
		"hashes":         hashIDs(nil, "md5(body)"),
		"repeats":        repeatedKeys(nil),
		"collation":      idsTakenForOne(nil, nil),
		"length":         idsTooLong(nil, nil, "md5(body)"),
		"null ids":       nullIDs("s", nil),
		"null uncounted": nullIDs("s", &dedup.StoreFacts{}),
		"purge":          purgeNotRunning("s", nil, Growth{}),
		"waits":          lockWaits("s", nil, 0),
		"eviction":       evictionPossible("s", dedup.StoreHealth{}, nackScheme),
		"age":            windowTooShort(nackScheme, DeadLetterAge{}),
		"work":           ttlTooShort(SchemeUse{Scheme: nackScheme, Work: dedup.Unknown(dedup.Seconds, "not reported")}),
		"queues":         topology.NoExchange([]dedup.QueueRef{ref("a")}, nil, false),
		"topology":       topology.FanOut("s", nil, []dedup.QueueRef{ref("a")}, []dedup.QueueRef{ref("a"), ref("b")}),
		"loop":           LoopingMessages(Loop{Redeliveries: 1000}),
		"head":           HeadBlocked(Head{Capacity: 2, Redeliveries: 1000, Ready: 5, Unacked: 2}),
		"scheme":         slices.Concat(windowUnusual(dedup.Scheme{}), lockWithoutMarker(dedup.Scheme{}), blindScheme(dedup.Scheme{})),
	} {
		if len(got) > 0 {
			t.Errorf("%s: found %+v", what, got)
		}
	}
}

func ptr(n int64) *int64 { return &n }

var nackScheme = dedup.Scheme{Preset: "redis-text-status", Kind: "redis-string", Mark: "before", OnInFlight: "nack", OnFail: "delete",
	ProcessingTTL: 5 * time.Minute, DoneTTL: 24 * time.Hour, GiveUp: 5, States: []dedup.State{dedup.Processing, dedup.Done}}

func queue(name string, change func(*dedup.Queue)) dedup.Queue {
	q := dedup.Queue{QueueRef: dedup.QueueRef{Vhost: "/", Name: name}, Type: "classic", State: "running", Node: "n1", Durable: true,
		Messages: ptr(0), Ready: ptr(0), Unacked: ptr(0), Consumers: ptr(2)}
	if change != nil {
		change(&q)
	}
	return q
}

func ref(name string) dedup.QueueRef { return dedup.QueueRef{Vhost: "/", Name: name} }

// passWith is a complete pass over a thousand markers, changed.
func passWith(change func(*dedup.Pass)) *dedup.Pass {
	p := passAt(findingNow)
	p.Matched, p.States, p.NoExpiry = 1000, map[dedup.State]int64{}, map[dedup.State]int64{}
	change(p)
	p.GaveUp.Freeze()
	return p
}

// forever is a marker without expiry that was first seen an age ago.
func forever(state dedup.State, age time.Duration) dedup.Marker {
	return dedup.Marker{ID: "m1" + hostile, State: state, FirstSeen: findingNow.Add(-time.Minute - age)}
}
