package admin

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dedup-dashboard/internal/auth"
)

// notebook is an audit in memory.
type notebook struct {
	mu      sync.Mutex
	entries []Entry
}

func (n *notebook) Record(_ context.Context, e Entry) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.entries = append(n.entries, e)
	return nil
}

func (n *notebook) all() []Entry {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.entries)
}

func (n *notebook) details() string {
	var all []string
	for _, e := range n.all() {
		all = append(all, e.Who+"|"+e.From+"|"+e.Action+"|"+e.Phase+"|"+e.Target+"|"+e.Detail)
	}
	return strings.Join(all, "\n")
}

// atTheDoor runs a test with a gate whose sums are written in the background, and returns what is in the audit once it has stopped.
func atTheDoor(t *testing.T, do func(g *Gate, n *notebook)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := &notebook{}
		g := NewGate(n, nil, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { g.Run(ctx); close(ended) }()
		do(g, n)
		cancel()
		<-ended
	})
}

var ann = Caller{Principal: auth.Principal{Name: "ann", Role: auth.Viewer, Method: "session"}, From: "192.0.2.1"}

func TestTheFirstRefusalIsRecordedAtOnceAndItsRepeatsAreSummedUp(t *testing.T) {
	atTheDoor(t, func(g *Gate, n *notebook) {
		for i := range 1000 {
			g.SignInFailed(t.Context(), "192.0.2.9", []string{"bob", "", "carl"}[i%3], "wrong")
		}
		if len(n.all()) != 1 || n.all()[0].Target != "bob" || n.all()[0].Phase != Denied {
			t.Fatalf("at once:\n%s", n.details())
		}
		time.Sleep(firstSum + time.Minute)
		synctest.Wait()
		if len(n.all()) != 2 || !strings.Contains(n.details(), "999 more from 2000-01-01T00:00:00Z to 2000-01-01T00:10:00Z; of the last: wrong; targets: carl, bob") {
			t.Errorf("after ten minutes:\n%s", n.details())
		}
	})
}

func TestAQuietTimeMakesTheNextRefusalAFirstOne(t *testing.T) {
	atTheDoor(t, func(g *Gate, n *notebook) {
		for range 3 {
			g.RequestRefused(t.Context(), ann, "POST /x", "role")
			time.Sleep(2 * time.Hour)
			synctest.Wait()
		}
		if len(n.all()) != 3 || strings.Contains(n.details(), "more") {
			t.Errorf("three refusals far apart:\n%s", n.details())
		}
	})
}

func TestNobodyCanFillTheAudit(t *testing.T) {
	for name, try := range map[string]func(g *Gate, i int){
		"one address":     func(g *Gate, _ int) { g.SignInFailed(t.Context(), "192.0.2.9", "", "wrong") },
		"many addresses":  func(g *Gate, i int) { g.SignInFailed(t.Context(), fmt.Sprint("2001:db8::", i), "", "wrong") },
		"a few addresses": func(g *Gate, i int) { g.SignInFailed(t.Context(), fmt.Sprint("192.0.2.", i%250), "", "wrong") },
		"somebody signed in, many actions": func(g *Gate, i int) {
			_ = g.Allow(t.Context(), ann, Action{Name: fmt.Sprint("act", i), Needs: auth.Admin})
		},
		"somebody signed in, many targets": func(g *Gate, i int) { g.RequestRefused(t.Context(), ann, fmt.Sprint("POST /", i), "role") },
		"somebody with the role, many targets": func(g *Gate, i int) {
			_ = g.Refuse(t.Context(), ann, Action{Name: "act", Target: fmt.Sprint("job/", i), Needs: auth.Nobody}, Conflict("It has ended"))
		},
		"signing in": func(g *Gate, _ int) { g.SignedIn(t.Context(), ann) },
	} {
		t.Run(name, func(t *testing.T) {
			atTheDoor(t, func(g *Gate, n *notebook) {
				for i := range 3 * 24 * 60 * 6 { // every ten seconds for three days
					try(g, i)
					time.Sleep(10 * time.Second)
				}
				if len(n.all()) == 0 || len(n.all()) > 3*2500 {
					t.Errorf("%d entries in three days", len(n.all()))
				}
				if strings.HasPrefix(name, "somebody") && strings.Contains(n.details(), "many people") {
					t.Errorf("one person was taken for many:\n%s", n.details())
				}
				t.Logf("%d entries", len(n.all()))
			})
		})
	}
}

func TestEveryRefusalIsCountedOnce(t *testing.T) {
	n := &notebook{}
	atTheDoor(t, func(g *Gate, book *notebook) {
		n = book
		for i := range 5000 {
			g.SignInFailed(t.Context(), fmt.Sprint("192.0.2.", i%300), "", "wrong")
			time.Sleep(time.Second)
		}
	})
	total := 0
	for _, e := range n.all() {
		count := 1
		if strings.Contains(e.Detail, " more from ") || strings.Contains(e.Detail, "only counted") {
			if _, err := fmt.Sscan(e.Detail, &count); err != nil {
				t.Fatalf("%q: %v", e.Detail, err)
			}
		}
		total += count
	}
	if total != 5000 {
		t.Errorf("%d of 5000 are accounted for", total)
	}
}

func TestOnePersonLeavesRoomForTheRefusalsOfOthers(t *testing.T) {
	atTheDoor(t, func(g *Gate, n *notebook) {
		refused := func(who, target string) {
			c := ann
			c.Name = who
			_ = g.Refuse(t.Context(), c, Action{Name: "act", Target: target, Needs: auth.Nobody}, Conflict("It has ended"))
		}
		for day := range 3 {
			for i := range 5000 { // in some fifteen hours
				refused("ann", fmt.Sprint("job/", day, "/", i))
				time.Sleep(11 * time.Second)
			}
			refused("bob", fmt.Sprint("job/of bob/", day))
			if all := n.details(); !strings.Contains(all, fmt.Sprint("bob|192.0.2.1|act|denied|job/of bob/", day, "|It has ended")) {
				t.Errorf("day %d: of %d entries none is of bob", day, len(n.all()))
			}
		}
	})
}

func TestAFloodFromOutsideHidesNeitherWhoCameInNorWhatPeopleTried(t *testing.T) {
	atTheDoor(t, func(g *Gate, n *notebook) {
		for i := range 5000 {
			g.SignInFailed(t.Context(), fmt.Sprint("2001:db8::", i), "", "wrong")
		}
		g.SignedIn(t.Context(), ann)
		g.RequestRefused(t.Context(), ann, "POST /markers/plan", "it needs the role admin")
		if all := n.details(); !strings.Contains(all, "ann|192.0.2.1|sign_in|succeeded|ann|") || !strings.Contains(all, "ann|192.0.2.1|refused_request|denied|POST /markers/plan|it needs the role admin") {
			t.Errorf("of %d entries none is of ann", len(n.all()))
		}
	})
}
