package codec

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
		{Codec: Raw}, {Codec: Raw, Time: WholeValue}, {Codec: JSON, Path: "$.s"}, {Codec: JSON, Path: "$.s", Time: "$.t"},
		{Codec: Quoted}, {Codec: Quoted, Time: WholeValue}, {Codec: Java}, {Codec: Java, Time: WholeValue},
	} {
		states := map[dedup.State][]string{dedup.Done: {"1"}}
		if codec.Time == WholeValue {
			states = map[dedup.State][]string{dedup.Present: {AnyValue}}
		}
		k, err := New(codec, states)
		if err != nil {
			t.Fatal(err)
		}
		for _, value := range []string{
			"card=" + secret, `"` + secret + `"`, `{"s":"` + secret + `"}`, `{"s":{"` + secret + `":1}}`, `{"` + secret + `":1}`, `["` + secret + `","x"]`, `["` + secret + `"`,
			`["java.lang.Long","` + secret + `"]`, "\xac\xed\x00\x05t\x00\x13" + secret, "\xac\xed\x00\x05sr\x00\x13" + secret, "\xac\xed" + secret,
		} {
			d := k.Decode(value)
			if d.State != dedup.StateUnknown {
				t.Errorf("%+v reads %q as %s: the test needs what cannot be decoded", codec, value, d.State)
			}
			if strings.Contains(d.Detail, "4111") || strings.Contains(d.Status, "4111") {
				t.Errorf("%+v says of %q: %q, status %q", codec, value, d.Detail, d.Status)
			}
			if d.Sample == "" {
				t.Errorf("%+v keeps no sample of %q", codec, value)
			}
		}
	}
}
