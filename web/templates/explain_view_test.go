package templates

import (
	"strings"
	"testing"
)

func TestLinesToCopyHoldNamesWholeAndQuoted(t *testing.T) {
	long := strings.Repeat("orders-", 20) + "v2"
	for _, tt := range []struct{ name, quoted string }{
		{"orders", `"orders"`},
		{"null", `"null"`}, // which YAML takes for nothing
		{long, `"` + long + `"`},
		{"a: b #1\n\u202e", `"a: b #1\n\u202e"`},
	} {
		if got := listenSnippet(tt.name); !strings.Contains(got, "  - name: "+tt.quoted+"\n    events: true") {
			t.Errorf("%q: %s", tt.name, got)
		}
		if got, want := reportSnippet(tt.name), `hincrby("dedupstats:`+tt.quoted[1:]+`, outcome, 1)`; !strings.Contains(got, want) {
			t.Errorf("%q: %s", tt.name, got)
		}
	}
}
