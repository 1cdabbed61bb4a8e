package message

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestADeathHistorySurvivesItsSnapshot(t *testing.T) {
	deaths := []Death{
		{Queue: "orders", Reason: DeathRejected, Count: 3, Time: time.Unix(1_700_000_000, 0).UTC(), Exchange: "shop", RoutingKeys: []string{"a", "<b>"}},
		{Queue: "zahlungen ä", Reason: DeathExpired, Count: 1, OriginalExpiration: "60000"},
	}
	if got := DecodeDeaths(EncodeDeaths(deaths)); !reflect.DeepEqual(got, deaths) {
		t.Errorf("got %+v", got)
	}
	if text := EncodeDeaths(nil); text != "" {
		t.Errorf("no history is written as %q", text)
	}
}

func TestASnapshotKeepsTheNewestDeathsThatFit(t *testing.T) {
	var deaths []Death
	for range 100 {
		deaths = append(deaths, Death{Queue: strings.Repeat("q", 255), Reason: DeathRejected, RoutingKeys: []string{strings.Repeat("k", 255)}})
	}
	deaths[0].Queue = "newest"
	text := EncodeDeaths(deaths)
	got := DecodeDeaths(text)
	if len(text) > maxEncodedDeaths || len(got) < 5 || got[0].Queue != "newest" {
		t.Errorf("%d bytes hold %d deaths", len(text), len(got))
	}
	deaths[0].RoutingKeys = make([]string, 5000)
	if got := DecodeDeaths(EncodeDeaths(deaths[:1])); len(got) != 1 || got[0].Queue != "newest" || got[0].RoutingKeys != nil {
		t.Errorf("a death with many routing keys became %+v", got)
	}
}

func TestANameThatIsNoTextIsNotGuessed(t *testing.T) {
	if got := DecodeDeaths(EncodeDeaths([]Death{{Queue: "a\xff", Reason: DeathRejected}, {Queue: "b"}})); len(got) != 1 || got[0].Queue != "b" {
		t.Errorf("got %+v", got)
	}
}

func TestWhatIsNoSnapshotIsNoHistory(t *testing.T) {
	for _, text := range []string{"", "x", "{}", "[1]", `[{"queue":1}]`, "[{}]", "[" + strings.Repeat(`{"queue":"q"},`, 1000), `[{"queue":"` + strings.Repeat("q", 300) + `"}]`, "[null]"} {
		if got := DecodeDeaths(text); got != nil {
			t.Errorf("%.40q was read as %+v", text, got)
		}
	}
}

func TestASnapshotIsBoundedWhateverTheHistory(t *testing.T) {
	death := rapid.Custom(func(t *rapid.T) Death {
		return Death{
			Queue: rapid.String().Draw(t, "queue"), Reason: rapid.String().Draw(t, "reason"), Count: rapid.Int64().Draw(t, "count"),
			Exchange: rapid.String().Draw(t, "exchange"), RoutingKeys: rapid.SliceOf(rapid.String()).Draw(t, "keys"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		deaths := rapid.SliceOf(death).Draw(t, "deaths")
		text := EncodeDeaths(deaths)
		if len(text) > maxEncodedDeaths {
			t.Fatalf("%d bytes", len(text))
		}
		if again := EncodeDeaths(DecodeDeaths(text)); len(DecodeDeaths(again)) != len(DecodeDeaths(text)) {
			t.Fatalf("%q became %q", text, again)
		}
	})
}

func FuzzDecodeDeaths(f *testing.F) {
	f.Add(EncodeDeaths([]Death{{Queue: "q", Reason: "rejected", Count: 1, Time: time.Unix(1, 0)}}))
	f.Add(`[{"time":-1,"count":-1,"queue":"\u0000"}]`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, d := range DecodeDeaths(text) {
			if len(d.Queue) > longestName || d.Count < 0 || d.Queue == "" && d.Reason == "" {
				t.Errorf("read %+v", d)
			}
		}
	})
}

func TestTheHeadersOfARequeueAreReadWhateverTheirTypes(t *testing.T) {
	for name, tc := range map[string]struct {
		headers map[string]any
		times   int64
		run, id string
		returns int64
	}{
		"none":           {nil, 0, "", "", 0},
		"ours":           {map[string]any{HeaderRequeueCount: int64(2), HeaderRequeueRun: "r", HeaderRequeueID: strings.Repeat("0a", 32)}, 2, "r", strings.Repeat("0a", 32), 0},
		"as bytes":       {map[string]any{HeaderRequeueCount: uint8(2), HeaderRequeueRun: []byte("r"), HeaderRequeueID: []byte(strings.Repeat("0a", 32))}, 2, "r", strings.Repeat("0a", 32), 0},
		"of other types": {map[string]any{HeaderRequeueCount: "2", HeaderRequeueRun: 1, HeaderRequeueID: strings.Repeat("0A", 32)}, 0, "", "", 0},
		"below 0":        {map[string]any{HeaderRequeueCount: int64(-2)}, 0, "", "", 0},
		"a quorum queue": {map[string]any{"x-delivery-count": int64(2), "x-acquired-count": int32(5)}, 0, "", "", 5},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Requeues(tc.headers); got != tc.times {
				t.Errorf("requeued %d times", got)
			}
			if got := RequeueRun(tc.headers); got != tc.run {
				t.Errorf("by run %q", got)
			}
			if got := RequeueID(tc.headers); got != tc.id {
				t.Errorf("with id %q", got)
			}
			if got := Returns(tc.headers); got != tc.returns {
				t.Errorf("%d returns", got)
			}
		})
	}
}
