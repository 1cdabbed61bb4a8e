package codec

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"dedup-dashboard/lab/servers/serverstest"
)

// patterns draws key patterns over a small alphabet, so that keys often match.
var patterns = rapid.Custom(func(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", ":", "*", "?", "[ab]", "[^a]", "[a-c]", `\*`, `\a`, "[", "]", "[a-", "[^", `[\]b]`, "-", "^"}), 1, 6).Draw(t, "pattern"), "")
})

var keys = rapid.StringOfN(rapid.RuneFrom([]rune("abc:*[]-^")), 1, 6, -1)

func TestGlobsMatchAsRedisDoes(t *testing.T) {
	server := serverstest.Redis(t)
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { _ = rdb.Close() })
	rapid.Check(t, func(r *rapid.T) {
		pattern := patterns.Draw(r, "p")
		drawn := rapid.SliceOfN(keys, 1, 30).Draw(r, "keys")
		pipe := rdb.Pipeline()
		pipe.FlushDB(t.Context())
		for _, key := range drawn {
			pipe.Set(t.Context(), key, "", 0)
		}
		scan := pipe.Scan(t.Context(), 0, pattern, 1000)
		if _, err := pipe.Exec(t.Context()); err != nil {
			r.Fatal(err)
		}
		found, _ := scan.Val()
		theirs := map[string]bool{}
		for _, key := range found {
			theirs[key] = true
		}
		for _, key := range drawn {
			if ours := ParseGlob(pattern).Match(key); ours != theirs[key] {
				r.Fatalf("pattern %q, key %q: ours %v, Redis %v", pattern, key, ours, theirs[key])
			}
		}
	})
}

func TestAMergedGlobFindsWhatEitherFinds(t *testing.T) {
	if got := MergeGlobs(ParseGlob("msg:*"), ParseGlob("retry:*")); got != "[mr][es][gt][:r]*" {
		t.Errorf("merged: %s", got)
	}
	rapid.Check(t, func(r *rapid.T) {
		a, b, key := ParseGlob(patterns.Draw(r, "a")), ParseGlob(patterns.Draw(r, "b")), keys.Draw(r, "key")
		merged := ParseGlob(MergeGlobs(a, b))
		if (a.Match(key) || b.Match(key)) && !merged.Match(key) {
			r.Fatalf("%q and %q merge to %q, which misses %q", a.Text, b.Text, merged.Text, key)
		}
	})
}

func TestGlobsThatShareAKeyOverlapAndCoveringIsSound(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		a, b, key := ParseGlob(patterns.Draw(r, "a")), ParseGlob(patterns.Draw(r, "b")), keys.Draw(r, "key")
		if a.Match(key) && b.Match(key) && !a.Overlaps(b) {
			r.Fatalf("%q and %q both match %q", a.Text, b.Text, key)
		}
		if a.Overlaps(b) != b.Overlaps(a) {
			r.Fatalf("%q and %q overlap one way only", a.Text, b.Text)
		}
		if a.Covers(b) && b.Match(key) && !a.Match(key) {
			r.Fatalf("%q does not cover %q: %q", a.Text, b.Text, key)
		}
	})
	for _, pair := range [][2]string{{"msg:*", "retry:*"}, {"a?", "a"}, {"[ab]*", "c*"}, {"*x", "*y"}} {
		if ParseGlob(pair[0]).Overlaps(ParseGlob(pair[1])) {
			t.Errorf("%q do not overlap", pair)
		}
	}
}

func TestAHostileKeyDoesNotStallTheMatch(t *testing.T) {
	if ParseGlob("*a*a*a*a*a*b").Match(strings.Repeat("a", 1<<20)) {
		t.Error("matches")
	}
}
