package markers

import (
	"strings"
	"testing"

	"dedup-dashboard/internal/dedup"
)

// TestWhatIsSaidOfAValueThatCannotBeDecodedHoldsNothingOfIt guards payload: details are shown to every reader and kept in
// plans, samples to admins alone.
func TestWhatIsSaidOfAValueThatCannotBeDecodedHoldsNothingOfIt(t *testing.T) {
	const secret = "4111-1111-1111-1111"
	for _, codec := range []Value{
		{Codec: codecRaw}, {Codec: codecRaw, Time: wholeValue}, {Codec: codecJSON, Path: "$.s"}, {Codec: codecJSON, Path: "$.s", Time: "$.t"},
		{Codec: codecQuoted}, {Codec: codecQuoted, Time: wholeValue}, {Codec: codecJava}, {Codec: codecJava, Time: wholeValue},
	} {
		states := map[dedup.State][]string{dedup.Done: {"1"}}
		if codec.Time == wholeValue {
			states = map[dedup.State][]string{dedup.Present: {anyValue}}
		}
		k, err := newCodec(Config{Value: codec, States: states})
		if err != nil {
			t.Fatal(err)
		}
		for _, value := range []string{
			"card=" + secret, `"` + secret + `"`, `{"s":"` + secret + `"}`, `{"s":{"` + secret + `":1}}`, `{"` + secret + `":1}`, `["` + secret + `","x"]`, `["` + secret + `"`,
			`["java.lang.Long","` + secret + `"]`, "\xac\xed\x00\x05t\x00\x13" + secret, "\xac\xed\x00\x05sr\x00\x13" + secret, "\xac\xed" + secret,
		} {
			d := k.decode(value)
			if d.state != dedup.StateUnknown {
				t.Errorf("%+v reads %q as %s: the test needs what cannot be decoded", codec, value, d.state)
			}
			if strings.Contains(d.detail, "4111") || strings.Contains(d.status, "4111") {
				t.Errorf("%+v says of %q: %q, status %q", codec, value, d.detail, d.status)
			}
			if d.sample == "" {
				t.Errorf("%+v keeps no sample of %q", codec, value)
			}
		}
	}
}
