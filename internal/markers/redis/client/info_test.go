package client

import (
	"testing"
	"time"
)

func TestTheModeHasTwoNames(t *testing.T) {
	for text, want := range map[string]string{"redis_mode:cluster": "cluster", "server_mode:sentinel": "sentinel", "role:master": ""} {
		if got := ParseInfo(text).Mode(); got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
}

func TestInfoIsReadWithoutInventingNumbers(t *testing.T) {
	h := ParseInfo("# Server\r\nredis_version:7.2.4\r\nvalkey_version:8.1.0\r\nused_memory:12\r\nmaxmemory:0\r\nevicted_keys:x\r\nrole:master\r\n").Health()
	if h.Version != "valkey 8.1.0" || h.Role != "master" || *h.MemoryUsed != 12 || h.MemoryMax != nil || h.EvictedKeys != nil {
		t.Errorf("%+v", h)
	}
}

func TestProcessorTimeBecomesCores(t *testing.T) {
	var m CpuMeter
	seconds := func(s float64) *time.Duration {
		d := time.Duration(s * float64(time.Second))
		return &d
	}
	for i, c := range []struct {
		runID string
		used  *time.Duration
		after time.Duration
		want  float64 // below zero where it is not known
	}{
		{"a", seconds(10), 0, -1},
		{"a", seconds(15), 10 * time.Second, 0.5},
		{"a", seconds(15), 10 * time.Millisecond, -1},
		{"a", nil, time.Second, -1},
		{"b", seconds(1), 5 * time.Second, -1},
		{"b", seconds(2), 10 * time.Second, 0.1},
	} {
		day := time.Date(2026, 1, 1, i, 0, 0, 0, time.UTC)
		if i > 0 {
			day = m.at.Add(c.after)
		}
		got := m.Since(c.runID, c.used, day)
		if (got != nil) != (c.want >= 0) || got != nil && (*got-c.want > 1e-9 || c.want-*got > 1e-9) {
			t.Errorf("reading %d: %v, want %v", i, got, c.want)
		}
	}
}
