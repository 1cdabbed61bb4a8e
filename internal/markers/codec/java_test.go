package codec

import (
	"encoding/hex"
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
		{Value{Codec: Raw, Time: "$", TimeUnit: "ms"}, "1734400000123", at.Truncate(time.Millisecond)},
		{Value{Codec: Quoted, Time: "$", TimeUnit: "ms"}, `["java.lang.Long",1734400000123]`, at.Truncate(time.Millisecond)},
		{Value{Codec: Raw, Time: "$", TimeUnit: "s"}, "1734400000.123456", at},
		{Value{Codec: Raw, Time: "$", TimeUnit: "s"}, "1734400000", at.Truncate(time.Second)},
		{Value{Codec: Raw, Time: "$", TimeUnit: "s"}, "1734400000123", time.Time{}},
		{Value{Codec: Raw, Time: "$", TimeUnit: "ms"}, "1734400000", time.Time{}},
		{Value{Codec: Raw, Time: "$", TimeUnit: "ms"}, "-1734400000123", time.Time{}},
		{Value{Codec: Raw, Time: "$", TimeUnit: "ms"}, "soon", time.Time{}},
		{Value{Codec: Raw, Time: "$", TimeUnit: "ms"}, "99999999999999999999", time.Time{}},
		{Value{Codec: JSON, Path: "$.s", Time: "$.t", TimeUnit: "s"}, `{"s":"x","t":1734400000.123456}`, at},
		{Value{Codec: JSON, Path: "$.s", Time: "$.t", TimeUnit: "ms"}, `{"t":1734400000123,"s":"x"}`, at.Truncate(time.Millisecond)},
	} {
		k, err := New(c.value, map[dedup.State][]string{dedup.Present: {AnyValue}})
		if err != nil {
			t.Fatal(err)
		}
		d := k.Decode(c.text)
		if !d.At.Equal(c.want) || (d.State == dedup.Present) == c.want.IsZero() {
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
	var all []Codec
	for _, name := range []string{Raw, Java, Quoted, JSON} {
		for _, at := range []string{"", WholeValue, "$.t"} {
			path := ""
			if name == JSON {
				path = "$.s"
			}
			k, err := New(Value{Codec: name, Path: path, Time: at}, map[dedup.State][]string{dedup.Done: {"1"}})
			if err != nil {
				f.Fatal(err)
			}
			all = append(all, k)
		}
	}
	f.Fuzz(func(t *testing.T, value string) {
		for _, k := range all {
			d := k.Decode(value)
			if (d.State == dedup.StateUnknown) != (d.Detail != "") || d.State != dedup.StateUnknown && d.State != dedup.Done {
				t.Fatalf("%q: %+v", value, d)
			}
			if !d.At.IsZero() && (d.At.Before(earliest) || d.At.After(latest)) {
				t.Fatalf("%q: at %s", value, d.At)
			}
		}
		if plain, ok := JavaKey(value); ok {
			if back, ok := ToJavaKey(plain); !ok || back != value {
				t.Fatalf("%q is %q, which is %q", value, plain, back)
			}
		}
	})
}

func TestAJavaKeyComesBackAsItWas(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		plain := rapid.String().Draw(r, "plain")
		key, ok := ToJavaKey(plain)
		if got, back := JavaKey(key); !ok || !back || got != plain {
			r.Fatalf("%q becomes %q, which is %q", plain, key, got)
		}
	})
	if _, ok := ToJavaKey(strings.Repeat("x", 1<<16)); ok {
		t.Error("a key of 65,536 bytes has no length in two bytes")
	}
}
