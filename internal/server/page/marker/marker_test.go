package marker

import (
	"encoding/json"
	"net/url"
	"testing"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/web"
)

func TestAKeyOfAnyBytesSurvivesJSON(t *testing.T) {
	for _, key := range []string{"msg:1", "a b+c%2F&=\r\n", "\x00\xff\xfe", "\u202eevil"} {
		text, _ := json.Marshal(markerOf(web.JudgedMarker{Marker: dedup.Marker{Key: key}}))
		var back markerJSON
		if err := json.Unmarshal(text, &back); err != nil || back.Key != key && string(back.KeyBase64) != key {
			t.Errorf("%.20q comes back from JSON as %.20q", key, back.Key)
		}
	}
}

func TestAValueIsShownAsTheRoleAllows(t *testing.T) {
	g := dedup.Sighting{Marker: dedup.Marker{State: dedup.Done, Status: "success"}, Type: "string", Value: []byte(`{"status": "success", "card": "4111 1111"}`)}
	for role, want := range map[auth.Role]string{auth.Viewer: "", auth.Operator: `{"xxxxxx": "xxxxxxx", "xxxx": "0000 0000"}`, auth.Admin: string(g.Value)} {
		v := valueView(web.NewMasker(nil), g, auth.Principal{Name: "x", Role: role})
		if v.Text.Short != want || (len(v.Dump) > 0) != (role == auth.Admin) || (v.Masked == "") != (role == auth.Admin) || v.Hash == "" {
			t.Errorf("%s sees %q, %d lines of bytes, masked %q", role, v.Text.Short, len(v.Dump), v.Masked)
		}
	}
	if got := web.MaskValue([]byte("processing"), "processing", ""); got != "processing" {
		t.Errorf("a status alone is shown as %q", got)
	}
}

func TestAPlanOfNoMarkerSaysThatItCannotBeCarriedOut(t *testing.T) {
	p := marker.Plan{Request: marker.PlanRequest{Deed: admin.ClearMarkers, Store: "orders"}}
	const want = "The plan touches no marker of store orders, and cannot be carried out."
	if page, api := planSentence(p), planOf(p).Sentence; page != want || api != want {
		t.Errorf("the page says %q, the API %q", page, api)
	}
}

func TestReasonsAreGroupedTheMostFrequentFirst(t *testing.T) {
	p := marker.Plan{Undecoded: 1, LeftOut: []marker.LeftOut{{Key: "a", Why: "gone"}, {Key: "b", Why: "refused, owner alive: 3 s"}, {Key: "c", Why: "refused, owner alive: 9 s"}}}
	if got := leftSum(p); got != "4 left out: 2 refused, owner alive, 1 could not be decoded, 1 gone" {
		t.Error(got)
	}
	if got := leftSum(marker.Plan{}); got != "" {
		t.Errorf("nothing is left out: %q", got)
	}
}

var _ Service = (*marker.Markers)(nil)

func TestTheTimeToLiveOfAFormIsAChoiceOrAnOwnValue(t *testing.T) {
	for _, c := range []struct {
		ttl, own string
		want     time.Duration
		bad      bool
	}{
		{"recommended", "", 0, false}, {"5m", "", 5 * time.Minute, false}, {"1h", "10m", 10 * time.Minute, false}, {"recommended", " 90 s ", 90 * time.Second, false},
		{"1h", "10 min", 10 * time.Minute, false}, {"", "", 0, true}, {"1h", "10", 0, true}, {"1h", "59s", 0, true}, {"1h", "-5m", 0, true}, {"1h", "soon", 0, true},
	} {
		got, err := chosenTTL(url.Values{"ttl": {c.ttl}, "ttl_own": {c.own}})
		if got != c.want || (err != nil) != c.bad {
			t.Errorf("%q or %q: %s, %v", c.ttl, c.own, got, err)
		}
	}
}
