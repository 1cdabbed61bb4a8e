package metrics

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
)

func TestShortSpanReadsAsPeopleWriteIt(t *testing.T) {
	for d, want := range map[time.Duration]string{
		5 * time.Minute: "5m", 15 * time.Minute: "15m", time.Hour: "1h", 24 * time.Hour: "24h", 10 * time.Second: "10s", 90 * time.Minute: "1h30m", 0: "0s",
	} {
		if got := shortSpan(d); got != want {
			t.Errorf("%v is %q, expected %q", d, got, want)
		}
	}
}

func FuzzLabelsAreReadByPrometheusAsTheyWereMeant(f *testing.F) {
	for _, name := range []string{"dlq", `dlq"} 1`, `dlq\n`, "dlq\n", "dlq\x00", "dlq\xff", `dlq\x00`, `dlq\\x00`, "\ufeffdlq", "dlq\u202e", "дед"} {
		f.Add(name, name+"x")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		written := valid([]string{a, b})
		if (a == b) != (written[0] == written[1]) {
			t.Fatalf("%q and %q are %q and %q", a, b, written[0], written[1])
		}
		text := "m{a=\"" + strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`).Replace(written[0]) + "\"} 1\n"
		p := textparse.NewPromParser([]byte(text), labels.NewSymbolTable(), false)
		if _, err := p.Next(); err != nil {
			t.Fatalf("%q: %v", a, err)
		}
		var l labels.Labels
		p.Labels(&l)
		if got := l.Get("a"); got != written[0] {
			t.Fatalf("%q is read as %q", written[0], got)
		}
	})
}
