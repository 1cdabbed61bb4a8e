package broker

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"dedup-dashboard/internal/dedup"
)

// FuzzQueues feeds any bytes to the decoder of queue lists. It must not panic, must not invent numbers below zero or
// queues without a name, and must never take a page that ends in its midst for a whole one.
func FuzzQueues(f *testing.F) {
	for _, version := range []string{"3.10.8", "3.10.8-stats-disabled", "4.2.9"} {
		text, err := os.ReadFile("../../lab/brokertest/testdata/" + version + "/queues.json")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, text := range []string{
		`{"items":[{"name":"q","messages":"undefined","message_stats":[],"arguments":[1],"effective_policy_definition":""}],"page_count":1}`,
		`{"items":[{"name":"\ud800\u202e\ufffd","members":[null,3,"a"],"online":{}}],"page_count":1e9}`,
		`{"page_count":"x","items":[null,1,"a",[],{"name":{}}]}`, `[{"name":"q","arguments":{"a":{"b":[1,2.5,1e400]}}}]`, `[`, `{`, `nul`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		list := &queueList{}
		if decode(bytes.NewReader(text), &rows[queueRow]{each: list.add}) != nil {
			return
		}
		for _, q := range list.queues {
			if q.Name == "" {
				t.Error("a queue without a name")
			}
			checkCounts(t, q)
		}
		end := len(text) - len(trailing(text))
		if decode(bytes.NewReader(text[:end-1]), &rows[queueRow]{each: func(*queueRow) {}}) == nil {
			t.Errorf("%q was taken for a whole list", text[:end-1])
		}
	})
}

// trailing returns what follows the first JSON value of a text that has one.
func trailing(text []byte) []byte {
	decoder := json.NewDecoder(bytes.NewReader(text))
	var value json.RawMessage
	if decoder.Decode(&value) != nil {
		return nil
	}
	return text[decoder.InputOffset():]
}

func checkCounts(t *testing.T, q dedup.Queue) {
	t.Helper()
	for _, n := range []*int64{q.Messages, q.Ready, q.Unacked, q.Consumers, q.Counters.Publish, q.Counters.Ack, q.Counters.Redeliver} {
		if n != nil && *n < 0 {
			t.Errorf("a count of %d", *n)
		}
	}
}
