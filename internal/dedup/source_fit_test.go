package dedup

import (
	"strings"
	"testing"
)

func TestLiveCountsAreRefusedWhereAFailedMarkerLooksLikeACompletion(t *testing.T) {
	s := Scheme{Kind: "redis-string", Mark: "before", OnInFlight: "nack", OnFail: "keep", States: []State{Processing, Done, Failed}}
	if why := s.Refuses(MethodLive); !strings.Contains(why, "failed markers") {
		t.Errorf("%q", why)
	}
	s.OnFail, s.States = "delete", []State{Processing, Done}
	if why := s.Refuses(MethodLive); why != "" {
		t.Errorf("%q", why)
	}
}
