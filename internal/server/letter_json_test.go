package server

import (
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/preflight"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

// oddLetter holds what JSON cannot say: times that are no dates, NaN, and texts that are not UTF-8.
func oddLetter() deadletter.Letter {
	const bad = "caf\xe9"
	l := deadletter.Letter{ID: bad, Prediction: preflight.Prediction{Class: preflight.ClassRuns}}
	l.DeadLetter = dedup.NewDeadLetter(dedup.QueueRef{Vhost: "/", Name: inventoryDLQ}, message.Message{
		Body: []byte(`{"a":1}`), Exchange: bad, RoutingKey: "orders",
		Properties: message.Properties{
			MessageID: bad, Timestamp: time.Unix(1_732_366_800_000, 0),
			Headers: map[string]any{
				"t": time.Unix(-1, 0), "ms": time.Unix(1_732_366_800_000, 0), "day": time.Unix(1_732_366_800, 0), "nan": math.NaN(), "inf": float32(math.Inf(-1)), "text": bad, "k\xff": "v",
				"deep":    map[string]any{"list": []any{time.Unix(math.MaxInt64-70_000_000_000, 0), bad}},
				"x-death": []any{map[string]any{"queue": "inventory.reserve", "reason": "rejected", "count": int64(1), "time": time.Unix(1_732_366_800_000, 0)}},
			},
		},
	})
	l.Size = len(l.Body)
	return l
}

func TestAMessageThatJSONCannotSayIsGivenWholeByPageAPIAndExport(t *testing.T) {
	s := stocked(t, nil)
	odd := oddLetter()
	s.morgue.Put(inventoryDLQ, odd)
	scan := hiddenFields(s.looked("inventory", inventoryDLQ, "10000").Find("form.act")).Get("scan")
	at := url.Values{"pipeline": {"inventory"}, "queue": {inventoryDLQ}, "scan": {scan}, "ref": {odd.Ref}}.Encode()
	res := s.as("operator", "GET", "/api/v1/dead-letters/message?"+at, "")
	one := s.body(res)
	if res.StatusCode != http.StatusOK {
		t.Fatalf("the message: %s: %.300s", res.Status, one)
	}
	if page := s.as("operator", "GET", "/dead-letters/message?"+at, ""); page.StatusCode != http.StatusOK || !strings.Contains(s.body(page), "18446744073709551615 seconds after 1970") {
		t.Errorf("its page: %s", page.Status)
	}
	res = s.as("admin", "GET", "/pipelines/inventory/dead-letters.ndjson?scan="+scan, "")
	lines := bytes.Split(bytes.TrimSpace([]byte(s.body(res))), []byte("\n"))
	if len(lines) != 2319 {
		t.Fatalf("%s with %d lines", res.Status, len(lines))
	}
	for name, text := range map[string][]byte{"the answer": []byte(one), "the export": lines[len(lines)-1]} {
		var e struct {
			Headers map[string]struct {
				Type, Exact string
				Value       any
				Base64      []byte
			}
			Properties struct {
				TimestampSeconds string `json:"timestamp_seconds"`
				Timestamp        any
			}
			NotUTF8 map[string][]byte `json:"not_utf8_base64"`
			Deaths  []struct{ Time any }
		}
		if err := json.Unmarshal(text, &e); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if e.Headers["t"].Exact != "18446744073709551615" || e.Headers["t"].Value != nil || e.Headers["ms"].Exact != "1732366800000" || e.Headers["day"].Value != "2024-11-23T13:00:00Z" ||
			e.Headers["nan"].Exact != "NaN" || e.Headers["inf"].Exact != "-Inf" || e.Headers["base64:a/8="].Type == "" || e.Properties.TimestampSeconds != "1732366800000" || e.Properties.Timestamp != nil {
			t.Errorf("%s: %s", name, text)
		}
		if string(e.NotUTF8["properties.message_id"]) != "caf\xe9" || string(e.NotUTF8["exchange"]) != "caf\xe9" || string(e.NotUTF8["id"]) != "caf\xe9" || len(e.NotUTF8["routing_key"]) > 0 || len(e.Deaths) != 1 || e.Deaths[0].Time != nil {
			t.Errorf("%s: %s", name, text)
		}
		if string(e.Headers["text"].Base64) != "caf\xe9" {
			t.Errorf("%s has lost the bytes of a header: %+v", name, e.Headers["text"])
		}
	}
}
