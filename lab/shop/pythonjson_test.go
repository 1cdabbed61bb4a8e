package shop

import (
	"testing"
	"time"
)

// The wanted texts were printed by json.dumps of Python 3.11.
func TestPythonJSONWritesWhatJSONDumpsWrites(t *testing.T) {
	tests := []struct {
		name  string
		value any
		want  string
	}{
		{"members are set apart by a comma and a blank", []field{{"a", 1}, {"b", "x"}}, `{"a": 1, "b": "x"}`},
		{"an empty object", []field{}, `{}`},
		{"characters outside ASCII are escaped", "支付", `"\u652f\u4ed8"`},
		{"characters outside the basic plane become a pair", "😀", `"\ud83d\ude00"`},
		{"quotes, controls and delete are escaped", "\"\\\n\x01\x7f/<", `"\"\\\n\u0001\u007f/<"`},
		{"a whole float keeps its point", 1734400000.0, `1734400000.0`},
		{"a time keeps its microseconds", 1734400000.123456, `1734400000.123456`},
		{"a tiny float is scientific", 0.00001, `1e-05`},
		{"a huge float is scientific", 1e16, `1e+16`},
		{"a float below the limit is positional", 123456789012345.0, `123456789012345.0`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := pythonJSON(test.value); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestTheJSONStatusValueHasTheDocumentedBytes(t *testing.T) {
	got := jsonStatusValue("payments-1-0000001", time.UnixMicro(1734400000123456))
	want := `{"status": "success", "result": {"id": "payments-1-0000001", "note": "\u652f\u4ed8\u6210\u529f"}, "time": 1734400000.123456}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestADurationFallsInTheSmallestBucketThatHoldsIt(t *testing.T) {
	tests := []struct {
		took time.Duration
		want string
	}{
		{0, "ack_le_0.005"}, {5 * time.Millisecond, "ack_le_0.005"}, {5*time.Millisecond + 1, "ack_le_0.01"},
		{100 * time.Millisecond, "ack_le_0.1"}, {500 * time.Millisecond, "ack_le_0.5"}, {10 * time.Second, "ack_le_10"},
		{11 * time.Second, "ack_le_inf"},
	}
	for _, test := range tests {
		t.Run(test.took.String(), func(t *testing.T) {
			if got := bucketField("ack", bucket(test.took)); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
