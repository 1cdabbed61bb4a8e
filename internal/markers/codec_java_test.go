package markers

import (
	"encoding/hex"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/dedup"
)

// written by ObjectOutputStream of OpenJDK 17.
var javaValues = map[string]string{
	"aced000574000131":                           "1",
	"aced000574000964656475703a616263":           "dedup:abc",
	"aced000574000ee694afe4bb98c080eda0bdedb880": "支付\x00😀",
	"aced00057372000e6a6176612e6c616e672e4c6f6e673b8be490cc8f23df0200014a000576616c7565787200106a6176612e6c616e672e4e756d62657286ac951d0b94e08b020000787000000193d24bc07b":     "1734400000123",
	"aced0005737200116a6176612e6c616e672e496e746567657212e2a0a4f781873802000149000576616c7565787200106a6176612e6c616e672e4e756d62657286ac951d0b94e08b020000787000000001":       "1",
	"aced0005737200116a6176612e6c616e672e426f6f6c65616ecd207280d59cfaee0200015a000576616c7565787001":                                                                           "true",
	"aced0005737200106a6176612e6c616e672e446f75626c6580b3c24a296bfb0402000144000576616c7565787200106a6176612e6c616e672e4e756d62657286ac951d0b94e08b02000078703ff8000000000000": "",
	"aced00057372000e6a6176612e7574696c2e44617465686a81014b5974190300007870770800000193d24bc07b78":                                                                             "",
	"aced00057c0000000000000003616263": "abc",
	"aced0005740003616263":             "abc",
	"aced0005740002616263":             "",
	"aced00057400046162":               "",
	"aced00057400":                     "",
	"aced00057c00ffffffffffffff":       "",
	"aced00057400026100":               "",
	"aced0005740003eda0bd":             "",
	"aced0005740002c081":               "",
	"aced0005":                         "",
	"31":                               "",
	"":                                 "",
}

func TestValuesOfJavasSerialiserAreRead(t *testing.T) {
	for text, want := range javaValues {
		value, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := javaText(string(value)); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
}

func TestValuesThatJacksonQuotesAreRead(t *testing.T) {
	for value, want := range map[string]string{
		`"1"`: "1", `1734400000123`: "1734400000123", `["java.lang.Long",1734400000123]`: "1734400000123", `["java.lang.String","done"]`: "done", ` true `: "true",
		`"支"`: "支", `processing`: "", `"1" 2`: "", `["a"]`: "", `["a",1,2]`: "", `["",1]`: "", `[1,2]`: "", `{"a":1}`: "", `null`: "", `"1`: "", ``: "", `["a",[1]]`: "",
	} {
		if got, err := quotedText(value); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", value, got, err)
		}
	}
}

func TestTimesAreTakenOutOfValues(t *testing.T) {
	at := time.UnixMicro(1734400000123456)
	for _, c := range []struct {
		value Value
		text  string
		want  time.Time
	}{
		{Value{Codec: codecRaw, Time: "$", TimeUnit: "ms"}, "1734400000123", at.Truncate(time.Millisecond)},
		{Value{Codec: codecQuoted, Time: "$", TimeUnit: "ms"}, `["java.lang.Long",1734400000123]`, at.Truncate(time.Millisecond)},
		{Value{Codec: codecRaw, Time: "$", TimeUnit: "s"}, "1734400000.123456", at},
		{Value{Codec: codecRaw, Time: "$", TimeUnit: "s"}, "1734400000", at.Truncate(time.Second)},
		{Value{Codec: codecRaw, Time: "$", TimeUnit: "s"}, "1734400000123", time.Time{}},
		{Value{Codec: codecRaw, Time: "$", TimeUnit: "ms"}, "1734400000", time.Time{}},
		{Value{Codec: codecRaw, Time: "$", TimeUnit: "ms"}, "-1734400000123", time.Time{}},
		{Value{Codec: codecRaw, Time: "$", TimeUnit: "ms"}, "soon", time.Time{}},
		{Value{Codec: codecRaw, Time: "$", TimeUnit: "ms"}, "99999999999999999999", time.Time{}},
		{Value{Codec: codecJSON, Path: "$.s", Time: "$.t", TimeUnit: "s"}, `{"s":"x","t":1734400000.123456}`, at},
		{Value{Codec: codecJSON, Path: "$.s", Time: "$.t", TimeUnit: "ms"}, `{"t":1734400000123,"s":"x"}`, at.Truncate(time.Millisecond)},
	} {
		k, err := newCodec(Config{Value: c.value, States: map[dedup.State][]string{dedup.Present: {anyValue}}})
		if err != nil {
			t.Fatal(err)
		}
		d := k.decode(c.text)
		if !d.at.Equal(c.want) || (d.state == dedup.Present) == c.want.IsZero() {
			t.Errorf("%+v of %s: %+v", c.value, c.text, d)
		}
	}
}

// FuzzCodecs checks that no value panics a codec, that what is unknown says why, and that a decoded string of Java's is
// the one that would be written.
func FuzzCodecs(f *testing.F) {
	for text := range javaValues {
		value, _ := hex.DecodeString(text)
		f.Add(string(value))
	}
	for _, seed := range []string{`"1"`, `["java.lang.Long",1734400000123]`, "1734400000123", `{"s":"a","t":1.5}`, "[[[[", "\xff"} {
		f.Add(seed)
	}
	var all []codec
	for _, name := range []string{codecRaw, codecJava, codecQuoted, codecJSON} {
		for _, at := range []string{"", wholeValue, "$.t"} {
			path := ""
			if name == codecJSON {
				path = "$.s"
			}
			k, err := newCodec(Config{Value: Value{Codec: name, Path: path, Time: at}, States: map[dedup.State][]string{dedup.Done: {"1"}}})
			if err != nil {
				f.Fatal(err)
			}
			all = append(all, k)
		}
	}
	f.Fuzz(func(t *testing.T, value string) {
		for _, k := range all {
			d := k.decode(value)
			if (d.state == dedup.StateUnknown) != (d.detail != "") || d.state != dedup.StateUnknown && d.state != dedup.Done {
				t.Fatalf("%q: %+v", value, d)
			}
			if !d.at.IsZero() && (d.at.Before(earliest) || d.at.After(latest)) {
				t.Fatalf("%q: at %s", value, d.at)
			}
		}
		if plain, ok := javaKey(value); ok {
			if back, ok := toJavaKey(plain); !ok || back != value {
				t.Fatalf("%q is %q, which is %q", value, plain, back)
			}
		}
	})
}

func TestAJavaKeyComesBackAsItWas(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		plain := rapid.String().Draw(r, "plain")
		key, ok := toJavaKey(plain)
		if got, back := javaKey(key); !ok || !back || got != plain {
			r.Fatalf("%q becomes %q, which is %q", plain, key, got)
		}
	})
	if _, ok := toJavaKey(strings.Repeat("x", 1<<16)); ok {
		t.Error("a key of 65,536 bytes has no length in two bytes")
	}
}

func TestTheOldestAreKeptInOrder(t *testing.T) {
	base := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(0, 3*dedup.MaxListed).Draw(r, "n")
		seed := rapid.IntRange(1, 1<<30).Draw(r, "seed")
		var all []dedup.Marker
		var kept aged
		for i := range n {
			x := (i*7919 + seed) * seed % 5003
			m := dedup.Marker{Since: base.Add(time.Duration(x) * time.Second), Expires: base.Add(time.Hour)}
			switch x % 11 {
			case 0:
				m.Expires = time.Time{}
			case 1:
				m.Since = time.Time{}
			case 2:
				m.Since, m.Expires = time.Time{}, time.Time{}
			}
			all = append(all, m)
			if kept.takes(m.Expires, m.Since) {
				kept.add(m)
			}
		}
		byAge(all)
		want, got := all[:min(n, dedup.MaxListed)], kept.sorted()
		if !slices.EqualFunc(want, got, func(a, b dedup.Marker) bool { return a.Since.Equal(b.Since) && a.Expires.Equal(b.Expires) }) {
			r.Fatalf("%d kept of %d are not the oldest in order", len(got), n)
		}
	})
}

func TestATallySortsLivesAndMeasuresIDs(t *testing.T) {
	cfg, _ := Preset("redis-text-status")
	l, err := newLayout(cfg)
	if err != nil {
		t.Fatal(err)
	}
	const now = int64(1_734_400_000_000)
	tally := newTally(l)
	for i, left := range []time.Duration{time.Second, time.Minute, time.Minute + 1e6, 5 * time.Minute, time.Hour, 23 * time.Hour, 25 * time.Hour, 1000 * time.Hour} {
		tally.byValue("msg:x", strings.Repeat("支", i), decoded{state: dedup.Processing}, now+left.Milliseconds(), now)
	}
	tally.byValue("msg:x", "5d41402abc4b2a76b9719d911017c592", decoded{state: dedup.Done}, noExpiry, now)
	tally.byValue("msg:x", "5D41402ABC4B2A76B9719D911017C592", unknown("odd"), noExpiry, now)
	tally.byValue("msg:x", strings.Repeat("y", 5000), decoded{state: dedup.Done}, gone, now)
	tally.finish()
	p := tally.pass
	if want := []int64{2, 2, 1, 0, 1, 1, 0, 1}; !slices.Equal(p.Expiries, want) {
		t.Errorf("expiries %v, want %v", p.Expiries, want)
	}
	if p.HashIDs != 1 || p.LongestID != 32 || len(p.Permanent) != 1 || p.Permanent[0].State != dedup.Done || p.Matched != 10 {
		t.Errorf("%+v", p)
	}
	if empty := newTally(l); func() bool { empty.finish(); return empty.pass.Expiries != nil }() {
		t.Error("nothing expires, and there are classes all the same")
	}
}
