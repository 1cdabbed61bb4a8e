package server

import (
	"strings"
	"testing"

	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/web"
)

func TestABodyThatALookHasNotKeptIsNotOffered(t *testing.T) {
	for name, left := range map[string]*dedup.LeftOutBody{"kept": nil, "not kept": {Size: 5 << 20}} {
		l := deadletter.Letter{Size: 5 << 20}
		if l.LeftOut = left; left == nil {
			l.Body = []byte("text")
		} else {
			l.Hidden = "it is too large"
		}
		for _, revealed := range []bool{false, true} {
			p := (&Server{site: web.Site{Masker: web.NewMasker(nil)}}).payloadOf(l, auth.Principal{Name: "ada", Role: auth.Admin}, letterKey{}, "", "auto", revealed)
			if (p.Reveal == nil) != (left != nil) || (p.Download == "") != (left != nil) || strings.Contains(p.Masked, "it is too large") != (left != nil) {
				t.Errorf("%s, revealed %t: %+v", name, revealed, p)
			}
		}
	}
}
