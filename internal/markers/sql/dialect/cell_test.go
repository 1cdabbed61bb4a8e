package dialect

import (
	"testing"
	"time"
)

func TestACellIsNilForNULLAlone(t *testing.T) {
	values, into := Cells(1)
	at := time.Date(2026, 11, 22, 6, 0, 0, 5000, time.UTC)
	for _, tt := range []struct {
		src  any
		want string
	}{
		{"", ""}, {[]byte(nil), ""}, {[]byte{}, ""}, {"a\x00b", "a\x00b"}, {[]byte("bytes"), "bytes"}, {int64(-7), "-7"}, {uint64(1 << 63), "9223372036854775808"},
		{float32(0.1), "0.1"}, {2.5e300, "2.5e+300"}, {true, "true"}, {at, "2026-11-22T06:00:00.000005Z"},
	} {
		if err := into[0].(*cell).Scan(tt.src); err != nil || values[0] == nil || string(values[0]) != tt.want {
			t.Errorf("%T %v: %q, %v", tt.src, tt.src, values[0], err)
		}
		if err := into[0].(*cell).Scan(nil); err != nil || values[0] != nil {
			t.Errorf("NULL after %v: %q, %v", tt.src, values[0], err)
		}
	}
	if err := into[0].(*cell).Scan(struct{}{}); err == nil {
		t.Error("took what no driver gives")
	}
	source := []byte("mine")
	if _ = into[0].(*cell).Scan(source); string(values[0]) != "mine" {
		t.Errorf("%q", values[0])
	}
	if source[0] = 'X'; string(values[0]) != "mine" {
		t.Error("it keeps the bytes of the driver")
	}
}
