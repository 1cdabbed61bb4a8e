package templates

import (
	"math"
	"testing"
	"time"
)

func TestNumbersAreWrittenForPeople(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{Percent(0.015), "1.50 %"}, {Percent(0), "0.00 %"}, {Percent(0.00001), "< 0.01 %"}, {Percent(1), "100.00 %"}, {Percent(math.NaN()), "unknown"},
		{PercentRange(0.008, 0.0192), "0.80–1.92 %"}, {PercentRange(0.01, 0.010001), "1.00 %"},
		{Latency(0), "0 ms"}, {Latency(0.00001), "< 0.1 ms"}, {Latency(0.0008), "0.8 ms"}, {Latency(0.042), "42 ms"}, {Latency(0.9994), "999 ms"},
		{Latency(1.24), "1.24 s"}, {Latency(9), "9 s"}, {Latency(60), "60 s"}, {Latency(89.36), "89.4 s"}, {Latency(125), "2 m 5 s"}, {Latency(math.Inf(1)), "unknown"},
		{Number(0), "0"}, {Number(-0.2), "0"}, {Number(999), "999"}, {Number(1000), "1,000"}, {Number(1234567), "1,234,567"}, {Number(-1234), "-1,234"},
		{Rate(0.004), "< 0.01"}, {Rate(0.42), "0.42"}, {Rate(12.34), "12.3"}, {Rate(1240.4), "1,240"}, {Rate(3), "3"},
		{Bytes(512), "512 B"}, {Bytes(1536), "1.5 KiB"}, {Bytes(96 << 20), "96 MiB"},
		{Span(0), "0 s"}, {Span(45 * time.Second), "45 s"}, {Span(125 * time.Second), "2 m 5 s"}, {Span(3 * time.Hour), "3 h"}, {Span(26 * time.Hour), "1 d 2 h"}, {Span(-time.Minute), "-1 m"},
		{Window(15 * time.Minute), "15 m"}, {Window(24 * time.Hour), "24 h"}, {Window(7 * 24 * time.Hour), "7 d"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

func TestANumberIsNotTornFromItsUnitAtTheEndOfALine(t *testing.T) {
	for text, want := range map[string]string{
		"2 m of 15 m · n\u00a0391":              "2\u00a0m of 15\u00a0m · n\u00a0391",
		"3 h 10 m":                              "3\u00a0h 10\u00a0m",
		"12.00 % redelivered":                   "12.00\u00a0% redelivered",
		"≤ 50 ms, ± 0.3 %":                      "≤\u00a050\u00a0ms, ±\u00a00.3\u00a0%",
		"5 messages of 3 stores and 1 m/s of 2": "5 messages of 3 stores and 1\u00a0m/s of 2",
	} {
		if got := unbroken(text); got != want {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}
